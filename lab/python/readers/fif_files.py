"""FIF by MNE: recordings and trials.

What MNE does otherwise, and is not followed in: samples that were not recorded come as zeros, here as a gap.
"""

import datetime

import mne
import numpy as np

from telling import near, noise, recording, signal

NAMES = ["Fp1", "C3..", "a long name of more than fifteen letters", "P 3", "EOG left", "EMG", "respiration", "STI 014"]
TYPES = ["eeg", "eeg", "eeg", "eeg", "eog", "emg", "misc", "stim"]
VOLTS = {"eeg", "eog", "emg", "ecg"}
DATE = datetime.datetime(2020, 1, 1, 12, 0, tzinfo=datetime.timezone.utc)


def made(random, rate, seconds, date=DATE):
    """A recording with triggers, and no annotations yet."""
    n = int(rate * seconds)
    x = noise(random, len(NAMES), n)
    x[6] /= 100
    x[7] = 0
    for onset in range(50, n - 20, 90):
        x[7, onset : onset + 5] = int(random.integers(1, 200))
    volts = np.array([[1e-6 if kind in VOLTS else 1.0] for kind in TYPES])
    raw = mne.io.RawArray(x * volts, mne.create_info(NAMES, rate, TYPES), verbose=False)
    raw.set_meas_date(date)
    return raw


def told(title, path, raw, keep=None, marks=None, stretches=None):
    """What MNE read; of all samples those to keep."""
    keep = slice(None) if keep is None else keep
    signals = []
    for name, kind, values in zip(raw.ch_names, raw.get_channel_types(), raw.get_data()[:, keep], strict=True):
        signals.append(signal(name, raw.info["sfreq"], values * 1e6 if kind in VOLTS else values, kind in VOLTS))
    if marks is None:
        found = raw.annotations
        marks = [(float(o - raw.first_time), float(d), str(t)) for o, d, t in zip(found.onset, found.duration, found.description)]
    recording(f"FIF by MNE: {title}", path, signals, marks, stretches)


def annotated(raw, dated=True):
    """With annotations, on the clock of the recording or on their own."""
    orig = raw.info["meas_date"] if dated else None
    first = raw.first_time if dated and orig else 0.0
    onset = first + np.array([0.5, 1.25, 3.004])
    raw.set_annotations(mne.Annotations(onset, [0.0, 0.75, 1.0], ["left", "Größe; b", "BAD muscle"], orig_time=orig))
    return raw


