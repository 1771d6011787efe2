"""BrainVision by pybv and MNE, and by hand what neither writes, read by MNE.

What MNE does otherwise, and is not followed in: `New Segment` is an annotation to it, here it is the beginning of a stretch; it does not
know big-endian samples, text beside samples written as text, or `$b` in a name, so these are made of numbers it has read from another file.
"""

import re

import mne
import numpy as np
import pybv

from telling import annotations, near, noise, recording, signal

ODD = ["Fp1", "a,b", "C3..", "T8/M1", "#1 (x)", "Größe", "1", "EEG Cz-Ref"]
MICROVOLTS = {"µV": 1.0, "uV": 1.0, "mV": 1e3, "V": 1e6, "nV": 1e-3}


def some_events(random, samples, count):
    """Of all three types, some a single sample long, the last one on the last sample."""
    onset = np.append(np.sort(random.choice(samples - 1, count - 1, replace=False)), samples - 1)
    texts = ["left hand", "a; b", "Größe", "x" * 60]
    events = []
    for i, first in enumerate(onset):
        kind = ["Stimulus", "Response", "Comment"][i % 3]
        text = texts[i % 4] if kind == "Comment" else int(random.integers(1, 300))
        room = int(samples - first)
        events.append({"onset": int(first), "duration": min(int(random.integers(1, 50)), room), "description": text, "type": kind})
    return events


def told(title, path, raw, units, names=None, stretches=None):
    """What MNE read, with the names of the file."""
    names = names or raw.ch_names
    signals = []
    for name, unit, values in zip(names, units, raw.get_data(), strict=True):
        volts = unit in MICROVOLTS
        signals.append(signal(name, raw.info["sfreq"], values * 1e6 if volts else values, volts))
    marks = [m for m in annotations(path.with_suffix(".vmrk")) if not m[2].startswith("New Segment/")]
    recording(f"BrainVision {title}", path, signals, marks, stretches)


def read(path):
    return mne.io.read_raw_brainvision(path, preload=True)


def by_pybv(folder, random):
    cases = [
        ("int16", "binary_int16", 250, 0.1, ["µV"] * 8),
        ("float32", "binary_float32", 1000, 0.1, ["µV"] * 8),
        ("fraction", "binary_float32", 512.820512, 1.0, ["µV"] * 8),
        ("slow", "binary_int16", 62.5, 0.5, ["µV"] * 8),
        ("units", "binary_int16", 500, [0.1, 0.01, 1e-7, 100.0, 0.01, 0.1, 0.25, 0.5], ["µV", "mV", "V", "nV", "°C", "uV", "µV", "%"]),
    ]
    for name, fmt, rate, resolution, units in cases:
        n = int(rate * 6) + 3
        x = noise(random, 8, n)
        volts = np.array([[1e-6 if unit in MICROVOLTS else 1.0] for unit in units])
        events = some_events(random, n, 20)
        pybv.write_brainvision(
            data=x * volts, sfreq=rate, ch_names=ODD, fname_base=name, folder_out=folder, overwrite=True,
            events=events, resolution=resolution, unit=units, fmt=fmt,
        )
        path = folder / f"{name}.vhdr"
        raw = read(path)
        step = np.ravel(resolution) * np.array([MICROVOLTS.get(unit, 1.0) for unit in units])
        # pybv cuts off what does not fit.
        near(path, raw.get_data() / volts, x, step * 1.001 if "int" in fmt else 1e-6 * np.abs(x).max() + 1e-4)
        told(f"by pybv: {name}, {fmt}", path, raw, units)


def by_mne(folder, random):
    info = mne.create_info(["Fp1", "C3", "EOG left"], 200.0, ["eeg", "eeg", "eog"])
    x = noise(random, 3, 1400)
    raw = mne.io.RawArray(x * 1e-6, info, verbose=False)
    raw.set_annotations(mne.Annotations([0.5, 2.25, 3.0, 6.995], [0.0, 1.0, 0.25, 0.0], ["left", "Stimulus/S 12", "right", "end"]))
    path = folder / "mne.vhdr"
    mne.export.export_raw(path, raw, overwrite=True)
    again = read(path)
    near(path, again.get_data() * 1e6, x, 1e-4)
    told("by MNE", path, again, ["µV"] * 3)


