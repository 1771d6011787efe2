"""Writes the golden numbers of ocular regression in crates/ptsm-signal, computed by NumPy's least squares.

Usage: python ocular_golden.py            (writes the file)
       python ocular_golden.py --check    (exit status 1 if a number differs from the file by more than 1e-9)

Needs NumPy alone. The input is a formula, so that the test can make it again; the version stands in the file.
"""

import json
import sys
from pathlib import Path

import numpy as np

FILE = Path(__file__).parents[2] / "crates" / "ptsm-signal" / "tests" / "golden" / "ocular.json"
EPOCHS, SAMPLES = 6, 40
CHANNELS = ["Fp1", "C3", "AF8", "Pz"]
REGRESSORS = [0, 2]
# Subjects of the epochs: each is regressed by itself.
SUBJECTS = [1, 1, 2, 2, 2, 1]


def value(n, c, t):
    n, c, t = float(n), float(c), float(t)
    eye = 60.0 * np.sin(0.05 * t * (1.0 + 0.3 * n) + n)
    return eye / (1.0 + c) + 9.0 * np.sin(0.9 * t + 2.0 * c + n) + 5.0 * np.cos(0.31 * t * (c + 1.0)) + 3.0 * c + n


def main():
    x = np.array([[[value(n, c, t) for t in range(SAMPLES)] for c in range(len(CHANNELS))] for n in range(EPOCHS)])
    x = np.float64(np.float32(x))
    kept = [c for c in range(len(CHANNELS)) if c not in REGRESSORS]
    out = np.zeros((EPOCHS, len(kept), SAMPLES))
    for subject in sorted(set(SUBJECTS)):
        rows = [n for n in range(EPOCHS) if SUBJECTS[n] == subject]
        flat = np.concatenate([x[n] for n in rows], axis=1)
        r = flat[REGRESSORS] - flat[REGRESSORS].mean(axis=1, keepdims=True)
        design = np.vstack([r, np.ones(r.shape[1])]).T
        for k, c in enumerate(kept):
            b = np.linalg.lstsq(design, flat[c], rcond=None)[0][:-1]
            out[rows, k] = (flat[c] - b @ r).reshape(len(rows), SAMPLES)
    golden = {"numpy": np.__version__, "out": [round(v, 9) for v in out.ravel().tolist()]}
    if "--check" in sys.argv:
        known = np.array(json.loads(FILE.read_text())["out"])
        sys.exit(int(np.abs(known - out.ravel()).max() > 1e-9))
    FILE.write_text(json.dumps(golden) + "\n")


main()
