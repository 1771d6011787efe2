"""Writes the golden numbers of the filters in crates/ptsm-signal, computed by SciPy.

Usage: python signal_golden.py            (writes the file)
       python signal_golden.py --check    (exit status 1 if a number differs from the file by more than 1e-11 of its row's scale)
       python signal_golden.py --time     (how long SciPy takes for what tests/speed.rs measures)

Needs numpy and scipy. The inputs are a formula, so that the test can make them again; the versions stand in the file.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from pathlib import Path

import numpy as np
import scipy
from scipy import signal

FILE = Path(__file__).parents[2] / "crates" / "ptsm-signal" / "tests" / "golden" / "scipy.json"
TOLERANCE = 1e-11

# Order, lower edge, upper edge, rate.
BUTTERWORTH = [
    (1, None, 40.0, 160.0),
    (2, 0.5, None, 250.0),
    (3, None, 30.0, 128.0),
    (5, 4.0, None, 128.0),
    (1, 8.0, 30.0, 160.0),
    (2, 49.0, 51.0, 1000.0),
    (3, 1.0, 40.0, 160.0),  # so wide that the middle pole splits into two real ones
    (4, 8.0, 30.0, 160.0),
    (4, 0.5, 40.0, 250.0),
    (5, 0.3, 100.0, 1000.0),
    (5, 4.0, 36.0, 250.0),
    (8, 8.0, 13.0, 250.0),
]
# Bands symmetric about a quarter of the rate: poles are equally near the unit circle and rounding orders the sections.
SYMMETRIC = [(4, 35.0, 45.0, 160.0), (3, 57.5, 67.5, 250.0)]
# Frequency, quality, rate.
NOTCH = [(50.0, 30.0, 160.0), (60.0, 30.0, 250.0), (50.0, 5.0, 1000.0)]
# Coefficients, lower edge, upper edge, window, beta, rate.
FIRWIN = [
    (21, None, 20.0, "hamming", None, 100.0),
    (20, None, 20.0, "hamming", None, 100.0),
    (51, 4.0, None, "hamming", None, 128.0),
    (101, 8.0, 30.0, "hamming", None, 160.0),
    (64, 8.0, 30.0, "kaiser", 8.6, 250.0),
    (1, None, 20.0, "kaiser", 5.0, 100.0),
    (161, None, 0.125, "kaiser", 5.0, 2.0),
]
# Old rate, new rate, up, down, length.
RESAMPLE = [
    (160.0, 100.0, 5, 8, 401),
    (250.0, 128.0, 64, 125, 777),
    (1000.0, 250.0, 1, 4, 1003),
    (128.0, 160.0, 5, 4, 255),
    (512.0, 100.0, 25, 128, 1500),
    (160.0, 100.0, 5, 8, 3),
    (100.0, 300.0, 3, 1, 50),
]


def wave(length: int) -> np.ndarray:
    """An offset, a drift, two sines and a chirp."""
    t = np.arange(length, dtype=np.float64)
    return 40.0 + 0.05 * t + 30.0 * np.sin(0.37 * t) + 12.0 * np.cos(1.31 * t + 0.4) + 8.0 * np.sin(0.0021 * t * t)


def butter(order: int, low: float | None, high: float | None, rate: float) -> np.ndarray:
    if low is None:
        return signal.butter(order, high, "lowpass", fs=rate, output="sos")
    if high is None:
        return signal.butter(order, low, "highpass", fs=rate, output="sos")
    return signal.butter(order, [low, high], "bandpass", fs=rate, output="sos")


def recursive(sos: np.ndarray, length: int) -> dict:
    """A filter, its steady state and what it makes of the wave; of the long results every 17th sample."""
    x, stride = wave(length), 17
    steady = signal.sosfilt_zi(sos)
    return {
        "sos": sos.tolist(),
        "steady": steady.tolist(),
        "length": length,
        "stride": stride,
        "causal": signal.sosfilt(sos, x)[::stride].tolist(),
        "causal_from_first": signal.sosfilt(sos, x, zi=steady * x[0])[0][::stride].tolist(),
        "zero_phase": signal.sosfiltfilt(sos, x)[::stride].tolist(),
        "shortest": shortest(sos),
    }


def shortest(sos: np.ndarray) -> dict:
    """The shortest signal that may be filtered forwards and backwards."""
    for length in range(1, 1000):
        try:
            return {"length": length, "zero_phase": signal.sosfiltfilt(sos, wave(length)).tolist()}
        except ValueError:
            continue
    raise AssertionError("no length works")


def windowed(taps: int, low: float | None, high: float | None, window: str, beta: float | None, rate: float) -> dict:
    edges, kind = (high, "lowpass") if low is None else (low, "highpass") if high is None else ([low, high], "bandpass")
    shape = window if beta is None else (window, beta)
    h = signal.firwin(taps, edges, window=shape, pass_zero=kind, scale=True, fs=rate)
    row = {"taps": taps, "low": low, "high": high, "window": window, "beta": beta, "rate": rate, "filter": h.tolist()}
    if taps % 2 == 1:
        # The ends extended as sosfiltfilt extends them, then a convolution without delay.
        x, half = wave(301), taps // 2
        before, after = 2 * x[0] - x[half:0:-1], 2 * x[-1] - x[-2 : -2 - half : -1]
        extended = np.concatenate((before, x, after))
        row |= {"length": 301, "stride": 7, "out": np.convolve(extended, h, "valid")[::7].tolist()}
    return row


def butterworth_rows(cases: list[tuple]) -> list[dict]:
    return [
        {"order": n, "low": low, "high": high, "rate": rate} | recursive(butter(n, low, high, rate), 1501)
        for n, low, high, rate in cases
    ]


def golden() -> dict:
    notch_rows = []
    for frequency, quality, rate in NOTCH:
        b, a = signal.iirnotch(frequency, quality, fs=rate)
        sos = np.concatenate((b, a))[None]
        notch_rows.append({"frequency": frequency, "quality": quality, "rate": rate} | recursive(sos, 1001))
    resample_rows = []
    for old, new, up, down, length in RESAMPLE:
        out = signal.resample_poly(wave(length), up, down)
        resample_rows.append(
            {"from": old, "to": new, "up": up, "down": down, "length": length, "out_length": len(out), "stride": 3}
            | {"out": out[::3].tolist()}
        )
    return {
        "made_by": "lab/python/signal_golden.py",
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
        "wave": "40 + 0.05 t + 30 sin(0.37 t) + 12 cos(1.31 t + 0.4) + 8 sin(0.0021 t^2), t = 0, 1, ...",
        "butterworth": butterworth_rows(BUTTERWORTH),
        "symmetric": butterworth_rows(SYMMETRIC),
        "notch": notch_rows,
        "firwin": [windowed(*case) for case in FIRWIN],
        "resample": resample_rows,
    }


def differences(got, want, where: str) -> list[str]:
    """Places where two trees of numbers differ."""
    if isinstance(want, dict):
        if got.keys() != want.keys():
            return [f"{where}: other keys"]
        return [d for key in want for d in differences(got[key], want[key], f"{where}.{key}")]
    if isinstance(want, list) and want and isinstance(want[0], dict):
        if len(got) != len(want):
            return [f"{where}: {len(got)} rows, not {len(want)}"]
        return [d for i in range(len(want)) for d in differences(got[i], want[i], f"{where}[{i}]")]
    if isinstance(want, list):
        a, b = np.array(got), np.array(want)
        if a.shape != b.shape:
            return [f"{where}: shape {a.shape}, not {b.shape}"]
        off = np.max(np.abs(a - b), initial=0.0) / max(np.max(np.abs(b), initial=0.0), 1e-300)
        return [f"{where}: off by {off:.1e}"] if off > TOLERANCE else []
    return [] if got == want else [f"{where}: {got!r}, not {want!r}"]


def timing() -> None:
    """Ten minutes of 64 channels at 160 Hz: 8-30 Hz forwards and backwards, then to 100 Hz. One thread, best of 5."""
    x = np.tile(wave(96_000), (64, 1))
    sos = butter(4, 8.0, 30.0, 160.0)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        filtered = signal.sosfiltfilt(sos, x)
        middle = time.perf_counter()
        signal.resample_poly(filtered, 5, 8, axis=1)
        times.append((middle - start, time.perf_counter() - middle))
    band, resampling = np.min(times, axis=0) * 1e3
    print(f"SciPy {scipy.__version__}, best of 5: band-pass {band:.0f} ms, resampling {resampling:.0f} ms")


def main() -> int:
    if "--time" in sys.argv[1:]:
        timing()
        return 0
    numbers = golden()
    if "--check" in sys.argv[1:]:
        stored = json.loads(FILE.read_text())
        # Other versions may make the same numbers.
        numbers["versions"] = stored["versions"]
        found = differences(numbers, stored, "golden")
        print("\n".join(found) or f"{FILE.name} agrees")
        return 1 if found else 0
    FILE.parent.mkdir(parents=True, exist_ok=True)
    beside = FILE.with_suffix(".json.part")
    beside.write_text(pretty(numbers))
    beside.replace(FILE)
    return 0


def pretty(numbers: dict) -> str:
    """One line per case."""
    lines = []
    for key, value in numbers.items():
        if isinstance(value, list):
            rows = ",\n    ".join(json.dumps(row) for row in value)
            lines.append(f'  "{key}": [\n    {rows}\n  ]')
        else:
            lines.append(f'  "{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
