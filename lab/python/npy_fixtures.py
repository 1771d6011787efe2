"""Writes the NPY and NPZ files that the tests of ptsm-io read.

    python npy_fixtures.py FOLDER

Each array holds 0, 1, .. 5 in the shape (2, 3), or text; the tests know the values. `versions.txt` says what wrote them.
"""

import pathlib
import platform
import sys

import numpy as np

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
count = np.arange(6).reshape(2, 3)

types = ["<i1", "<i2", "<i4", "<i8", "<u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8"]
arrays = {name[1:]: count.astype(name) for name in types}
arrays |= {f"big_{name[1:]}": count.astype(">" + name[1:]) for name in types if name[2] != "1"}
arrays["bool"] = count % 2 == 1
arrays["fortran"] = np.asfortranarray(count.astype("<f4"))
arrays["cube"] = np.asfortranarray(np.arange(24.0).reshape(2, 3, 4))
arrays["text"] = np.array(["C3", "", "Größe", "𝄞"])
arrays["big_text"] = arrays["text"].astype(">U5")
arrays["bytes"] = np.array([b"left", b"right"])
arrays["scalar"] = np.float64(128.0)
arrays["empty"] = np.zeros((0, 3), dtype="<f4")
arrays["one"] = np.array([7], dtype="<i4")
np.savez(folder / "stored.npz", **arrays)
np.savez_compressed(folder / "deflated.npz", **arrays)

refused = {
    "object": np.array([None, {}], dtype=object),
    "structured": np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]),
    "complex": np.zeros(2, dtype="<c8"),
    "time": np.zeros(2, dtype="<M8[s]"),
    "good": np.arange(3, dtype="<i4"),
}
np.savez(folder / "refused.npz", **refused)

np.save(folder / "one.npy", count.astype("<f4"))
for version in [(2, 0), (3, 0)]:
    with open(folder / f"version{version[0]}.npy", "wb") as file:
        np.lib.format.write_array(file, count.astype("<f4"), version=version)

(folder / "versions.txt").write_text(f"numpy {np.__version__}, Python {platform.python_version()}\n")
