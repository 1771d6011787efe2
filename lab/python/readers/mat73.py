"""MATLAB files of v7.3, laid out as MATLAB lays them out in HDF5."""

import h5py
import numpy as np
import scipy.sparse

CLASSES = {"float64": "double", "float32": "single", "bool": "logical"}
TITLE = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Wed Jan  1 12:00:00 2020 HDF5 schema 1.00 ."


def save(path, variables, libver="earliest", **packed):
    """Writes variables: arrays, text, dicts (structs), arrays of records (struct arrays), of objects (cells), sparse matrices.

    `packed` goes to every array that is large enough for chunks.
    """
    with h5py.File(path, "w", userblock_size=512, libver=libver) as file:
        Writer(file, packed).fields(file, variables)
    with open(path, "r+b") as file:
        file.write(TITLE.ljust(116) + bytes(8) + b"\x00\x02IM")


class Writer:
    def __init__(self, file, packed):
        self.file, self.packed, self.count = file, packed, 0

    def fields(self, group, values):
        for name, value in values.items():
            self.write(group, name, value)

    def write(self, group, name, value):
        if isinstance(value, dict):
            inner = group.create_group(name)
            self.fields(inner, value)
            self.mark(inner, "struct")
            self.order(inner, value)
        elif isinstance(value, str):
            self.text(group, name, np.array([value]))
        elif scipy.sparse.issparse(value):
            self.sparse(group, name, value.tocsc())
        elif value.dtype.names:
            self.records(group, name, value)
        elif value.dtype == object:
            self.cells(group, name, value)
        elif value.dtype.kind == "U":
            self.text(group, name, value)
        else:
            self.numbers(group, name, value)

    def mark(self, item, kind, **more):
        item.attrs["MATLAB_class"] = np.bytes_(kind)
        for key, value in more.items():
            item.attrs[f"MATLAB_{key}"] = value

    def order(self, group, names):
        letters = np.empty(len(names), object)
        for i, name in enumerate(names):
            letters[i] = np.array([letter.encode() for letter in name], "S1")
        group.attrs.create("MATLAB_fields", letters, dtype=h5py.vlen_dtype(np.dtype("S1")))

    def empty(self, group, name, dims, kind):
        item = group.create_dataset(name, data=np.array(dims, "u8"))
        self.mark(item, kind, empty=np.uint8(1))
        return item

    def numbers(self, group, name, value):
        value = np.atleast_2d(value)
        kind = CLASSES.get(value.dtype.name, value.dtype.name)
        if value.dtype.kind == "c":
            kind = "double" if value.dtype.itemsize == 16 else "single"
        if value.size == 0:
            self.empty(group, name, value.shape, kind)
            return
        data = value.T
        if value.dtype.kind == "c":
            part = value.real.dtype
            data = np.empty(value.T.shape, [("real", part), ("imag", part)])
            data["real"], data["imag"] = value.T.real, value.T.imag
        more = {}
        if kind == "logical":
            data, more = data.astype("u1"), {"int_decode": np.int32(1)}
        packed = self.packed if value.size > 20 else {}
        if "chunks" in packed:
            packed = packed | {"chunks": tuple(min(n, 3) for n in data.shape)}
        self.mark(group.create_dataset(name, data=data, **packed), kind, **more)

    def text(self, group, name, rows):
        units = [np.frombuffer(row.encode("utf-16-le"), "<u2") for row in rows.ravel()]
        width = max((len(row) for row in units), default=0)
        if width == 0:
            item = self.empty(group, name, (len(units) if rows.size > 1 else 0, 0), "char")
            item.attrs["MATLAB_int_decode"] = np.int32(2)
            return
        padded = np.full((len(units), width), ord(" "), "<u2")
        for row, each in zip(padded, units):
            row[: len(each)] = each
        self.mark(group.create_dataset(name, data=padded.T), "char", int_decode=np.int32(2))

    def refer(self, value):
        refs = self.file.require_group("#refs#")
        self.count += 1
        name = f"r{self.count}"
        self.write(refs, name, value)
        return refs[name].ref

    def references(self, values):
        found = [self.refer(value) for value in values.ravel(order="F")]
        data = np.empty(len(found), object)
        data[:] = found
        return data.reshape(np.atleast_2d(values).shape[::-1])

    def cells(self, group, name, value):
        value = np.atleast_2d(value)
        if value.size == 0:
            self.empty(group, name, value.shape, "cell")
        else:
            self.mark(group.create_dataset(name, data=self.references(value), dtype=h5py.ref_dtype), "cell")

    def records(self, group, name, value):
        value = np.atleast_2d(value)
        if value.size == 0:
            self.order(self.empty(group, name, value.shape, "struct"), value.dtype.names)
            return
        inner = group.create_group(name)
        for field in value.dtype.names:
            inner.create_dataset(field, data=self.references(value[field]), dtype=h5py.ref_dtype)
        self.mark(inner, "struct")
        self.order(inner, value.dtype.names)

    def sparse(self, group, name, value):
        inner = group.create_group(name)
        value.sort_indices()
        if value.nnz:
            inner["data"], inner["ir"] = value.data, value.indices.astype("u8")
        inner["jc"] = value.indptr.astype("u8")
        self.mark(inner, "double", sparse=np.uint64(value.shape[0]))
