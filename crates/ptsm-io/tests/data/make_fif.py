"""Makes the FIF files beside it and what MNE reads in them (fif.json). MNE 1.13, NumPy 2; run in this folder.

All numbers are made up; the name and dates in one file are there to be left out by the reader.
"""

import datetime
import json
import pathlib
import warnings

import mne
import numpy as np

warnings.simplefilter("ignore")
mne.set_log_level("ERROR")
RATE = 100.0
KINDS = ["eeg", "eeg", "eog", "stim", "misc", "ecg", "emg"]
NAMES = ["C3", "Cz", "EOG 1", "STI 014", "MISC 1", "ECG", "EMG"]


def info(names=NAMES, kinds=KINDS):
    made = mne.create_info(names, RATE, kinds)
    montage = mne.channels.make_dig_montage({"C3": [-0.06, 0.0, 0.08]}, coord_frame="head")
    return made.set_montage(montage, on_missing="ignore") if "C3" in names else made


def data(samples, channels=len(NAMES)):
    values = np.array([[(c * 37 + t * 7) % 101 - 50 for t in range(samples)] for c in range(channels)]) * 1e-6
    if channels == len(NAMES):
        values[3] = 0
        values[3, 10:15] = 5
        values[3, 20:22] = 3
        values[3, 22:30] = 7
        values[3, samples - 10:] = 1
    return values


def raw(samples=60, first=0, **kwargs):
    return mne.io.RawArray(data(samples), info(**kwargs), first_samp=first)


made = {}

# Numbers of 16 bits in parts, dates, annotations, a bad channel, a person.
one = raw(first=250)
one.set_meas_date(datetime.datetime(2001, 2, 3, 4, 5, 6, 789012, tzinfo=datetime.timezone.utc))
one.info["subject_info"] = dict(id=7, last_name="Secret", first_name="Sam", birthday=datetime.date(1950, 1, 2))
one.info["experimenter"] = "Somebody"
one.info["bads"] = ["Cz"]
for channel in one.info["chs"]:
    channel["cal"], channel["range"] = (1e-7, 2.0) if channel["ch_name"] != "STI 014" else (1.0, 1.0)
one.set_annotations(mne.Annotations([2.6, 2.75, 2.9], [0.1, 0.0, 0.2], ["left", "a:b", "αβ é"], orig_time=one.info["meas_date"]))
one.save("short_raw.fif", fmt="short", buffer_size_sec=0.25, overwrite=True)

# No dates, no annotations: events are those of the trigger channel.
raw(first=30).save("single_raw.fif", fmt="single", buffer_size_sec=0.2, overwrite=True)

# Annotations without a date, first sample not zero.
two = raw(first=100)
two.set_annotations(mne.Annotations([0.1, 0.35], [0.0, 0.1], ["x", "BAD_y"]))
two.save("double_raw.fif", fmt="double", buffer_size_sec=1.0, overwrite=True)

# Whole numbers of 32 bits.
three = raw()
for channel in three.info["chs"]:
    channel["cal"], channel["range"] = (1e-9, 1.0) if channel["ch_name"] != "STI 014" else (1.0, 1.0)
three.save("int_raw.fif", fmt="int", overwrite=True)

# A gap between parts of ten samples each.
four = raw(samples=80)
four.set_annotations(mne.Annotations([0.3], [0.2], ["BAD_ACQ_SKIP"]))
four.save("skip_raw.fif", buffer_size_sec=0.1, overwrite=True)

# Names longer than a channel's description has room for, one of them bad.
names = ["a channel with a long name 1", "a channel with a long name 2", "Cz"]
five = mne.io.RawArray(data(20, 3), mne.create_info(names, RATE, "eeg"))
five.info["bads"] = names[1:2]
five.save("names_raw.fif", overwrite=True)

# Two recordings joined: MNE marks where.
joined = mne.concatenate_raws([mne.io.RawArray(data(n, 3), mne.create_info(3, RATE, "eeg"), first_samp=40) for n in (25, 35)])
joined.save("joined_raw.fif", overwrite=True)

# Trials.
events = np.array([[100, 0, 1], [250, 0, 2], [400, 0, 3], [700, 0, 1]])
values = np.stack([data(12, 2) * (k + 1) for k in range(4)])
two_channels = mne.create_info(["C3", "Cz"], RATE, "eeg")
trials = mne.EpochsArray(values, two_channels, events, tmin=-0.05, event_id={"go/left": 1, "go/right": 2, "a:b": 3})
trials.save("single-epo.fif", overwrite=True)
trials.save("double-epo.fif", fmt="double", overwrite=True)
late = mne.EpochsArray(values, two_channels, events, tmin=0.5)
late.save("late-epo.fif", overwrite=True)
complex_trials = mne.EpochsArray(values[:1] * 1j, two_channels, events[:1])
complex_trials.save("complex-epo.fif", overwrite=True)
average = trials.average()
average.save("average-ave.fif", overwrite=True)

for path in sorted(pathlib.Path().glob("*.fif")):
    if path.name.startswith(("complex", "average")):
        continue
    if path.name.endswith("epo.fif"):
        read = mne.read_epochs(path)
        back = {v: k for k, v in read.event_id.items()}
        made[path.name] = dict(
            names=read.ch_names, start_s=read.tmin, codes=[back[e] for e in read.events[:, 2]],
            values=np.round(read.get_data() * 1e6, 6).tolist())
        continue
    read = mne.io.read_raw(path, preload=True)
    scales = [[1.0 if kind in ("stim", "misc") else 1e6] for kind in read.get_channel_types()]
    found = mne.events_from_annotations(read, regexp=None)[0][:, 0] - read.first_samp
    made[path.name] = dict(
        names=read.ch_names, kinds=read.get_channel_types(), bads=read.info["bads"],
        annotations=[[int(s), float(d), t] for s, d, t in zip(found, read.annotations.duration, read.annotations.description)],
        triggers=(mne.find_events(read) - [read.first_samp, 0, 0])[:, [0, 2]].tolist() if "stim" in read else [],
        values=np.round(read.get_data() * scales, 6).tolist())
pathlib.Path("fif.json").write_text(json.dumps(made))
