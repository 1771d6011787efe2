"""Miniature data sets in the structure of the published ones, and the trials SciPy cuts from the same numbers.

The structures are those of Lee et al. 2019 (OpenBMI), of Das et al. (KU Leuven) and of the two distributions of BCI Competition IV.
"""

import numpy as np
import scipy.io

import gdf_files
from pipeline import cut
from telling import noise, tell

OPENBMI = (
    "Fp1 Fp2 F7 F3 Fz F4 F8 FC5 FC1 FC2 FC6 T7 C3 Cz C4 T8 TP9 CP5 CP1 CP2 CP6 TP10 P7 P3 Pz P4 P8 PO9 O1 Oz O2 PO10 "
    "FC3 FC4 C5 C1 C2 C6 CP3 CPz CP4 P1 P2 POz FT9 FTT9h TTP7h TP7 TPP9h FT10 FTT10h TPP8h TP8 TPP10h F9 F10 AF7 AF3 AF4 AF8 PO3 PO4"
).split()
MOTOR = "FC5 FC3 FC1 FC2 FC4 FC6 C5 C3 C1 Cz C2 C4 C6 CP5 CP3 CP1 CPz CP2 CP4 CP6".split()
OCCIPITAL = "P7 P3 Pz P4 P8 PO9 O1 Oz O2 PO10".split()
BIOSEMI = (
    "Fp1 AF7 AF3 F1 F3 F5 F7 FT7 FC5 FC3 FC1 C1 C3 C5 T7 TP7 CP5 CP3 CP1 P1 P3 P5 P7 P9 PO7 PO3 O1 Iz Oz POz Pz CPz "
    "Fpz Fp2 AF8 AF4 AFz Fz F2 F4 F6 F8 FT8 FC6 FC4 FC2 FCz Cz C2 C4 C6 T8 TP8 CP6 CP4 CP2 P2 P4 P6 P8 P10 PO8 PO4 O2"
).split()
GRAZ = {
    "bci-iv-2a": "Fz FC3 FC1 FCz FC2 FC4 C5 C3 C1 Cz C2 C4 C6 CP3 CP1 CPz CP2 CP4 P1 Pz P2 POz".split(),
    "bci-iv-2b": "C3 Cz C4".split(),
}
GRAZ_CLASSES = ["left_hand", "right_hand", "feet", "tongue"]
# Trials as they are, to see that nothing is off by a sample.
BARE = {"scaling": "none"}


def cell(values, shape=(1, -1)):
    array = np.empty(len(values), object)
    for i, each in enumerate(values):
        array[i] = each
    return array.reshape(shape)


def column(values, kind="f8"):
    return np.array(values, kind).reshape(-1, 1)


class Run:
    """A recording `[C, N]` in memory: its cues as samples and classes."""

    def __init__(self, x, rate, cues, classes, session=1, run=1):
        self.x, self.rate, self.cues, self.classes, self.session, self.run = x, rate, cues, classes, session, run


def told(title, root, name, subject, runs, channels, classes, pick=None, given=None, window=(0.0, 4.0), with_=(), **steps):
    """Tells the trials of some runs. `given` is the pipeline to ask for, where it is not the data set's own."""
    pick = pick or channels
    places = [channels.index(each) for each in pick]
    values, trials = [], []
    for run in runs:
        found, kept = cut(run.x[places], run.rate, run.cues, window, scaled=given is None, **steps)
        values.extend(found)
        for i in kept:
            trials.append({"class": run.classes[i], "session": run.session, "run": run.run, "cue_s": run.cues[i] / run.rate})
    rate = float(steps.get("to") or runs[0].rate)
    head = {
        "title": title, "id": name, "root": str(root), "with": [list(each) for each in with_], "subject": subject, "pipeline": given,
        "channels": pick, "classes": classes, "rate_hz": rate, "start_s": round(window[0] * rate) / rate, "trials": trials,
    }
    tell(head, *values)


