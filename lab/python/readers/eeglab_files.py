"""EEGLAB data sets by MNE and eeglabio, and in EEGLAB's own layout by SciPy and h5py, read by MNE.

What MNE does otherwise, and is not followed in: `boundary` is an annotation to it, here it is a gap as long as its duration says; of
several events in a trial MNE joins all names, here the one nearest to the cue counts.
"""

import eeglabio
import mne
import numpy as np
import scipy.io

import mat73
from telling import annotations, from_mne, near, noise, recording, signal

NAMES = ["Fp1", "C3..", "a long name of more than fifteen letters", "Größe", "VEOG", "ECG"]
TYPES = ["EEG", "EEG", "", "EEG", "EOG", "ECG"]


def records(**fields):
    """A struct array, a row of as many as there are values."""
    array = np.empty((1, len(next(iter(fields.values())))), [(name, object) for name in fields])
    for name, values in fields.items():
        for i, each in enumerate(values):
            array[name][0, i] = each if isinstance(each, (str, np.ndarray)) else np.array([[float(each)]])
    return array


def cell(values):
    array = np.empty((1, len(values)), object)
    for i, each in enumerate(values):
        array[0, i] = each
    return array


def dataset(x, rate, xmin=0.0, **more):
    """The struct as `pop_saveset` writes it, less what nobody reads. `x` is channels by samples, or by samples by trials."""
    whole = lambda n: np.array([[float(n)]])
    trials = x.shape[2] if x.ndim == 3 else 1
    places = np.linspace(-1, 1, x.shape[0])
    return {
        "setname": "a test", "filename": "x.set", "subject": "", "comments": np.array(["two", "row"]),
        "nbchan": whole(x.shape[0]), "trials": whole(trials), "pnts": whole(x.shape[1]), "srate": whole(rate),
        "xmin": whole(xmin), "xmax": whole(xmin + (x.shape[1] - 1) / rate), "times": np.zeros((0, 0)),
        "data": x.astype("f4"), "icaact": np.zeros((0, 0)), "icawinv": np.zeros((0, 0)),
        "chanlocs": records(labels=NAMES, type=TYPES, X=places, Y=-places, Z=np.abs(places), urchan=range(1, 7)),
        "ref": "common", "history": "EEG = eeg_checkset( EEG );",
    } | more


def ways(folder, name, eeg):
    """The same data set in every layout."""
    data = eeg["data"]

    def save(way, write):
        path = folder / f"{name}-{way}.set"
        write(path)
        return way, path

    def beside(path):
        path.with_suffix(".fdt").write_bytes(data.astype("<f4").tobytes(order="F"))
        scipy.io.savemat(path, {"EEG": eeg | {"data": path.with_suffix(".fdt").name}})

    yield save("plain", lambda path: scipy.io.savemat(path, {"EEG": eeg}))
    yield save("packed", lambda path: scipy.io.savemat(path, {"EEG": eeg}, do_compression=True))
    yield save("double", lambda path: scipy.io.savemat(path, {"EEG": eeg | {"data": data.astype("f8")}}))
    yield save("fields", lambda path: scipy.io.savemat(path, eeg))
    yield save("fdt", beside)
    yield save("v73", lambda path: mat73.save(path, {"EEG": eeg}))
    yield save("v73-packed", lambda path: mat73.save(path, {"EEG": eeg}, compression=3, chunks=True))
    yield save("v73-fields", lambda path: mat73.save(path, eeg))


def continuous(folder, random):
    rate, n = 250.0, 2000
    x = noise(random, 6, n)
    latency = [1.0, 101.0, 350.25, 900.75, 1501.0, 2000.0]
    for name, kind in [("text", ["left", "right", "S  1", "Größe", "x y", "end"]), ("numbers", [1, 2, 769, 2, 1, 32766])]:
        events = records(type=kind, latency=latency, duration=[0, 50, 0.5, 0, 125, 0], urevent=range(1, 7))
        for way, path in ways(folder, name, dataset(x, rate, event=events)):
            raw = mne.io.read_raw_eeglab(path, preload=True)
            near(path, raw.get_data() * 1e6, x, 1e-6 * np.abs(x).max(axis=1))
            # MNE writes whole numbers as `1.0`.
            marks = [(o, d, t.removesuffix(".0")) for o, d, t in annotations(path)]
            from_mne(f"EEGLAB by hand: {name}, {way}", path, raw, marks=marks)

    # Two parts joined, 100 samples taken out between; another where nobody says how many.
    events = records(
        type=["left", "boundary", "right", "boundary", "left"], latency=[10.0, 500.5, 600.0, 1200.5, 1300.0],
        duration=[0, 100, 25, np.zeros((0, 0)), 0],
    )
    for way, path in ways(folder, "gaps", dataset(x, rate, event=events)):
        raw = mne.io.read_raw_eeglab(path, preload=True)
        stretches = [(0.0, 0, 500), (600 / rate, 500, 700), (1300 / rate, 1200, 800)]
        marks = [(9 / rate, 0.0, "left"), (699 / rate, 25 / rate, "right"), (1399 / rate, 0.0, "left")]
        from_mne(f"EEGLAB by hand: gaps, {way}", path, raw, marks=marks, stretches=stretches)


