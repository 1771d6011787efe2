"""Writes the golden numbers of the scalp maps in crates/ptsm-report: what MNE's `plot_topomap` makes of the same values.

Usage: python topomap.py            (writes the file)
       python topomap.py --check    (exit status 1 if a number differs from the file by more than 1e-4)

MNE interpolates in the plane (Clough-Tocher, cubic) and reaches beyond the electrodes to the head's outline; its head ends at the equator.
Values are smooth, as those of electrodes are: patterns of sources and masks, one with noise.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import mne
import numpy as np

ROOT = Path(__file__).parents[3]
FILE = ROOT / "crates" / "ptsm-report" / "tests" / "golden" / "topomap.json"
POSITIONS = ROOT / "crates" / "ptsm-signal" / "data" / "electrode-positions.tsv"
NAMES = (
    "Fp1 Fpz Fp2 AF7 AF3 AF4 AF8 F7 F5 F3 F1 Fz F2 F4 F6 F8 FT7 FC5 FC3 FC1 FCz FC2 FC4 FC6 FT8 T7 C5 C3 C1 Cz C2 C4 C6 T8 "
    "TP7 CP5 CP3 CP1 CPz CP2 CP4 CP6 TP8 P7 P5 P3 P1 Pz P2 P4 P6 P8 PO7 PO3 POz PO4 PO8 O1 Oz O2"
).split()
RADIUS = 0.095
POINTS = 33


def places() -> dict[str, np.ndarray]:
    table = {}
    for line in POSITIONS.read_text().splitlines()[1:]:
        name, *place = line.split("\t")
        place = np.array(place[:3], dtype=float)
        table[name] = place / np.linalg.norm(place)
    return table


def cases(table: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    at = np.stack([table[name] for name in NAMES])

    def bump(name: str, width: float) -> np.ndarray:
        return np.exp(-((np.linalg.norm(at - table[name], axis=1) / width) ** 2))

    noise = np.random.default_rng(8).normal(size=len(NAMES))
    return {
        "mask over both hands": 0.1 + 0.8 * bump("C3", 0.5) + 0.7 * bump("C4", 0.5),
        "right minus left": bump("C4", 0.6) - bump("C3", 0.6),
        "back of the head": bump("POz", 0.7) - 0.2 * bump("Fz", 0.8),
        "a source across": at @ np.array([0.6, -0.3, 0.7]),
        "a mask with noise": 0.8 * bump("Cz", 0.7) + 0.03 * noise,
    }


def golden() -> dict:
    table = places()
    montage = mne.channels.make_dig_montage({name: table[name] * RADIUS for name in NAMES}, coord_frame="head")
    info = mne.create_info(NAMES, 100.0, "eeg")
    info.set_montage(montage)
    grid, kept = None, {}
    for name, values in cases(table).items():
        figure, axes = plt.subplots()
        image, _ = mne.viz.plot_topomap(
            values, info, axes=axes, sphere=RADIUS, res=POINTS, extrapolate="head", image_interp="cubic", contours=0, show=False
        )
        field = np.ma.filled(image.get_array(), np.nan)
        left, right, bottom, top = image.get_extent()
        x, y = np.meshgrid(np.linspace(left, right, POINTS) / RADIUS, np.linspace(bottom, top, POINTS) / RADIUS)
        inside = (np.hypot(x, y) < 0.999) & np.isfinite(field)
        grid = np.stack([x[inside], y[inside]], axis=1).round(4)
        kept[name] = {"values": values.round(5).tolist(), "field": field[inside].round(5).tolist()}
        plt.close(figure)
    return {"versions": {"mne": mne.__version__, "numpy": np.__version__}, "names": NAMES, "places": grid.tolist(), "cases": kept}


def main() -> int:
    numbers = golden()
    if "--check" not in sys.argv[1:]:
        FILE.write_text(json.dumps(numbers) + "\n")
        return 0
    stored = json.loads(FILE.read_text())
    worst = 0.0
    for name, case in numbers["cases"].items():
        for key in ["values", "field"]:
            worst = max(worst, np.abs(np.subtract(case[key], stored["cases"][name][key])).max())
    print(f"{FILE.name}: the largest difference is {worst:.1e}")
    return 1 if worst > 1e-4 or numbers["places"] != stored["places"] else 0


if __name__ == "__main__":
    sys.exit(main())