def openbmi(folder, random):
    """Both phases of both sessions; where `t` counts from 0 only the trials that are cut already tell."""
    kinds = [
        ("MI", 4.3, 4, ["right", "left"], {"right": "right_hand", "left": "left_hand"}, ["left_hand", "right_hand"]),
        ("ERP", 0.215, 18, ["target", "nontarget"], {}, ["target", "nontarget"]),
        ("SSVEP", 4.3, 4, ["up", "left", "right", "down"], {}, ["up", "left", "right", "down"]),
    ]
    for tag, step_s, count, names, ours, classes in kinds:
        root = folder / f"openbmi-{tag.lower()}"
        runs = []
        for session in [1, 2]:
            variables = {}
            for run, phase in [(1, "train"), (2, "test")]:
                x = np.round(noise(random, 62, int(1000 * (step_s * count + 2))), 1)
                cues = [int(700 + 1000 * step_s * k + random.integers(0, 50)) for k in range(count)]
                labels = random.permutation(np.arange(count) % len(names))
                samples = 800 if tag == "ERP" else 4000
                base = 1 if session == 1 else 0
                fields = {
                    "x": x.T, "t": np.array([cues], "i4") + base, "fs": np.array([[1000]], "u2"),
                    "y_dec": np.array([labels + 1], "u1"), "y_logic": np.arange(len(names))[:, None] == labels,
                    "y_class": cell([names[label] for label in labels]),
                    "class": cell([str(i + 1) for i in range(len(names))] + names, (2, -1)).T.copy(),
                    "chan": cell(OPENBMI), "ival": np.arange(samples, dtype="u2")[None], "EMG": np.zeros((5, 4)),
                    "pre_rest": np.zeros((10, 62)), "post_rest": np.zeros((10, 62)),
                }
                if base == 0 or phase == "train":
                    fields["smt"] = np.stack([x[:, cue : cue + samples].T for cue in cues], axis=1)
                if phase == "test":
                    # Either names the classes.
                    del fields["class" if session == 1 else "y_class"]
                variables[f"EEG_{tag}_{phase}"] = fields
                runs.append(Run(x, 1000.0, cues, [ours.get(names[label], names[label]) for label in labels], session, run))
            path = root / f"session{session}" / "s1" / f"sess{session:02}_subj01_EEG_{tag}.mat"
            path.parent.mkdir(parents=True, exist_ok=True)
            scipy.io.savemat(path, variables, do_compression=True)
        name = f"openbmi-{tag.lower()}"
        window = (0.0, 0.5) if tag == "ERP" else (0.0, 4.0)
        told(f"OpenBMI {tag}, bare", root, name, 1, runs, OPENBMI, classes, window=window, given=BARE | {"window_s": window})
        if tag == "MI":
            told("OpenBMI MI, motor", root, name, 1, runs, OPENBMI, classes, MOTOR, band=[4, 38], to=250, window=(0.5, 4.0))
            told(
                "OpenBMI MI, broadband, online", root, name, 1, [r for r in runs if r.run == 2], OPENBMI, classes,
                with_=[("pipeline", "broadband"), ("phase", "online")], band=[0.5, 40], to=250,
            )
        elif tag == "ERP":
            told(
                "OpenBMI ERP, authors", root, name, 1, runs, OPENBMI, classes, OPENBMI[:32], band=[0.5, 40], to=100,
                window=(-0.2, 0.8), baseline=(-0.2, 0.0),
            )
        else:
            told("OpenBMI SSVEP, occipital", root, name, 1, runs, OPENBMI, classes, OCCIPITAL, band=[4, 40], to=100)


def kul(folder, random):
    """Three experiments, windows of one and two seconds."""
    root = folder / "kul-aad"
    root.mkdir(exist_ok=True)
    trials, recordings = [], []
    for k in range(6):
        experiment, ear = 1 + k // 2, "LR"[int(random.integers(2))]
        x = noise(random, 64, int(128 * random.uniform(8, 12)))
        header = {"SampleRate": np.array([[128]], "u1"), "ChannelCount": np.array([[64]], "u1")}
        if k % 2:
            labels = np.empty((1, 64), [("Label", object), ("Gain", object)])
            for i, name in enumerate(BIOSEMI):
                labels[0, i] = (name, 1.0)
            header["Channels"] = labels
        trials.append({
            "RawData": {"Channels": np.arange(1.0, 65)[None], "EegData": x.T.astype("f4" if k < 3 else "f8")},
            "FileHeader": header, "TrialID": np.array([[k + 1]], "u1"), "attended_ear": ear,
            "stimuli": cell(["part1_track1_dry.wav", "part1_track2_dry.wav"]), "condition": "dry" if k % 2 else "HRTF",
            "experiment": np.array([[experiment]], "u1"), "part": 1.0, "attended_track": 1.0, "repetition": experiment == 3,
            "subject": "S3",
        })
        recordings.append((experiment, x, "left" if ear == "L" else "right", k + 1))
    scipy.io.savemat(root / "S3.mat", {"trials": cell(trials)}, do_compression=True)
    for seconds, experiments in [(1, "12"), (2, "all")]:
        runs = []
        for experiment, x, ear, number in recordings:
            if experiment < 3 or experiments == "all":
                cues = list(range(0, x.shape[1] - 128 * seconds + 1, 128 * seconds))
                runs.append(Run(x, 128.0, cues, [ear] * len(cues), 1, number))
        chosen = [("window", str(seconds)), ("experiments", experiments)]
        about = ("kul-aad", 3, runs, BIOSEMI, ["left", "right"])
        told(f"KU Leuven, {seconds} s, bare", root, *about, window=(0.0, seconds), with_=chosen, given=BARE | {"window_s": [0, seconds]})
        told(f"KU Leuven, {seconds} s", root, *about, window=(0.0, seconds), with_=chosen, band=[1, 32], average=True)


