"""Golden numbers for the spherical spline: `python spline.py > spline.json`, from this folder.

Perrin et al. 1989, order 4, 50 terms, no smoothing. Legendre polynomials from SciPy, the solution by NumPy, so that nothing
is shared with the Rust code but the formula.
"""

import json
import platform

import numpy as np
import scipy
from scipy.special import eval_legendre

NAMES = "Fp1 Fp2 F7 F3 Fz F4 F8 T7 C3 Cz C4 T8 P7 P3 Pz P4 P8 O1 O2".split()
ASKED = "FC1 CP4 AFz POz C5 T10".split()


def kernel(cosines):
    terms = np.arange(1, 51)
    weights = (2 * terms + 1) / (terms * (terms + 1.0)) ** 4
    return sum(w * eval_legendre(n, cosines) for n, w in zip(terms, weights)) / (4 * np.pi)


def main():
    table = {}
    with open("../../../ptsm-signal/data/electrode-positions.tsv") as lines:
        next(lines)
        for line in lines:
            name, *place = line.split("\t")
            place = np.array(place, dtype=float)
            table[name] = place / np.linalg.norm(place)
    places = np.stack([table[name] for name in NAMES])
    asked = np.stack([table[name] for name in ASKED])
    values = np.round(np.sin(np.arange(len(NAMES)) * 1.7) * 3 + 0.5, 3)
    count = len(NAMES)
    matrix = np.ones((count + 1, count + 1))
    matrix[:count, :count] = kernel(np.clip(places @ places.T, -1, 1))
    matrix[count, count] = 0
    solution = np.linalg.solve(matrix, np.append(values, 0))
    expected = kernel(np.clip(asked @ places.T, -1, 1)) @ solution[:count] + solution[count]
    print(json.dumps({
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
        "names": NAMES,
        "values": values.tolist(),
        "asked": ASKED,
        "expected": expected.tolist(),
    }, indent=1))


main()