def by_hand(folder, random):
    """The same numbers in every way a header can describe, read by MNE in the way it knows."""
    channels, n = 3, 800
    numbers = random.integers(-3000, 3000, (n, channels))
    base = """Brain Vision Data Exchange Header File Version 1.0
; written for a test
[Common Infos]
DataFile={base}.eeg
MarkerFile={base}.vmrk
DataFormat={form}
; a comment between
DataOrientation={orientation}
NumberOfChannels=3
DataPoints=800
SamplingInterval=4000
{infos}
[Channel Infos]
Ch1=C3,,0.1,µV
Ch2=a\\1b,Cz,0.5,
Ch3=C4,,,µV
[Comment]
SamplingInterval=1
"""
    marks = """Brain Vision Data Exchange Marker File, Version 1.0
[Common Infos]
DataFile=x.eeg
[Marker Infos]
; Mk<n>=type,description,position,size,channel
Mk1=New Segment,,1,1,0,20200101120000000000
Mk2=Stimulus,S  1,11,1,0
Mk3=Response,R128,401,20,2
Mk4=New Segment,,501,1,0,20200101130000000000
Mk5=Comment,a\\1b,601,1,0
Mk6=SyncStatus,Sync On,800,1,0
"""
    binary = "[Binary Infos]\nBinaryFormat={}"
    text = "[ASCII Infos]\nDecimalSymbol={}\nSkipLines={}\nSkipColumns={}"
    big = "\nUseBigEndianOrder=YES"
    cases = [
        ("int16", "MULTIPLEXED", binary.format("INT_16"), "<i2"),
        ("int32", "MULTIPLEXED", binary.format("INT_32"), "<i4"),
        ("float32", "MULTIPLEXED", binary.format("IEEE_FLOAT_32"), "<f4"),
        ("int16-vectors", "VECTORIZED", binary.format("INT_16"), "<i2"),
        ("int32-vectors", "VECTORIZED", binary.format("INT_32"), "<i4"),
        ("float32-vectors", "VECTORIZED", binary.format("IEEE_FLOAT_32"), "<f4"),
        ("int16-big", "MULTIPLEXED", binary.format("INT_16") + big, ">i2"),
        ("int32-big", "MULTIPLEXED", binary.format("INT_32") + big, ">i4"),
        ("float32-big-vectors", "VECTORIZED", binary.format("IEEE_FLOAT_32") + big, ">f4"),
        ("text", "MULTIPLEXED", text.format(".", 0, 0), None),
        ("text-comma", "MULTIPLEXED", text.format(",", 1, 1), None),
        ("text-vectors", "VECTORIZED", text.format(".", 0, 1), None),
    ]
    raw = None
    for name, orientation, infos, kind in cases:
        path = folder / f"hand-{name}.vhdr"
        # MNE does not know that `$b` is the header's own name.
        known = kind and ">" not in kind or name == "text"
        head = base.format(base=path.stem if known else "$b", form="BINARY" if kind else "ASCII", orientation=orientation, infos=infos)
        # Without a code page it is UTF-8 where that fits.
        path.write_text(head, encoding="utf-8")
        path.with_suffix(".vmrk").write_text(marks, encoding="utf-8")
        ordered = numbers if orientation == "MULTIPLEXED" else numbers.T
        if kind:
            path.with_suffix(".eeg").write_bytes(ordered.astype(kind).tobytes())
        else:
            column, line = ("t " if "SkipColumns=1" in infos else ""), ("time C3 a,b C4\n" if "SkipLines=1" in infos else "")
            body = line + "".join(column + " ".join(f"{value}.0" for value in row) + "\n" for row in ordered)
            path.with_suffix(".eeg").write_text(body.replace(".0", ",0") if "comma" in name else body)
        if known:
            raw = read(path)
            near(path, raw.get_data() * 1e6, numbers.T * np.array([[0.1], [0.5], [1.0]]), 1e-9)
        told(f"by hand: {name}", path, raw, ["µV"] * 3, stretches=[(0.0, 0, 500), (2.0, 500, 300)])

    # An old code page.
    path = folder / "ansi.vhdr"
    head = base.format(base="ansi", form="BINARY", orientation="MULTIPLEXED", infos=binary.format("INT_16"))
    head = head.replace("[Common Infos]", "[Common Infos]\nCodepage=ANSI").replace("C3,", "Größe\u2013,")
    path.write_text(head, encoding="cp1252")
    path.with_suffix(".vmrk").write_text(marks)
    path.with_suffix(".eeg").write_bytes(numbers.astype("<i2").tobytes())
    told("by hand: ANSI", path, read(path), ["µV"] * 3, stretches=[(0.0, 0, 500), (2.0, 500, 300)])

    # Renamed by hand, as in BIDS: the header still names the old files.
    path = folder / "renamed.vhdr"
    old = (folder / "int16.vhdr").read_text(encoding="utf-8")
    for ending in [".eeg", ".vmrk"]:
        path.with_suffix(ending).write_bytes((folder / f"int16{ending}").read_bytes())
    path.write_text(re.sub(r"(DataFile|MarkerFile)=int16", r"\1=old", old), encoding="utf-8")
    told("by pybv: renamed", path, read(folder / "int16.vhdr"), ["µV"] * 8)


def make(folder, random):
    by_pybv(folder, random)
    by_mne(folder, random)
    by_hand(folder, random)
