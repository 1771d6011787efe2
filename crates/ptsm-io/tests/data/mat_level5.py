"""Makes level5.mat and level5-packed.mat beside this file: what SciPy writes for every kind of value.

    python3 -m venv v && v/bin/pip install scipy==1.17.1 numpy==2.4.6 && v/bin/python mat_level5.py
"""

import pathlib

import numpy as np
import scipy.io
import scipy.sparse

here = pathlib.Path(__file__).parent


def cell(*values):
    out = np.empty((1, len(values)), dtype=object)
    out[0, :] = values
    return out


records = np.zeros((1, 3), dtype=[("type", "O"), ("latency", "O")])
for i, (kind, latency) in enumerate([("left", 1.5), (7.0, 2.5), ("", np.zeros((0, 0)))]):
    records[0, i] = (kind, latency)

thing = scipy.io.matlab.MatlabObject(np.array([(1.0, "x")], dtype=[("a", "O"), ("b", "O")]), "stuff")

values = {
    "sparse": scipy.sparse.csc_array(np.array([[0, 1.5, 0], [2, 0, 0], [0, -3, 4.25]])),
    "sparse_empty": scipy.sparse.csc_array((3, 2)),
    "complex": np.array([[1 + 2j, 3 - 4j], [0.5j, -6]]),
    "logical": np.array([[True, False, True], [False, False, True]]),
    "int64": np.array([[-(2**63), 2**63 - 1, 2**53 + 1]], dtype=np.int64),
    "uint64": np.array([[2**64 - 1, 2**53 + 1]], dtype=np.uint64),
    "int8": np.array([[-128, 127]], dtype=np.int8),
    "single": np.array([[0.5, -1.25]], dtype=np.float32),
    "cube": np.arange(24, dtype=np.uint16).reshape(2, 3, 4),
    "names": np.array(["Fp1 ", "Cz  ", "PO10"]),
    "unicode": "µV é 😀",
    "empty_text": "",
    "empty": np.zeros((0, 3)),
    "cells": cell("C3", np.array([[1.0, 2.0]]), cell("inner", np.zeros((0, 0)))),
    "trials": cell({"fs": 128.0, "ear": "L"}, {"fs": 64.0, "ear": "R"}),
    "records": records,
    "nested": {"a": {"b": {"c": {"d": np.array([[4.0]]), "skip": np.arange(500.0)}}}, "last": "end"},
    "object": thing,
}

scipy.io.savemat(here / "level5.mat", values, do_compression=False)
scipy.io.savemat(here / "level5-packed.mat", values, do_compression=True)
for name in ["level5.mat", "level5-packed.mat"]:
    # The first 116 bytes say when and where the file was made.
    path = here / name
    path.write_bytes(b"MATLAB 5.0 MAT-file, written by SciPy".ljust(116) + path.read_bytes()[116:])
