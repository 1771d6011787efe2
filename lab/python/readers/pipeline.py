"""From a recording to trials by SciPy, step by step as the pipeline documents it."""

from fractions import Fraction

import numpy as np
import scipy.signal


def nearest(value):
    """Halves up."""
    return int(np.floor(value + 0.5))


def cut(x, rate, cues, window, band=None, to=None, baseline=None, average=False, scaled=True):
    """Trials `[n, C, T]` of a signal `[C, N]`, and which of the cues (samples) have one."""
    x = np.asarray(x, "f4").astype("f8")
    if average:
        x = x - x.mean(axis=0)
    if band:
        x = scipy.signal.sosfiltfilt(scipy.signal.butter(4, band, "bandpass", output="sos", fs=rate), x, axis=1)
    ratio = Fraction(to or rate).limit_denominator() / Fraction(rate).limit_denominator()
    if ratio != 1:
        # The first sample stands for the level, which must not ring at the ends.
        x = scipy.signal.resample_poly(x - x[:, :1], ratio.numerator, ratio.denominator, axis=1) + x[:, :1]
    rate = to or rate
    span = lambda times: (nearest(times[0] * rate), nearest((times[1] - times[0]) * rate))
    trials, kept = [], []
    for i, cue in enumerate(cues):
        at = nearest(cue * ratio)
        parts = []
        for first, count in [span(window)] + ([span(baseline)] if baseline else []):
            inside = 0 <= at + first and at + first + count <= x.shape[1]
            parts.append(x[:, at + first : at + first + count] if inside else None)
        if any(part is None for part in parts):
            continue
        trial = parts[0] - (parts[1].mean(axis=1, keepdims=True) if baseline else 0.0)
        trials.append(trial / trial.std() if scaled else trial)
        kept.append(i)
    return np.array(trials), kept