def recordings(folder, random):
    for fmt, precision in [("single", 1e-6), ("double", 1e-12), ("int", 1e-6), ("short", 1e-3)]:
        raw = annotated(made(random, 200.0, 6))
        if fmt in ["int", "short"]:
            # Whole numbers need a scale, which only files that were read have.
            for channel in raw.info["chs"]:
                channel["cal"] = 1.0 if channel["kind"] == mne.io.constants.FIFF.FIFFV_STIM_CH else 1e-9 if fmt == "int" else 1e-7
            raw._cals = np.array([channel["cal"] for channel in raw.info["chs"]])
        path = folder / f"{fmt}_raw.fif"
        raw.save(path, fmt=fmt, overwrite=True)
        again = mne.io.read_raw_fif(path, preload=True)
        if fmt in ["single", "double"]:
            near(path, again.get_data(), raw.get_data(), precision * np.abs(raw.get_data()).max(axis=1) + 1e-30)
        told(fmt, path, again)

    for rate in [512.820512, 62.5, 1000.0]:
        path = folder / f"rate{rate:g}_raw.fif"
        annotated(made(random, rate, 6)).save(path, overwrite=True, buffer_size_sec=0.37)
        told(f"{rate} Hz", path, mne.io.read_raw_fif(path, preload=True))

    for name, date, dated in [("dated", DATE, True), ("half-dated", DATE, False), ("dateless", None, False)]:
        # The first sample is not the amplifier's first.
        raw = made(random, 100.0, 10, date).crop(tmin=2.5)
        path = folder / f"crop-{name}_raw.fif"
        annotated(raw, dated).save(path, overwrite=True)
        told(f"cropped, {name}", path, mne.io.read_raw_fif(path, preload=True))

    raw = made(random, 100.0, 6)
    path = folder / "triggers_raw.fif"
    raw.save(path, overwrite=True)
    again = mne.io.read_raw_fif(path, preload=True)
    events = mne.find_events(again, "STI 014", consecutive="increasing", shortest_event=1)
    told("triggers", path, again, marks=[(sample / 100.0, 0.0, str(code)) for sample, _, code in events])

    raw = annotated(made(random, 100.0, 6))
    raw.info["bads"] = ["C3..", NAMES[2]]
    path = folder / "bads_raw.fif"
    raw.save(path, overwrite=True)
    told("bad channels", path, mne.io.read_raw_fif(path, preload=True))

    raw = mne.concatenate_raws([annotated(made(random, 100.0, 4)), annotated(made(random, 100.0, 5))])
    path = folder / "joined_raw.fif"
    raw.save(path, overwrite=True)
    told("two joined", path, mne.io.read_raw_fif(path, preload=True), stretches=[(0.0, 0, 400), (4.0, 400, 500)])

    raw = made(random, 100.0, 10)
    raw.set_annotations(mne.Annotations([0.5, 3.0, 8.25], [0.0, 2.0, 0.5], ["left", "BAD_ACQ_SKIP", "right"], orig_time=DATE))
    path = folder / "skip_raw.fif"
    raw.save(path, overwrite=True, buffer_size_sec=1.0)
    keep = np.r_[0:300, 500:1000]
    marks = [(0.5, 0.0, "left"), (3.0, 2.0, "BAD_ACQ_SKIP"), (8.25, 0.5, "right")]
    told("a skip", path, mne.io.read_raw_fif(path, preload=True), keep, marks, [(0.0, 0, 300), (5.0, 300, 500)])


    # Split: MNE leaves a megabyte of each file empty.
    raw = annotated(made(random, 500.0, 200))
    for naming, name in [("neuromag", "split_raw.fif"), ("bids", "split_eeg.fif")]:
        path = folder / name
        raw.save(path, split_size="2MB", buffer_size_sec=1.0, split_naming=naming, overwrite=True)
        path = folder / "split_split-01_eeg.fif" if naming == "bids" else path
        again = mne.io.read_raw_fif(path, preload=True)
        assert len(again.filenames) > 2, again.filenames
        told(f"split, {naming}", path, again)
    path = folder / "packed_raw.fif.gz"
    annotated(made(random, 100.0, 6)).save(path, overwrite=True)
    told("packed", path, mne.io.read_raw_fif(path, preload=True))


def trials(folder, random):
    for name, fmt, rate, tmin, decim in [("single", "single", 100.0, -0.2, 1), ("double", "double", 250.0, 0.0, 1), ("later", "single", 200.0, 0.5, 2)]:
        raw = made(random, rate, 30)
        count = 12
        events = np.c_[np.arange(count) * int(2 * rate) + int(rate), np.zeros(count, int), random.integers(1, 4, count)]
        events = events.astype(int)
        events[:3, 2] = [1, 2, 3]
        names = {"left": 1, "right/foot:a": 2, "Größe": 3}
        epochs = mne.Epochs(raw, events, names, tmin, tmin + 1.1, baseline=None, preload=True, decim=decim)
        path = folder / f"{name}-epo.fif"
        epochs.save(path, fmt=fmt, overwrite=True)
        again = mne.read_epochs(path)
        x, rate = again.get_data(), again.info["sfreq"]
        samples = x.shape[2]
        signals = [
            signal(n, rate, x[:, i] * 1e6 if kind in VOLTS else x[:, i], kind in VOLTS)
            for i, (n, kind) in enumerate(zip(again.ch_names, again.get_channel_types()))
        ]
        for each in signals:
            each["values"] = np.ravel(each["values"])
        begin = (again.events[:, 0] - again.events[0, 0]) / raw.info["sfreq"]
        stretches = [(b, i * samples, samples) for i, b in enumerate(begin)]
        codes = [{v: k for k, v in again.event_id.items()}[code] for code in again.events[:, 2]]
        marks = [(b - again.tmin, 0.0, code) for b, code in zip(begin, codes)]
        epochs = {"samples": samples, "start_s": float(again.tmin), "codes": codes}
        recording(f"FIF by MNE: trials, {name}", path, signals, marks, stretches, epochs)


def make(folder, random):
    recordings(folder, random)
    trials(folder, random)
