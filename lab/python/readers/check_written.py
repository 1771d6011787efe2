"""Reads what the other side wrote, and tells what differs.

    python check_written.py FOLDER
"""

import pathlib
import sys
import warnings

import edfio
import mne
import numpy as np
import pyedflib
import scipy.io

from telling import tell
from values import describe, difference

warnings.simplefilter("ignore")
folder = pathlib.Path(sys.argv[1])


def compare(title, path, check, *given):
    """Tells whether a check passed."""
    try:
        check(path, *given)
        wrong = None
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    tell({"title": title, "file": str(path), "wrong": wrong})


def archive(path, original):
    with np.load(original) as wanted, np.load(path) as found:
        assert sorted(found.files) == sorted(wanted.files), found.files
        for name in wanted.files:
            a, b = found[name], wanted[name]
            assert a.dtype.kind == b.dtype.kind and a.shape == b.shape, f"{name}: {a.dtype} {a.shape}, not {b.dtype} {b.shape}"
            assert a.dtype.kind == "U" or a.dtype == b.dtype, f"{name}: {a.dtype}, not {b.dtype}"
            same = np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
            assert same and (a.dtype.kind != "f" or np.array_equal(np.signbit(a), np.signbit(b))), f"{name}: {a}, not {b}"


class Wanted:
    """A recording as it was given."""

    def __init__(self, path):
        with np.load(path.with_suffix(".npz")) as given, np.load(path.with_suffix(".padding")) as told:
            self.x, self.rate = given["samples"].astype("f8"), float(given["rate_hz"])
            self.names, self.volts = given["names"].tolist(), given["microvolts"]
            self.at, self.lasts, self.texts = given["at"], given["lasts"], given["texts"].tolist()
            self.breaks, padding = given["breaks"].tolist(), told["padding"].reshape(-1, 2).astype(int)
        self.padding = np.concatenate([np.arange(a, b) for a, b in padding]) if len(padding) else np.zeros(0, int)

    def signals(self, names, rate, found, quantum):
        """Holds signals, in the file's units, to half of what their numbers can tell apart."""
        assert list(names) == self.names, names
        assert abs(rate - self.rate) <= 1e-7 * self.rate, f"{rate} Hz, not {self.rate} Hz"
        found = np.delete(np.asarray(found), self.padding, axis=1)
        assert found.shape == self.x.shape, f"{found.shape}, not {self.x.shape}"
        # Numbers of headers and of samples are themselves rounded.
        allowed = 0.5 * np.asarray(quantum)[:, None] * (1 + 1e-6) + 2e-7 * np.abs(self.x).max(axis=1, keepdims=True)
        worst = np.max(np.abs(found - self.x) / allowed)
        assert worst <= 1, f"samples are off by {worst:.3f} times half a quantum"

    def marks(self, found, end=np.inf):
        """Holds events, (onset, duration, text), to half a sample; none is said to last longer than until `end`.

        Time goes on in gaps: only what is between them is compared.
        """
        found = sorted((o, t, d) for o, d, t in found)
        wanted = sorted(zip(self.at, self.texts, self.lasts))
        assert len(found) == len(wanted), f"{len(found)} events, not {len(wanted)}"
        starts = {t: o for o, t, _ in found if t.startswith("stretch ")}
        bounds = [0, *self.breaks]
        for (onset, text, lasts), (at, wanted_text, samples) in zip(found, wanted):
            stretch = int(np.searchsorted(bounds, at, side="right")) - 1
            place = (onset - starts[f"stretch {stretch}"]) * self.rate + bounds[stretch]
            assert text == wanted_text, f"{text!r}, not {wanted_text!r}"
            assert abs(place - at) < 0.5, f"{text!r} at sample {place}, not {at}"
            samples = min(samples, end - at)
            assert abs(lasts * self.rate - samples) < 0.5, f"{text!r} lasts {lasts * self.rate} samples, not {samples}"
        gaps = [starts[f"stretch {i + 1}"] - starts[f"stretch {i}"] for i in range(len(self.breaks))]
        assert all(g * self.rate > n + 0.5 for g, n in zip(gaps, np.diff(bounds))), f"no gaps between {starts}"


def by_pyedflib(path, wanted):
    with pyedflib.EdfReader(str(path)) as file:
        count = file.signals_in_file
        quantum = [
            (file.getPhysicalMaximum(i) - file.getPhysicalMinimum(i)) / (file.getDigitalMaximum(i) - file.getDigitalMinimum(i))
            for i in range(count)
        ]
        units = [file.getPhysicalDimension(i) for i in range(count)]
        assert units == ["uV" if volts else "" for volts in wanted.volts], units
        x = [file.readSignal(i) for i in range(count)]
        wanted.signals(file.getSignalLabels(), file.getSampleFrequency(0), x, np.abs(quantum))
        onset, duration, text = file.readAnnotations()
        wanted.marks(zip(onset, np.maximum(duration, 0), [str(t) for t in text]))


