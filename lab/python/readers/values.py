"""Random values of MATLAB, and their description as JSON."""

import numpy as np
import scipy.sparse

NUMBERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "c8", "c16", "?"]
SHAPES = [(1, 1), (1, 5), (4, 1), (3, 4), (2, 3, 4), (2, 1, 3, 2), (0, 0), (0, 3), (1, 0)]
TEXTS = ["C3", "", "with blanks ", "\u00b5V Gr\u00f6\u00dfe", "\u8133\u6ce2", "line\nfeed", "x" * 50]


def numbers(random, kind, shape):
    """Numbers of one type, the ends of its range among them."""
    kind = np.dtype(kind)
    if kind.kind == "?" or kind.kind == "b":
        return random.random(shape) < 0.5
    if kind.kind in "iu":
        ends = np.iinfo(kind)
        values = random.integers(ends.min, ends.max, shape, kind, endpoint=True)
        special = [ends.min, ends.max]
    else:
        values = (random.standard_normal(shape) * 10.0 ** random.integers(-6, 7)).astype(kind)
        special = [np.nan, np.inf, -np.inf, -0.0, 1.0]
        if kind.kind == "c":
            values = values + (1j * random.standard_normal(shape)).astype(kind)
    if values.size > 3:
        values.flat[int(random.integers(values.size))] = special[int(random.integers(len(special)))]
    return values.astype(kind)


def pick(random, choices):
    return choices[int(random.integers(len(choices)))]


def value(random, depth=0):
    """Anything; nested up to three deep."""
    kinds = ["numbers", "numbers", "text", "rows", "sparse"]
    if depth < 3:
        kinds += ["cell", "struct", "records"]
    match pick(random, kinds):
        case "numbers":
            return numbers(random, pick(random, NUMBERS), pick(random, SHAPES))
        case "text":
            return pick(random, TEXTS)
        case "rows":
            # Rows of one length, as in a matrix of characters.
            return np.array([pick(random, ["left ", "right", "f\u00fcnf "]) for _ in range(int(random.integers(2, 5)))])
        case "sparse":
            shape = tuple(int(n) for n in random.integers(1, 8, 2))
            return scipy.sparse.random(*shape, 0.3, format="csc", rng=random)
        case "cell":
            cell = np.empty(pick(random, [(1, 3), (2, 2), (0, 0), (2, 1, 2)]), object)
            for i in range(cell.size):
                cell.flat[i] = value(random, depth + 1)
            return cell
        case "struct":
            return {name: value(random, depth + 1) for name in ["z", "a_name", "b2"][: int(random.integers(1, 4))]}
        case "records":
            array = np.empty(pick(random, [(1, 3), (2, 2), (1, 2)]), [("type", object), ("latency", object)])
            for field in array.dtype.names:
                for i in range(array.size):
                    array[field].flat[i] = value(random, depth + 1)
            return array


def describe(value):
    """What MATLAB would show, element by element in column order. Numbers are text, since JSON has no NaN and no 64 bits."""
    if isinstance(value, dict):
        return {"class": "struct", "dims": [1, 1], "fields": list(value), "values": [describe(v) for v in value.values()]}
    if isinstance(value, str):
        return {"class": "text", "rows": [value]}
    if scipy.sparse.issparse(value):
        entries = value.tocoo()
        found = sorted((int(c), int(r), repr(float(v))) for r, c, v in zip(entries.row, entries.col, entries.data))
        return {"class": "sparse", "dims": list(value.shape), "entries": [[r, c, v] for c, r, v in found]}
    if value.dtype.kind == "U":
        return {"class": "text", "rows": [str(row) for row in value.ravel()]}
    value = np.atleast_2d(value)
    dims, flat = list(value.shape), value.ravel(order="F")
    if value.dtype.names:
        each = [describe(record[field]) for record in flat for field in value.dtype.names]
        return {"class": "struct", "dims": dims, "fields": list(value.dtype.names), "values": each}
    if value.dtype == object:
        return {"class": "cell", "dims": dims, "values": [describe(each) for each in flat]}
    # Of nothing nobody knows whether it is complex.
    imaginary = [repr(float(v)) for v in flat.imag] if value.dtype.kind == "c" and value.size else None
    whole = value.dtype.kind in "iub"
    real = [str(int(v)) if whole else repr(float(v)) for v in flat.real]
    return {"class": "array", "dims": dims, "real": real, "imaginary": imaginary, "logical": value.dtype.kind == "b"}


def difference(found, wanted, at=""):
    """The first place where two descriptions differ, and how; none where they do not."""
    if found == wanted:
        return None
    if isinstance(found, dict) and isinstance(wanted, dict) and found.keys() == wanted.keys():
        return next(filter(None, (difference(found[key], wanted[key], f"{at}.{key}") for key in found)))
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        return next(filter(None, (difference(a, b, f"{at}[{i}]") for i, (a, b) in enumerate(zip(found, wanted)))))
    return f"{at} is {str(found)[:100]}, not {str(wanted)[:100]}"
