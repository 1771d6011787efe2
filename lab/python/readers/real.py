"""Real recordings: samples and annotations as pyedflib reads them, trials as MNE and SciPy cut them.

    python real.py samples DATA
    python real.py trials DATA

DATA holds `physionet-mi` (motor imagery) and `p300-8ch` (a speller).
"""

import pathlib
import shutil
import sys
import warnings

import mne
import numpy as np
import pyedflib
import scipy.io
import scipy.signal

from pipeline import cut
from telling import recording, signal, tell

warnings.simplefilter("ignore")
DATA = pathlib.Path(sys.argv[2])
ROOT = DATA / "physionet-mi"
RUNS = [4, 8, 12]


def samples(path):
    """One count is one microvolt, so every value has single precision exactly."""
    with pyedflib.EdfReader(str(path)) as file:
        signals = [signal(file.getLabel(i), file.getSampleFrequency(i), file.readSignal(i)) for i in range(file.signals_in_file)]
        onset, duration, text = file.readAnnotations()
    marks = [(o, max(d, 0.0), str(t)) for o, d, t in zip(onset, duration, text)]
    recording("PhysioNet by pyedflib", path, signals, marks, exact=True)


def trials(subject):
    """What the pipeline `broadband` documents, by MNE and SciPy."""
    found, told = [], []
    for run in RUNS:
        raw = mne.io.read_raw_edf(ROOT / f"S{subject:03}/S{subject:03}R{run:02}.edf", preload=True)
        rate = raw.info["sfreq"]
        sections = scipy.signal.butter(4, [0.5, 45], "bandpass", output="sos", fs=rate)
        raw.apply_function(lambda x: scipy.signal.sosfiltfilt(sections, x))
        events, _ = mne.events_from_annotations(raw, {"T1": 1, "T2": 2})
        cues = events[:, 0].copy()
        # MNE resamples in another way. The first sample stands for the level, which must not ring at the ends.
        x = raw.get_data() * 1e6
        x = scipy.signal.resample_poly(x - x[:, :1], 5, 8, axis=1) + x[:, :1]
        slow = mne.io.RawArray(x, mne.create_info(raw.ch_names, rate * 5 / 8, "eeg"), verbose=False)
        events[:, 0] = np.floor(cues * 5 / 8 + 0.5)
        epochs = mne.Epochs(slow, events, tmin=0, tmax=4 - 1 / slow.info["sfreq"], baseline=None, preload=True)
        for i, x in zip(epochs.selection, epochs.get_data()):
            found.append(x / x.std())
            name = {1: "left_hand", 2: "right_hand"}[int(events[i, 2])]
            told.append({"class": name, "session": 1, "run": run, "cue_s": float(cues[i] / rate)})
    head = {
        "title": f"PhysioNet S{subject:03} by MNE", "id": "physionet-mi", "root": str(ROOT), "with": [], "subject": subject,
        "pipeline": None, "channels": slow.ch_names, "classes": ["left_hand", "right_hand"], "rate_hz": float(slow.info["sfreq"]),
        "start_s": 0.0, "trials": told,
    }
    tell(head, *found)


def flashes(path):
    """What `docs/p300-8ch.toml` says of a file of MATLAB, by SciPy."""
    file = scipy.io.loadmat(path)
    rate, trigger = float(file["fs"].item()), file["trig"].ravel()
    cues = np.flatnonzero(trigger)
    values, kept = cut(file["y"].T, rate, cues, (-0.2, 0.8), band=[0.5, 40], to=100.0, baseline=(-0.2, 0.0))
    names = {1: "target", -1: "nontarget"}
    told = [{"class": names[int(trigger[c])], "session": 1, "run": 1, "cue_s": c / rate} for c in cues[kept]]
    head = {
        "title": f"P300 {path.stem} by SciPy", "id": "files:p300-8ch.toml", "root": str(path.parent), "with": [],
        "subject": int(path.stem[1:]), "pipeline": None, "channels": [f"ch{i + 1}" for i in range(8)], "classes": ["target", "nontarget"],
        "rate_hz": 100.0, "start_s": -0.2, "trials": told,
    }
    tell(head, *values)


if sys.argv[1] == "samples":
    for path in sorted(ROOT.glob("*/*.edf")):
        samples(path)
else:
    for folder in sorted(ROOT.glob("S*")):
        trials(int(folder.name[1:]))
    shutil.copy("docs/p300-8ch.toml", DATA / "p300-8ch")
    for path in sorted((DATA / "p300-8ch").glob("S*.mat")):
        flashes(path)
