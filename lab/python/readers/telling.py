"""What the other side is to find: a line of JSON and the numbers it speaks of, on standard output.

A line says in `values` how many little-endian doubles follow it. Whatever else prints goes to standard error.
"""

import json
import os
import sys

import mne
import numpy as np

mne.set_log_level("ERROR")
_out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)


def tell(head, *arrays):
    """Says one thing."""
    values = np.concatenate([np.ravel(array).astype("<f8") for array in arrays]) if arrays else np.zeros(0)
    _out.write(json.dumps(head | {"values": values.size}, allow_nan=False).encode() + b"\n")
    _out.write(values.tobytes())
    _out.flush()


def signal(name, rate_hz, values, microvolts=True):
    """One signal of a recording, in microvolts or in the unit of the file."""
    return {"name": name, "rate_hz": float(rate_hz), "microvolts": microvolts, "values": np.asarray(values, "f8")}


def mark(onset_s, duration_s, text, rate_hz, stretches):
    """One event, with the sample it is at. `stretches` are (start in seconds, first sample, samples)."""
    sample = None
    for start_s, first, samples in stretches:
        place = int(np.floor((onset_s - start_s) * rate_hz + 0.5))
        if 0 <= place < samples:
            sample = first + place
    return {"onset_s": float(onset_s), "duration_s": float(duration_s), "text": text, "sample": sample}


def recording(title, path, signals, marks, stretches=None, epochs=None, exact=False):
    """Tells what a file holds. `marks` are (onset, duration, text) in seconds; `exact` is for samples of single precision."""
    rate_hz, samples = signals[0]["rate_hz"], len(signals[0]["values"])
    stretches = [[float(start), first, n] for start, first, n in stretches or [(0.0, 0, samples)]]
    marks = sorted((mark(*each, rate_hz, stretches) for each in marks), key=lambda m: (m["onset_s"], m["text"]))
    heads = [{k: v for k, v in s.items() if k != "values"} | {"samples": len(s["values"])} for s in signals]
    head = {"title": title, "file": str(path), "signals": heads, "marks": marks, "stretches": stretches, "epochs": epochs}
    tell(head | {"exact": exact}, *[s["values"] for s in signals])


def annotations(path):
    """Onset, duration and text of what MNE finds in a file. What a recording in memory has is shortened to the recording's end."""
    found = mne.read_annotations(path)
    return [(float(o), float(d), str(t)) for o, d, t in zip(found.onset, found.duration, found.description)]


def from_mne(title, path, raw, names=None, other=(), marks=None, stretches=None):
    """Tells what MNE read. `names` are those of the file where MNE changes them; `other` are no voltages."""
    names = names or raw.ch_names
    assert len(names) == len(raw.ch_names), (title, names, raw.ch_names)
    signals = []
    for name, values in zip(names, raw.get_data()):
        volts = name not in other
        signals.append(signal(name, raw.info["sfreq"], values * 1e6 if volts else values, volts))
    recording(title, path, signals, annotations(path) if marks is None else marks, stretches)


def noise(random, channels, samples, scale=40.0):
    """Signals that differ from channel to channel and have no two equal samples: noise on a drift, in microvolts."""
    drift = np.cumsum(random.standard_normal((channels, samples)), axis=1)
    return scale * random.standard_normal((channels, samples)) + drift + scale * random.standard_normal((channels, 1))


def near(title, read, wrote, quantum):
    """Holds a peer to what was written, so that both sides cannot be wrong together."""
    read, wrote = np.asarray(read, "f8"), np.asarray(wrote, "f8")
    assert read.shape == wrote.shape, (title, read.shape, wrote.shape)
    worst = np.max(np.abs(read - wrote) / np.reshape(quantum, (-1, 1))) if read.size else 0.0
    assert worst <= 1.0, f"{title}: what was read differs from what was written by {worst:.3g} of what it may"