def by_edfio(path, wanted):
    file = edfio.read_edf(path)
    quantum = [abs(s.physical_max - s.physical_min) / (s.digital_max - s.digital_min) for s in file.signals]
    # What edfio calls the rate is rounded; the length of a record is not.
    rate = file.signals[0].samples_per_data_record / file.data_record_duration
    wanted.signals(file.labels, rate, [s.data for s in file.signals], quantum)
    wanted.marks([(a.onset, a.duration or 0.0, a.text) for a in file.annotations])


def by_mne(path, wanted):
    raw = mne.io.read_raw_edf(path, preload=True)
    x = raw.get_data() * np.where(wanted.volts, 1e6, 1.0)[:, None]
    extras = raw._raw_extras[0]
    quantum = (extras["physical_max"] - extras["physical_min"]) / (extras["digital_max"] - extras["digital_min"])
    wanted.signals(raw.ch_names, raw.info["sfreq"], x, np.abs(quantum[: len(x)]))
    # A recording in memory has what lies in its time, less what reaches past its end; alone, annotations are looked for in samples too.
    found = mne.read_annotations(path) if wanted.breaks else raw.annotations
    end = np.inf if wanted.breaks else raw.n_times
    wanted.marks(zip(found.onset, found.duration, [str(t) for t in found.description]), end)


def variables(path, original):
    """MATLAB values are compared by what SciPy reads in both files."""
    read = lambda path: {k: v for k, v in scipy.io.loadmat(path, mat_dtype=False).items() if not k.startswith("__")}
    found, wanted = read(path), read(original)
    assert sorted(found) == sorted(wanted), sorted(found)
    # SciPy cannot read characters of two units, which MATLAB writes as they are here.
    wanted.pop("beyond", None)
    for name, value in wanted.items():
        wrong = difference(describe(found[name]), describe(value), name)
        assert wrong is None, wrong
        if value.dtype.kind in "iufb" and value.dtype.names is None:
            assert found[name].dtype == value.dtype, f"{name}: {found[name].dtype}, not {value.dtype}"


def epochs(path, original, scale):
    """Epochs of 40 samples from the recording, two classes in turn, three people."""
    with np.load(original) as given:
        x, rate, names = given["samples"].astype("f8"), float(given["rate_hz"]), given["names"].tolist()
    count = x.shape[1] // 40
    wanted = x[:, : 40 * count].reshape(len(x), count, 40).transpose(1, 0, 2)
    found = mne.read_epochs(path)
    assert found.ch_names == names, found.ch_names
    assert found.get_channel_types(unique=True) == ["eeg"], found.get_channel_types(unique=True)
    assert abs(found.info["sfreq"] - rate) <= 1e-7 * rate, f"{found.info['sfreq']} Hz, not {rate} Hz"
    assert abs(found.tmin * rate + 3) < 1e-3 and len(found.times) == 40, f"{found.tmin} s, {len(found.times)} samples"
    assert found.event_id == {"left/hand": 1, "r\u00e9st: \u03b1": 2}, found.event_id
    assert found.events[:, 2].tolist() == [i % 2 + 1 for i in range(count)]
    worst = np.abs(found.get_data() - scale * wanted).max() / (scale * np.abs(wanted).max())
    assert worst < 1e-6, f"samples are off by {worst:g}"
    # Without pandas it is a list of rows.
    rows = found.metadata if isinstance(found.metadata, list) else found.metadata.to_dict("records")
    names = ["left/hand", "r\u00e9st: \u03b1"]
    for i, row in enumerate(rows):
        wanted = {"subject": 3 * i // count + 1, "session": 1, "run": i % 3 + 1, "label": names[i % 2], "cue_s": i / 3}
        assert list(row.items()) == list(wanted.items()), f"{row}, not {wanted}"
    assert len(rows) == count, len(rows)


for original in sorted((folder / "written").glob("*.npz")):
    for way, scale in [("volts", 1e-6), ("plain", 1.0)]:
        path = original.with_suffix(f".{way}-epo.fif")
        if path.exists():
            compare(f"FIF epochs by MNE, {way}", path, epochs, original, scale)
    for way in ["stored", "deflated"]:
        compare(f"NPZ by NumPy, {way}", original.with_suffix(f".npz-{way}"), archive, original)
    path = original.with_suffix(".edf")
    if path.exists():
        wanted = Wanted(path)
        # pyedflib and edfio refuse gaps.
        readers = [by_mne] if wanted.breaks else [by_pyedflib, by_edfio, by_mne]
        for reader in readers:
            compare(f"EDF+ {reader.__name__.replace('_', ' ')}", path, reader, wanted)
for original in sorted((folder / "mat").glob("*.mat")):
    # SciPy does not read v7.3, but the same values are in another file.
    same = original.with_name(original.name.split("-v73")[0] + "-plain.mat") if "-v73" in original.name else original
    compare("MATLAB by SciPy", folder / "written" / original.name, variables, same)
