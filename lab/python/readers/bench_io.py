"""Reads recordings, filters and resamples them and cuts trials, once, as users of MNE or SciPy write it.

The first line on stdin describes the work:

    {"how": "mne"|"scipy", "jobs": null|2, "by": "channel"|"file", "files": [..]}

    mne    read_raw_edf, filter, resample, Epochs; "jobs" is MNE's n_jobs ("by": "channel"), or that of joblib over files
    scipy  pyedflib, sosfiltfilt, resample_poly, slices; one thread

Answers, one line each on stdout:

    {"ready": true, "after_import_rss_mib": m}
    (any line)   {"ms": t, "cpu_ms": t, "whole_cpu_ms": t, "peak_rss_mib": m, "trials": n, "mean_uv": mean absolute value}

Imports come before the first answer and are not part of the time. The peak of helper processes is the largest one's times their
number: the system does not tell their sum.
"""

import json
import os
import resource
import sys
import time

work = json.loads(sys.stdin.readline())
if work["how"] == "scipy":
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"

import numpy as np

LOW, HIGH, ORDER, RATE, SECONDS = 0.5, 45.0, 4, 100, 4.0


def with_mne(path, jobs):
    raw = mne.io.read_raw_edf(path, preload=True)
    raw.filter(LOW, HIGH, method="iir", iir_params=dict(order=ORDER, ftype="butter"), n_jobs=jobs)
    raw.resample(RATE, method="polyphase", n_jobs=jobs)
    events, codes = mne.events_from_annotations(raw, event_id={"T1": 0, "T2": 1})
    epochs = mne.Epochs(raw, events, codes, tmin=0.0, tmax=SECONDS - 1 / RATE, baseline=None, preload=True)
    return epochs


def with_scipy(path):
    with pyedflib.EdfReader(path) as edf:
        electrodes = [i for i, label in enumerate(edf.getSignalLabels()) if "Annotations" not in label]
        rate = edf.getSampleFrequency(electrodes[0])
        signal = np.stack([edf.readSignal(i) for i in electrodes])
        onsets, _, texts = edf.readAnnotations()
    sections = butter(ORDER, [LOW, HIGH], btype="bandpass", fs=rate, output="sos")
    signal = sosfiltfilt(sections, signal, axis=-1)
    signal = resample_poly(signal, RATE, int(rate), axis=-1)
    starts = [round(onset * RATE) for onset, text in zip(onsets, texts) if text in ("T1", "T2")]
    length = int(SECONDS * RATE)
    return np.stack([signal[:, s : s + length] for s in starts if s + length <= signal.shape[1]]).astype("f4")


def status(key):
    with open("/proc/self/status") as lines:
        return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(key + ":"))


def cpu_s():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
jobs, by_file = work["jobs"], work["by"] == "file"
if work["how"] == "mne":
    import mne

    mne.set_log_level("ERROR")
    if jobs:
        import joblib
    if by_file:
        # The helpers are started and have their imports done before the clock counts, as this process has.
        helpers = joblib.Parallel(n_jobs=jobs)
        helpers(joblib.delayed(mne.set_log_level)("ERROR") for _ in range(4 * jobs))
else:
    import pyedflib
    from scipy.signal import butter, resample_poly, sosfiltfilt


def run():
    if work["how"] == "scipy":
        return [with_scipy(path) for path in work["files"]]
    if by_file:
        return helpers(joblib.delayed(with_mne)(path, None) for path in work["files"])
    return [with_mne(path, jobs) for path in work["files"]]


print(json.dumps({"ready": True, "after_import_rss_mib": status("VmRSS")}), file=answers, flush=True)
sys.stdin.readline()
start, cpu_start = time.perf_counter(), cpu_s()
found = run()
ms = 1e3 * (time.perf_counter() - start)
peak = status("VmHWM")
if jobs:
    # Their time counts once they have ended.
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)
    peak += jobs * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
cpu_end = cpu_s()
trials, total, values = 0, 0.0, 0
for each in found:
    x = each.get_data(units="uV") if work["how"] == "mne" else each
    trials, total, values = trials + len(x), total + float(np.abs(x).sum(dtype="f8")), values + x.size
times = {"ms": ms, "cpu_ms": 1e3 * (cpu_end - cpu_start), "whole_cpu_ms": 1e3 * cpu_end}
answer = times | {"peak_rss_mib": peak, "trials": trials, "mean_uv": total / values}
print(json.dumps(answer), file=answers, flush=True)
