"""Makes one data set of the two halves of PhysioNet's EEG Motor Movement/Imagery data that the measurements use: recordings of the
subjects 1-40, which `ptsm data export` epochs, and epochs of the subjects 41-80, which are there as an array. Both are 0-4 s after the
cue, 64 channels, 0.5-45 Hz (Butterworth of order 4, forwards and backwards), 100 Hz, in microvolts, imagined left or right fist.

    ptsm data export --data physionet-mi --root recordings/physionet-mi --with pipeline=broadband --subjects 1-40 \
        --set pipeline.scaling=none --out S001-S040.npz
    python lab/python/eighty_subjects.py S001-S040.npz S041-S080.npz --out eighty.npz
    ptsm benchmark benchmarks/physionet-mi-80.toml --root FOLDER_OF_EIGHTY_NPZ --out bench

`--half` stores the values in half precision, in half the room: one part in 2000 of each value is lost, and `ptsm` reads it alike. Every
array of one file must agree with that of the other: channels and their order, rate, window, classes. What was done to the epochs
before (`pipeline`) is not written, so that a plan may go on from here: scaling, reference, bands of each epoch.

Needs NumPy alone.
"""

import argparse
import json

import numpy as np

CLASSES = ["left_hand", "right_hand"]


def read(path):
    with np.load(path) as file:
        return {key: file[key] for key in file.files}


def check_prepared(path, arrays):
    """Refuses epochs that were scaled or aligned: the other half is in microvolts."""
    if "pipeline" not in arrays:
        return
    pipeline = json.loads(str(arrays["pipeline"]))
    for key, wanted in [("scaling", "none"), ("alignment", "none"), ("reference", "as_recorded"), ("pick", "all")]:
        if pipeline[key] != wanted:
            raise SystemExit(f"{path}: `{key}` of its pipeline is {pipeline[key]}, not {wanted}; export it again")


def joined(paths):
    """All trials, by subject, run and their order."""
    halves = [read(path) for path in paths]
    for path, half in zip(paths, halves):
        check_prepared(path, half)
        for key, value in [("rate_hz", 100.0), ("start_s", 0.0)]:
            if float(half[key]) != value:
                raise SystemExit(f"{path}: `{key}` is {half[key]}, not {value}")
        if list(half["classes"]) != CLASSES:
            raise SystemExit(f"{path}: the classes are {list(half['classes'])}, not {CLASSES}")
        if half["X"].shape[1:] != (64, 400) or len(half["channels"]) != 64:
            raise SystemExit(f"{path}: `X` has the shape {half['X'].shape}, not (trials, 64, 400)")
    channels = [str(name) for name in halves[0]["channels"]]
    orders = []
    for path, half in zip(paths, halves):
        names = [str(name) for name in half["channels"]]
        if sorted(names) != sorted(channels):
            raise SystemExit(f"{path}: its channels are others than those of {paths[0]}")
        orders.append([names.index(name) for name in channels])
    subjects = [set(half["subject"].tolist()) for half in halves]
    if set.intersection(*subjects):
        raise SystemExit(f"subjects {sorted(set.intersection(*subjects))} are in both files")
    x = np.concatenate([np.float32(half["X"])[:, order] for half, order in zip(halves, orders)])
    columns = {key: np.concatenate([half[key] for half in halves]).astype(np.int64) for key in ["y", "subject", "run"]}
    order = np.lexsort([np.arange(len(x)), columns["run"], columns["subject"]])
    return x[order], {key: column[order] for key, column in columns.items()}, channels


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs=2, help="the two halves, in any order")
    parser.add_argument("--out", required=True, help="the `.npz` file to write")
    parser.add_argument("--half", action="store_true", help="store values in half precision")
    given = parser.parse_args()
    x, columns, channels = joined(given.files)
    # By which subjects of recordings are recognised in other data.
    known = [half["recognised_by"] for half in map(read, given.files) if "recognised_by" in half]
    recognised = {"recognised_by": np.concatenate(known)} if known else {}
    np.savez(
        given.out,
        X=x.astype(np.float16 if given.half else np.float32),
        **columns,
        channels=channels,
        rate_hz=100.0,
        start_s=0.0,
        classes=CLASSES,
        unit="uV",
        paradigm="motor-imagery",
        symmetry=[CLASSES],
        **recognised,
    )
    subjects = np.unique(columns["subject"])
    print(f"{given.out}: {len(x)} epochs of {len(subjects)} subjects ({subjects[0]}-{subjects[-1]}), {x.shape[1:]}")


if __name__ == "__main__":
    main()