def trials(folder, random):
    rate, points, count, xmin = 100.0, 150, 8, -0.5
    x = noise(random, 6, points * count)
    cube = x.reshape(6, count, points).transpose(0, 2, 1)
    kinds = ["left", "right", "Größe", "left", "right", "right", "left", "left"]
    latency = [k * points + 51.0 for k in range(count)]
    events = records(type=kinds, latency=latency, duration=[0] * count, epoch=range(1, count + 1))
    epoch = records(event=range(1, count + 1), eventlatency=[0] * count, eventtype=kinds, eventduration=[0] * count)
    for way, path in ways(folder, "trials", dataset(cube, rate, xmin, event=events, epoch=epoch)):
        told(f"by hand: trials, {way}", path, xmin, kinds)

    # Several events in a trial, types that are numbers: the one at the cue counts.
    kinds = [[7, 1], [2, 9], [1], [8, 2], [2], [1, 7], [7, 2], [1]]
    times = [[-300, 0], [0, 400], [0], [-450, 0], [0], [0, 900], [-10, 0], [0]]
    rows = [(kind, k * points + 51.0 + ms / 10, k + 1) for k in range(count) for kind, ms in zip(kinds[k], times[k])]
    events = records(type=[r[0] for r in rows], latency=[r[1] for r in rows], duration=[0] * len(rows), epoch=[r[2] for r in rows])
    listed = lambda values: values[0] if len(values) == 1 else cell([np.array([[float(v)]]) for v in values])
    epoch = records(event=range(1, count + 1), eventlatency=[listed(t) for t in times], eventtype=[listed(k) for k in kinds])
    codes = [str(kind[time.index(0)]) for kind, time in zip(kinds, times)]
    for way, path in ways(folder, "several", dataset(cube, rate, xmin, event=events, epoch=epoch)):
        told(f"by hand: several events in a trial, {way}", path, xmin, codes)


def told(title, path, xmin, codes):
    """Trials as MNE reads them."""
    epochs = mne.read_epochs_eeglab(path)
    x, rate = epochs.get_data() * 1e6, epochs.info["sfreq"]
    samples = x.shape[2]
    names = {code: name for name, code in epochs.event_id.items()}
    # MNE writes whole numbers as `1.0`.
    names = {code: name.replace(".0", "") for code, name in names.items()}
    assert all(code in names[found].split("/") for code, found in zip(codes, epochs.events[:, 2], strict=True)), names
    signals = [signal(name, rate, np.ravel(x[:, i])) for i, name in enumerate(epochs.ch_names)]
    stretches = [(k * samples / rate, k * samples, samples) for k in range(len(x))]
    marks = [(o, d, t.removesuffix(".0")) for o, d, t in annotations(path)]
    recording(f"EEGLAB {title}", path, signals, marks, stretches, {"samples": samples, "start_s": xmin, "codes": codes})


def by_others(folder, random):
    info = mne.create_info(["Fp1", "C3", "Cz", "O2"], 128.5, "eeg")
    x = noise(random, 4, 1000)
    raw = mne.io.RawArray(x * 1e-6, info, verbose=False)
    raw.set_montage("standard_1020")
    raw.set_annotations(mne.Annotations([0.5, 1.25, 6.0], [0.0, 0.75, 1.0], ["left", "right, 1", "left"]))
    path = folder / "mne.set"
    mne.export.export_raw(path, raw, overwrite=True)
    from_mne("EEGLAB by MNE", path, mne.io.read_raw_eeglab(path, preload=True))
    marks = [raw.annotations.description.tolist(), raw.annotations.onset, raw.annotations.duration]
    for fmt in ["v5", "v7.3"]:
        for precision in ["single", "double"]:
            path = folder / f"eeglabio-{fmt.replace('.', '')}-{precision}.set"
            eeglabio.raw.export_set(str(path), x * 1e-6, 128.5, raw.ch_names, annotations=marks, precision=precision, fmt=fmt)
            from_mne(f"EEGLAB by eeglabio: {fmt}, {precision}", path, mne.io.read_raw_eeglab(path, preload=True))

    events = np.c_[np.arange(6) * 150 + 60, np.zeros(6, int), [1, 2, 2, 1, 2, 1]]
    epochs = mne.Epochs(raw, events, {"left": 1, "right": 2}, -0.25, 0.75, baseline=None, preload=True)
    path = folder / "mne-trials.set"
    mne.export.export_epochs(path, epochs, overwrite=True)
    told("by MNE: trials", path, float(epochs.tmin), ["left", "right", "right", "left", "right", "left"])


def make(folder, random):
    continuous(folder, random)
    trials(folder, random)
    by_others(folder, random)
