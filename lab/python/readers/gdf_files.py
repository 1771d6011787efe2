"""GDF, which nobody here writes, packed by hand after Schloegl 2006 (arXiv:cs/0608052) and read by MNE.

What MNE does otherwise, and is not followed in: events without a duration last one sample, samples beyond the range of a signal come as
they are (here as NaN, for GDF calls them missing), signals of a lower rate are resampled, all signals must be of one type, and volts and
nanovolts are not known.
"""

import mne
import numpy as np

from telling import noise, recording, signal

TYPES = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "i4": 5, "u4": 6, "i8": 7, "u8": 8, "f4": 16, "f8": 17}
UNITS = {"uV": 4275, "mV": 4274, "V": 4256, "nV": 4276, "": 0, "1": 512}
MICROVOLTS = {"uV": 1.0, "mV": 1e3, "V": 1e6, "nV": 1e-3}


def field(values, kind):
    return np.asarray(values).astype(kind).tobytes()


def text(values, width):
    return b"".join(value.encode("latin-1").ljust(width, b"\0") for value in values)


def pack(version, names, units, stored, physical, digital, per_record, record_s, events, mode=3, event_rate=None):
    """The bytes of a file. `stored` are whole signals, `events` are (sample from 0, type, channel, duration in samples)."""
    count = len(names)
    records = len(stored[0]) // per_record[0]
    one = version < 1.9
    head = f"GDF {version:.2f}".encode()
    if one:
        head += b"X X".ljust(80) + b"".ljust(80) + b"2020010112000000" + field(256 * (count + 1), "<i8") + bytes(44)
    else:
        head += b"X X".ljust(66, b"\0") + bytes(14) + bytes(64 + 16 + 8 + 8) + field(count + 1, "<u2") + bytes(50)
    assert len(head) == 236, len(head)
    head += field(records, "<i8") + field(record_s, "<u4") + (field(count, "<u4") if one else field(count, "<u2") + bytes(2))
    head += text(names, 16) + bytes(80 * count)
    head += text(units, 8) if one else text([""] * count, 6) + field([UNITS[unit] for unit in units], "<u2")
    limits = "<i8" if one else "<f8"
    head += field([p[0] for p in physical], "<f8") + field([p[1] for p in physical], "<f8")
    head += field([d[0] for d in digital], limits) + field([d[1] for d in digital], limits)
    head += bytes((80 if one else 68 + 12) * count)
    head += field(per_record, "<u4") + field([TYPES[signal.dtype.str[1:]] for signal in stored], "<u4")
    head += bytes(32 * count)
    assert len(head) == 256 * (count + 1), len(head)
    body = b"".join(
        signal[r * n : (r + 1) * n].astype(signal.dtype.newbyteorder("<")).tobytes()
        for r in range(records)
        for signal, n in zip(stored, per_record)
    )
    table = bytes([mode])
    rate = event_rate or per_record[0] * record_s[1] / record_s[0]
    if version < 1.94:
        table += field(int(rate), "<u4")[:3] + field(len(events), "<u4")
    else:
        table += field(len(events), "<u4")[:3] + field(rate, "<f4")
    table += field([e[0] + 1 for e in events], "<u4") + field([e[1] for e in events], "<u2")
    if mode == 3:
        table += field([e[2] for e in events], "<u2") + field([e[3] for e in events], "<u4")
    return head + body + table


def told(title, path, units, rate, marks, missing=None, same=None):
    """What MNE reads, in microvolts where the unit is a voltage. `same` is a file with the same numbers that MNE can read."""
    raw = mne.io.read_raw_gdf(same or path, preload=True)
    known = {"uV": 1e-6} if "GDF 1.25" in title else {"uV": 1e-6, "mV": 1e-3}
    assert abs(raw.info["sfreq"] - rate) < 1e-9 * rate, (title, raw.info["sfreq"], rate)
    signals = []
    for i, (name, unit, values) in enumerate(zip(raw.ch_names, units, raw.get_data(), strict=True)):
        values = values / known.get(unit, 1.0) * MICROVOLTS.get(unit, 1.0)
        if missing is not None:
            values = np.where(missing[i], np.nan, values)
        signals.append(signal(name, rate, values, unit in MICROVOLTS))
    found = [(float(a["onset"]), float(a["duration"]), str(a["description"])) for a in raw.annotations]
    wanted = [(o, max(d, 1 / rate), t) for o, d, t in marks]
    assert np.allclose([f[:2] for f in found], [w[:2] for w in wanted]), (title, found, wanted)
    recording(title, path, signals, marks)


