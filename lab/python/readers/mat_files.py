"""MATLAB files: level 5 by SciPy, v7.3 by h5py in MATLAB's layout, with random values of every class."""

import numpy as np
import scipy.io
import scipy.sparse

import mat73
from telling import tell
from values import NUMBERS, SHAPES, TEXTS, describe, numbers, value


def fixed(random):
    """One variable for every class and shape."""
    found = {f"n_{kind.replace('?', 'b1')}_{i}": numbers(random, kind, shape) for kind in NUMBERS for i, shape in enumerate(SHAPES)}
    found |= {f"text_{i}": text for i, text in enumerate(TEXTS)}
    found["beyond"] = "a\U0001f600b"  # a character of two units
    found["rows"] = np.array(["Fp1 ", "Cz  ", "PO10"])
    found["large"] = numbers(random, "f8", (13, 170))
    found["none"] = np.empty((0, 0), object)
    found["sparse_empty"] = scipy.sparse.csc_matrix((3, 4))
    found["a_name_of_exactly_31_characters"] = numbers(random, "f8", (1, 1))
    return found


def told(title, path, variables):
    named = [[name, describe(each)] for name, each in variables.items()]
    tell({"title": f"MATLAB {title}", "file": str(path), "variables": named})


def make(folder, random):
    sets = {"classes": fixed(random)}
    for i in range(12):
        sets[f"random{i}"] = {f"v{k}": value(random) for k in range(8)}
    for name, variables in sets.items():
        for compressed in [False, True]:
            path = folder / f"{name}-{'packed' if compressed else 'plain'}.mat"
            scipy.io.savemat(path, variables, do_compression=compressed)
            told(f"level 5 by SciPy: {path.stem}", path, variables)
        ways = [("plain", {}), ("packed", {"compression": 3, "chunks": True}), ("shuffled", {"compression": 6, "chunks": True, "shuffle": True}), ("new", {"libver": ("v110", "v110")})]
        for way, packed in ways:
            path = folder / f"{name}-v73-{way}.mat"
            mat73.save(path, variables, **packed)
            told(f"v7.3 by h5py: {path.stem}", path, variables)
