"""Makes beside this file v73.mat (HDF5 as MATLAB writes it), v73-new.mat (the same in the format of HDF5 1.14), v73-newest.mat (one
packed array in the format of HDF5 2.0) and v73-circle.mat (values that hold themselves).

    python3 -m venv v && v/bin/pip install h5py==3.16.0 numpy==2.4.6 && v/bin/python mat_v73.py
"""

import pathlib

import h5py
import numpy as np

here = pathlib.Path(__file__).parent
WHOLE = {np.dtype(k): v for k, v in [("f8", "double"), ("f4", "single"), ("?", "logical")]}


class Writer:
    def __init__(self, path, libver):
        self.path = path
        self.file = h5py.File(path, "w", userblock_size=512, libver=libver)
        self.count = 0
        self.refs = self.file.create_group("#refs#")

    def close(self):
        self.file.close()
        with open(self.path, "r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file, written by h5py".ljust(116) + bytes(8) + b"\x00\x02IM")

    def mark(self, item, name, **more):
        item.attrs["MATLAB_class"] = np.bytes_(name)
        for key, value in more.items():
            item.attrs["MATLAB_" + key] = value
        return item

    def array(self, to, name, values, **options):
        values = np.asarray(values)
        kind = WHOLE.get(values.dtype, values.dtype.name)
        if values.dtype.kind == "c":
            part = values.real.dtype
            pairs = np.zeros(values.T.shape, dtype=[("real", part), ("imag", part)])
            pairs["real"], pairs["imag"] = values.T.real, values.T.imag
            return self.mark(to.create_dataset(name, data=pairs), WHOLE[part])
        if values.size == 0:
            return self.empty(to, name, kind, values.shape)
        if kind == "logical":
            return self.mark(to.create_dataset(name, data=values.T.astype("u1")), kind, int_decode=np.int32(1))
        return self.mark(to.create_dataset(name, data=values.T, **options), kind)

    def empty(self, to, name, kind, dims):
        item = to.create_dataset(name, data=np.array(dims, dtype=np.uint64))
        return self.mark(item, kind, empty=np.uint8(1))

    def text(self, to, name, rows):
        units = np.array([list(np.frombuffer(row.encode("utf-16-le"), "<u2")) for row in rows], dtype="<u2")
        return self.mark(to.create_dataset(name, data=units.T), "char", int_decode=np.int32(2))

    def refer(self, write):
        self.count += 1
        name = f"r{self.count}"
        write(self.refs, name)
        return self.refs[name].ref

    def references(self, to, name, dims, writes):
        data = np.array([self.refer(write) for write in writes], dtype=object).reshape(dims[::-1])
        return to.create_dataset(name, data=data, dtype=h5py.ref_dtype)

    def cell(self, to, name, dims, writes):
        return self.mark(self.references(to, name, dims, writes), "cell")

    def struct(self, to, name, fields):
        group = to.create_group(name)
        names = np.empty(len(fields), dtype=object)
        for i, (field, write) in enumerate(fields):
            write(group, field)
            names[i] = np.array([c.encode() for c in field], dtype="S1")
        self.mark(group, "struct")
        group.attrs.create("MATLAB_fields", names, dtype=h5py.vlen_dtype(np.dtype("S1")))
        return group


def make(name, libver):
    w = Writer(here / name, libver)
    a = lambda values, **options: lambda to, n: w.array(to, n, values, **options)
    t = lambda *rows: lambda to, n: w.text(to, n, rows)
    c = lambda dims, *writes: lambda to, n: w.cell(to, n, dims, writes)
    root = w.file
    w.array(root, "matrix", np.arange(6.0).reshape(2, 3))
    w.array(root, "cube", np.arange(24, dtype="u2").reshape(2, 3, 4), chunks=(4, 1, 2), compression=6, shuffle=True)
    w.array(root, "single", np.array([[0.5, -1.25]], dtype="f4"))
    w.array(root, "int64", np.array([[-(2**63), 2**63 - 1, 2**53 + 1]], dtype="i8"))
    w.array(root, "uint64", np.array([[2**64 - 1, 2**53 + 1]], dtype="u8"))
    w.array(root, "complex", np.array([[1 + 2j, 3 - 4j], [0.5j, -6]]))
    w.array(root, "complex_single", np.array([[1 + 2j]], dtype="c8"))
    w.array(root, "logical", np.array([[True, False, True], [False, False, True]]))
    w.array(root, "empty", np.zeros((0, 3), dtype="i4"))
    w.empty(root, "empty_text", "char", (0, 0))
    w.empty(root, "empty_cell", "cell", (1, 0))
    w.empty(root, "empty_struct", "struct", (0, 0))
    w.text(root, "names", ["Fp1 ", "Cz  ", "PO10"])
    w.text(root, "unicode", ["µV é 😀"])
    unfilled = lambda to, n: w.empty(to, n, "canonical empty", (0, 0))
    w.cell(root, "cells", (1, 3), [t("C3"), a([[1.0, 2.0]]), c((2, 1), t("inner"), unfilled)])
    w.struct(root, "nested", [
        ("z", lambda to, n: w.struct(to, n, [("b", a([[4.0]])), ("skip", a(np.arange(500.0))), ("a", t("deep"))])),
        ("list", c((1, 2), t("x"), t("y"))),
        ("last", t("end")),
    ])
    records = root.create_group("records")
    w.references(records, "type", (1, 3), [t("left"), a([[7.0]]), unfilled])
    w.references(records, "latency", (1, 3), [a([[1.5]]), a([[2.5]]), a([[3.5]])])
    w.mark(records, "struct")
    sparse = root.create_group("sparse")
    sparse["data"] = np.array([2.0, 1.5, -3.0, 4.25])
    sparse["ir"] = np.array([1, 0, 2, 2], dtype="u8")
    sparse["jc"] = np.array([0, 1, 3, 4], dtype="u8")
    w.mark(sparse, "double", sparse=np.uint64(3))
    none = root.create_group("sparse_empty")
    none["jc"] = np.array([0, 0, 0], dtype="u8")
    w.mark(none, "double", sparse=np.uint64(3))
    handle = root.create_dataset("handle", data=np.zeros((1, 1), dtype="u4"))
    w.mark(handle, "function_handle", object_decode=np.int32(1))
    thing = root.create_dataset("thing", data=np.zeros((1, 6), dtype="u4"))
    w.mark(thing, "string", object_decode=np.int32(3))
    w.close()


if __name__ == "__main__":
    make("v73.mat", "earliest")
    make("v73-new.mat", "v114")
    newest = Writer(here / "v73-newest.mat", "v200")
    newest.array(newest.file, "x", np.arange(24.0).reshape(2, 12), chunks=(4, 2), compression=6)
    newest.close()
    # A cell whose elements are that cell, a struct that is a field of itself, and a cell of 2^30 numbers of which there is one.
    circle = Writer(here / "v73-circle.mat", "earliest")
    cell = circle.mark(circle.file.create_dataset("cell", (2, 1), dtype=h5py.ref_dtype), "cell")
    cell[:, 0] = cell.ref
    struct = circle.mark(circle.file.create_group("struct"), "struct")
    struct["again"] = struct
    struct["too"] = struct
    circle.array(circle.refs, "r0", [[1.0]])
    for i in range(30):
        to, name = (circle.refs, f"r{i + 1}") if i < 29 else (circle.file, "tree")
        pair = circle.mark(to.create_dataset(name, (2, 1), dtype=h5py.ref_dtype), "cell")
        pair[:, 0] = circle.refs[f"r{i}"].ref
    circle.close()