def make(folder, random):
    names = ["EEG-Fz", "C3", "EEG:Cz", "EOG:left"]
    events = [(10, 769, 0, 25), (99, 770, 0, 1), (250, 1023, 2, 100), (400, 276, 0, 33), (555, 33000 - 32768, 0, 2)]
    for version in [1.25, 1.95, 2.20]:
        for kind in TYPES:
            whole = np.dtype(kind).kind in "iu"
            ends = np.iinfo(kind) if whole else None
            units = ["uV", "uV", "uV", "uV"] if version < 1.9 else ["uV", "mV", "V", "nV"]
            # Samples per record and its length as a fraction: 250 Hz, or 102.4 Hz.
            per, record_s, rate = [(250, (1, 1), 250.0), (256, (5, 2), 102.4)][int(version > 2)]
            n = per * 4
            if whole:
                low, high = (ends.min, ends.max) if np.dtype(kind).itemsize < 8 else (-(2**40) if ends.min else 0, 2**40)
                stored = [random.integers(low + 1, high, n, kind) for _ in names]
                digital = [(low, high)] * 4
                physical = [(-500.0, 500.0), (-0.25, 0.5), (300.0, -300.0), (0.0, 1.0)]
            else:
                stored = list(noise(random, 4, n).astype(kind))
                digital, physical = [(-1000, 1000)] * 4, [(-1000.0, 1000.0), (-500.0, 500.0), (-1.0, 1.0), (-1000.0, 1000.0)]
            path = folder / f"{version:.2f}-{kind}.gdf"
            rest = (names, units, stored, physical, digital, [per] * 4, record_s, events)
            path.write_bytes(pack(version, *rest))
            marks = [(at / rate, duration / rate, str(code)) for at, code, _, duration in events]
            told(f"GDF {version:.2f} by hand: {kind}", path, units, rate, marks)
            if version == 1.95:
                # The new header with the old table, over which MNE stumbles.
                between = folder / f"1.92-{kind}.gdf"
                between.write_bytes(pack(1.92, *rest))
                told(f"GDF 1.92 by hand: {kind}", between, units, rate, marks, same=path)

    for version in [1.25, 2.20]:
        stored = [random.integers(-2000, 2000, 1000, "i2") for _ in names]
        missing = []
        for each in stored:
            each[random.choice(1000, 40, replace=False)] = -32768
            missing.append(each == -32768)
        path = folder / f"{version:.2f}-missing.gdf"
        ranges = [(-100.0, 100.0)] * 4, [(-2000, 2000)] * 4
        path.write_bytes(pack(version, names, ["uV"] * 4, stored, *ranges, [250] * 4, (1, 1), events, mode=1))
        marks = [(at / 250, 0.0, str(code)) for at, code, _, _ in events]
        told(f"GDF {version:.2f} by hand: missing samples, events without duration", path, ["uV"] * 4, 250.0, marks, missing)

    # Signals of several types and rates, which no other reader takes: what was packed is what counts.
    kinds, per = ["i2", "f4", "i4", "u1"], [200, 200, 200, 50]
    stored = [random.integers(0, 200, 5 * n).astype(kind) for kind, n in zip(kinds, per)]
    path = folder / "2.20-mixed.gdf"
    ranges = [(0.0, 200.0)] * 4, [(0, 200)] * 4
    path.write_bytes(pack(2.20, names, ["uV", "mV", "uV", ""], stored, *ranges, per, (1, 1), events))
    signals = [
        signal(name, n, values * (1e3 if i == 1 else 1.0), i < 3)
        for i, (name, n, values) in enumerate(zip(names, per, stored))
    ]
    recording("GDF 2.20 by hand: several types and rates", path, signals, [(at / 200, d / 200, str(c)) for at, c, _, d in events])
