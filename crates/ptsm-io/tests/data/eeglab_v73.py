"""Makes trials-v73.set beside this file: trials in an EEGLAB file of v7.3, its fields in the root, its samples packed in chunks.

    python3 -m venv v && v/bin/pip install h5py==3.16.0 numpy==2.4.6 && v/bin/python eeglab_v73.py
"""

import numpy as np

from mat_v73 import Writer, here

w = Writer(here / "trials-v73.set", "earliest")
root = w.file
a = lambda values: lambda to, n: w.array(to, n, np.array(values, dtype="f8"))
t = lambda text: lambda to, n: w.text(to, n, [text])
c = lambda *writes: lambda to, n: w.cell(to, n, (1, len(writes)), writes)

# Two channels, three trials of ten samples each: 100 * channel + 10 * trial + sample.
data = 100 * np.arange(2)[:, None, None] + 10 * np.arange(3)[None, None, :] + np.arange(10)[None, :, None]
w.array(root, "data", data.astype("f4"), chunks=(2, 4, 2), compression=6)
for name, value in [("nbchan", 2.0), ("pnts", 10.0), ("trials", 3.0), ("srate", 100.0), ("xmin", -0.03)]:
    w.array(root, name, np.array([[value]]))
w.text(root, "setname", ["secret"])
places = w.mark(root.create_group("chanlocs"), "struct")
w.references(places, "labels", (1, 2), [t("C3"), t("EOG1")])
w.references(places, "type", (1, 2), [t("EEG"), t("EOG")])
events = w.mark(root.create_group("event"), "struct")
w.references(events, "type", (1, 4), [t("left"), t("right"), t("press"), t("left")])
w.references(events, "latency", (1, 4), [a([[4.0]]), a([[14.0]]), a([[18.0]]), a([[24.0]])])
epochs = w.mark(root.create_group("epoch"), "struct")
w.references(epochs, "eventlatency", (1, 3), [a([[0.0]]), c(a([[0.0]]), a([[40.0]])), a([[0.0]])])
w.references(epochs, "eventtype", (1, 3), [t("left"), c(t("right"), t("press")), t("left")])
w.close()
