"""Arrays, and recordings as arrays, for the other side to write in its own way."""

import numpy as np

from telling import noise

TEXTS = ["T1", "left hand", "Gr\u00f6\u00dfe \u03bcV", "\u8133\u6ce2", "x" * 60]


def recording(folder, random, name, rate, samples, channels=4, scale=40.0, events=12, breaks=(), **more):
    """Signals of several sizes, and events, some of no length, one at the beginning of each stretch."""
    x = noise(random, channels, samples, scale).astype("f4")
    x[-1] = 12.5  # a channel that says nothing
    starts = [0, *breaks]
    at = np.unique(np.append(random.integers(0, samples, events), starts)) if events else np.zeros(0, int)
    lasts = np.where(random.random(len(at)) < 0.3, 0, random.integers(1, 200, len(at)))
    texts = [f"stretch {starts.index(a)}" if a in starts else TEXTS[int(random.integers(len(TEXTS)))] for a in at]
    names = ["C3", "EEG Cz-Ref", "a,b#1", "x" * 16, *[f"E{i}" for i in range(channels)]][:channels]
    arrays = {
        "samples": x, "rate_hz": rate, "names": np.array(names), "microvolts": np.arange(channels) != 2, "at": at,
        "lasts": lasts, "texts": np.array(texts, "U60"), "breaks": np.array(breaks, "i8"),
    }
    np.savez(folder / f"{name}.npz", **(arrays | more))


def make(folder, random):
    for old in folder.iterdir():
        old.unlink()
    count = np.arange(24).reshape(2, 3, 4)
    kinds = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "?"]
    arrays = {f"a_{kind.replace('?', 'b1')}": count.astype(kind) for kind in kinds}
    arrays |= {
        "text": np.array(TEXTS), "special": np.array([np.nan, np.inf, -np.inf, -0.0]), "ends": np.array([-(2**63), 2**63 - 1]),
        "largest": np.array([2**64 - 1], "u8"), "empty": np.zeros((0, 3)), "fortran": np.asfortranarray(count * 1.5),
    }
    np.savez_compressed(folder / "arrays.npz", **arrays)

    recording(folder, random, "plain", 160.0, 3200)
    recording(folder, random, "short", 250.0, 1013)
    recording(folder, random, "fraction", 512.8, 5000)
    recording(folder, random, "slow", 62.5, 1000)
    recording(folder, random, "third", 100 / 3, 900)
    recording(folder, random, "tenth", 99.9, 4000)
    recording(folder, random, "pi", 100 * np.pi, 100_000)
    recording(folder, random, "fast", 5000.0, 20000)
    recording(folder, random, "large", 160.0, 1600, scale=5e5)
    recording(folder, random, "small", 160.0, 1600, scale=1e-3)
    recording(folder, random, "wide", 128.0, 1280, channels=80)
    recording(folder, random, "silent", 128.0, 1280, events=0)
    recording(folder, random, "crowded", 128.0, 1280, events=600)
    recording(folder, random, "gaps", 100.0, 1000, breaks=(333, 700))
    recording(folder, random, "gaps-fraction", 102.4, 2000, breaks=(512, 1500))
