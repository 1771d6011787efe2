"""Makes fieldtrip-v73.mat beside this file: epochs of FieldTrip in a file of v7.3, their samples packed in chunks.

    python3 -m venv v && v/bin/pip install h5py==3.16.0 numpy==2.4.6 && v/bin/python fieldtrip_v73.py
"""

import numpy as np

from mat_v73 import Writer, here

w = Writer(here / "fieldtrip-v73.mat", "earliest")
a = lambda values: lambda to, n: w.array(to, n, np.array(values, dtype="f8"))
t = lambda text: lambda to, n: w.text(to, n, [text])

# Two channels, three trials of ten samples each: 100 * channel + 10 * trial + sample.
trial = lambda k: 100 * np.arange(2)[:, None] + 10 * k + np.arange(10)[None, :]
packed = lambda k: lambda to, n: w.array(to, n, trial(k).astype("f8"), chunks=(4, 2), compression=6)
data = w.mark(w.file.create_group("epochs_clean"), "struct")
w.cell(data, "label", (2, 1), [t("C3"), t("EOG1")])
w.array(data, "fsample", np.array([[100.0]]))
w.cell(data, "trial", (1, 3), [packed(k) for k in range(3)])
w.cell(data, "time", (1, 3), [a([(np.arange(10) - 3) / 100]) for _ in range(3)])
w.array(data, "trialinfo", np.array([[1.0, 7.0], [2.0, 8.0], [1.0, 9.0]]))
w.cell(data, "chanunit", (2, 1), [t("mV"), t("uV")])
cfg = w.mark(data.create_group("cfg"), "struct")
w.text(cfg, "dataset", ["secret"])
w.close()
