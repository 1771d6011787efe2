"""Neuroscan's `.cnt` by hand, read by MNE.

What MNE does otherwise, and is not followed in: where events count samples (tables of type 3) it takes the bytes of the header off their
sample, which Neuroscan's own program does not; channels with names of five letters and more are bad to it.
"""

import struct

import mne
import numpy as np

from telling import near, noise, recording, signal

NAMES = ["FP1", "C3", "A_NAME", "VEO", "EKG", "OZ"]


def write(path, numbers, rate, scales, events, table, width=2, block=0, said=True):
    """Stored numbers `[channels, samples]`; (sensitivity, calibration, baseline) of each; events are (sample, trigger, key, pad)."""
    channels, samples = numbers.shape
    start = 900 + 75 * channels
    end = start + channels * samples * width
    head = bytearray(900)
    head[:11] = b"Version 3.0"
    head[121:127] = b"Secret"
    head[225:247] = b"01/02/2003" + b"04:05:06    "
    struct.pack_into("<H", head, 370, channels)
    struct.pack_into("<H", head, 376, rate)
    struct.pack_into("<i", head, 864, samples if said else 0)
    struct.pack_into("<i", head, 886, end)
    struct.pack_into("<f", head, 890, samples / rate)
    struct.pack_into("<i", head, 894, block * width)
    for name, (sensitivity, calibration, baseline) in zip(NAMES, scales, strict=True):
        channel = bytearray(75)
        channel[: len(name)] = name.encode()
        struct.pack_into("<h", channel, 47, baseline)
        struct.pack_into("<f", channel, 59, sensitivity)
        struct.pack_into("<f", channel, 71, calibration)
        head += channel
    blocks = numbers.reshape(channels, -1, max(block, 1)).transpose(1, 0, 2)
    stored = blocks.astype("<i2" if width == 2 else "<i4").tobytes()
    # Events are counted from 1.
    entries = b""
    for sample, trigger, key, pad in events:
        place = sample + 1 if table == 3 else start + (sample + 1) * channels * width
        entries += struct.pack("<HBBI", trigger, key, pad, place)
        entries += b"" if table == 1 else struct.pack("<hhfBBB", 0, 0, 0.0, 0, 0, 0)
    path.write_bytes(head + stored + struct.pack("<Bii", table, len(entries), 0) + entries)


def make(folder, random):
    for name, width, block, table in [("16", 2, 0, 1), ("32", 4, 0, 2), ("blocks", 4, 40, 2), ("samples", 2, 1, 3)]:
        rate, samples = 250, 2000
        scales = [(20.0 + i, 1.0 + 0.01 * i, 7 * i - 10) for i in range(len(NAMES))]
        gains = np.array([[s * c / 204.8] for s, c, _ in scales])
        base = np.array([[b] for *_, b in scales])
        x = noise(random, len(NAMES), samples)
        numbers = np.round(x / gains + base).astype(int)
        events = [(100, 5, 0, 0), (340, 255, 0, 0), (600, 1, 3, 0), (900, 2, 0, 4), (1999, 65535, 0, 0)]
        path = folder / f"{name}.cnt"
        write(path, numbers, rate, scales, events, table, width, block)
        raw = mne.io.read_raw_cnt(path, preload=True)
        near(path, raw.get_data() * 1e6, x, gains[:, 0])
        signals = [signal(label, rate, row * 1e6) for label, row in zip(NAMES, raw.get_data(), strict=True)]
        found = [(float(o), float(d), str(t)) for o, d, t in zip(*(getattr(raw.annotations, k) for k in ["onset", "duration", "description"]))]
        if table == 3:
            found = [(sample / rate, 0.0, text) for (sample, *_), (_, _, text) in zip(events, found, strict=True)]
        recording(f"CNT of Neuroscan: {name}", path, signals, found)