def bnci(folder, random):
    """MATLAB files: cells without trials, then runs (2a) or sessions (2b)."""
    for name, sessions, rest in [("bci-iv-2a", {"T": [1], "E": [2]}, [3, 1]), ("bci-iv-2b", {"T": [1, 2, 3], "E": [4, 5]}, [0, 0])]:
        root = folder / f"{name}-mat"
        root.mkdir(exist_ok=True)
        channels, letter = GRAZ[name], name[-1].upper()
        classes = GRAZ_CLASSES[: 4 if name == "bci-iv-2a" else 2]
        titles = ["left hand", "right hand", "feet", "tongue"][: len(classes)]
        runs = []
        for (half, numbers), silent in zip(sessions.items(), rest):
            cells = []
            for _ in range(silent):
                x = noise(random, len(channels) + 3, 300)
                cells.append({"X": x.T, "trial": np.zeros((0, 0)), "y": np.zeros((0, 0)), "fs": 250.0, "classes": cell(titles)})
            parts = [(numbers[0], run) for run in [1, 2]] if len(numbers) == 1 else [(session, 1) for session in numbers]
            for session, run in parts:
                x = noise(random, len(channels) + 3, 250 * 9 * 4 + 400)
                starts = [1 + 37 + 250 * 9 * k for k in range(4)]
                labels = random.permutation(np.arange(4) % len(classes))
                cells.append({
                    "X": x.T, "trial": column(starts), "y": column(labels + 1, "u1"), "fs": 250.0, "classes": cell(titles),
                    "artifacts": column([0, 1, 0, 0], "u1"), "gender": "female", "age": 22.0,
                })
                delay = 500 if name == "bci-iv-2a" else 750
                cues = [start - 1 + delay for start in starts]
                runs.append(Run(x[: len(channels)], 250.0, cues, [classes[label] for label in labels], session, run))
            scipy.io.savemat(root / f"{letter}02{half}.mat", {"data": cell(cells)}, do_compression=True)
        about = (name, 2, runs, channels, classes)
        told(f"{name} of BNCI, bare", root, *about, given=BARE | {"window_s": [0, 4]})
        told(f"{name} of BNCI", root, *about, band=[4, 38])
        few = [Run(r.x, r.rate, [r.cues[i] for i in [0, 2, 3]], [r.classes[i] for i in [0, 2, 3]], r.session, r.run) for r in runs]
        chosen = [("artifacts", "drop"), ("pipeline", "broadband")]
        told(f"{name} of BNCI, without marked trials", root, name, 2, few, channels, classes, with_=chosen, band=[0.5, 45])


def competition(folder, random):
    """GDF files: runs in one file, samples missing between them, labels of the second session in a file of their own."""
    name, root = "bci-iv-2a", folder / "bci-iv-2a-gdf"
    root.mkdir(exist_ok=True)
    channels, runs = GRAZ[name], []
    names = ["EEG-Fz", *[f"EEG-{i}" for i in range(21)], "EOG-left", "EOG-central", "EOG-right"]
    for session, half in [(1, "T"), (2, "E")]:
        stored, events, labels_all, at = [], [], [], 0
        for run in range(3):
            n = 250 * 9 * 4 + 250
            x = np.round(noise(random, 25, n) * 10).clip(-9000, 9000).astype("i2")
            events.append((at, 32766, 0, 0))
            if run == 0:
                events.append((at + 10, 276, 0, 200))
            else:
                labels = random.permutation(4)
                cues = []
                for k, label in enumerate(labels):
                    start = 50 + 250 * 9 * k
                    events.append((at + start, 768, 0, 1875))
                    if k == 1:
                        events.append((at + start, 1023, 0, 1875))
                    events.append((at + start + 500, 769 + int(label) if half == "T" else 783, 0, 313))
                    cues.append(start + 500)
                labels_all.extend(labels + 1)
                runs.append(Run(x[:22] / 10.0, 250.0, cues, [GRAZ_CLASSES[label] for label in labels], session, run))
            stored.append(x)
            if run < 2:
                stored.append(np.full((25, 100), -32768, "i2"))
            at += n + 100
        whole = np.concatenate(stored, axis=1)
        whole = whole[:, : whole.shape[1] // 50 * 50]
        events.sort()
        ranges = [(-3276.8, 3276.7)] * 25, [(-32768, 32767)] * 25
        path = root / f"A04{half}.gdf"
        path.write_bytes(gdf_files.pack(2.20, names, ["uV"] * 25, list(whole), *ranges, [50] * 25, (1, 5), events))
        if half == "E":
            scipy.io.savemat(root / "A04E.mat", {"classlabel": column(labels_all)})
    about = (name, 4, runs, channels, GRAZ_CLASSES)
    told("bci-iv-2a of the competition, bare", root, *about, given=BARE | {"window_s": [0, 4]})
    told("bci-iv-2a of the competition", root, *about, band=[4, 38])


def make(folder, random):
    openbmi(folder, random)
    kul(folder, random)
    bnci(folder, random)
    competition(folder, random)
