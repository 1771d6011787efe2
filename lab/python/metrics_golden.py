"""Golden numbers of ptsm-eval from scikit-learn and SciPy.

Usage: python metrics_golden.py [--check]        (--check compares with the committed file instead of writing it)

Needs numpy, scipy and scikit-learn; the versions that made the file stand in it.
"""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy
import sklearn
from scipy.stats import binom
from sklearn import metrics

OUTPUT = Path(__file__).parents[2] / "crates/ptsm-eval/tests/golden/metrics.json"
TOLERANCE = 1e-13

# Single-precision rows add up to 1 to seven digits only.
warnings.filterwarnings("ignore", "The y_prob values do not sum to one")
# Some cases lack a class on purpose.
warnings.filterwarnings("ignore", "y_pred contains classes not in y_true")


def probabilities(n: int, classes: int, labels: np.ndarray, skill: float, grain: float | None) -> np.ndarray:
    """Softmax of waves, the true class raised by `skill`; rounded to multiples of `grain` so that ties occur."""
    i, k = np.arange(n)[:, None], np.arange(classes)[None, :]
    scores = 1.3 * np.sin(1.7 * i * (k + 1) + k) + 0.8 * np.cos(0.37 * i * i + 2.1 * k)
    scores[np.arange(n), labels] += skill
    p = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    if grain:
        # At least one grain: scikit-learn clips zeros at another value than we do.
        p = np.maximum(np.round(p / grain), 1)
        p /= p.sum(1, keepdims=True)
    # What Rust gets is single precision; both sides work on those very numbers.
    return p.astype(np.float32).astype(np.float64)


def undefined_as_none(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def case(name: str, labels: np.ndarray, p: np.ndarray, positive: int) -> dict:
    classes = p.shape[1]
    every = list(range(classes))
    present = set(labels.tolist())
    predicted = p.argmax(1)
    confusion = metrics.confusion_matrix(labels, predicted, labels=every)
    recall = metrics.recall_score(labels, predicted, labels=every, average=None, zero_division=np.nan)
    f1 = metrics.f1_score(labels, predicted, labels=every, average=None, zero_division=np.nan)
    one = [(labels == k).astype(int) for k in every]
    other_recall = [
        metrics.recall_score(one[k], (predicted == k).astype(int), pos_label=0, zero_division=np.nan) for k in every
    ]
    auc = [metrics.roc_auc_score(one[k], p[:, k]) if 0 < one[k].sum() < len(labels) else np.nan for k in every]
    if classes == 2:
        chosen = {"f1": f1[positive], "sensitivity": recall[positive], "specificity": recall[1 - positive]}
        chosen["auc"] = auc[positive]
    else:
        chosen = {"f1": np.mean(f1), "sensitivity": np.mean(recall), "specificity": np.mean(other_recall)}
        chosen["auc"] = np.mean(auc)
    scores = {
        "accuracy": metrics.accuracy_score(labels, predicted),
        # scikit-learn leaves absent classes out; here the mean over all classes is then undefined.
        "balanced_accuracy": metrics.balanced_accuracy_score(labels, predicted) if len(present) == classes else np.nan,
        "f1_macro": np.mean(f1),
        "f1_weighted": metrics.f1_score(labels, predicted, labels=every, average="weighted", zero_division=0),
        "kappa": metrics.cohen_kappa_score(labels, predicted, labels=every),
        "log_loss": metrics.log_loss(labels, p, labels=every),
        **chosen,
    }
    if classes > 2 and len(present) == classes:
        assert abs(scores["auc"] - metrics.roc_auc_score(labels, p, multi_class="ovr", average="macro")) < 1e-15
    return {
        "name": name,
        "positive": positive,
        "classes": classes,
        "labels": labels.tolist(),
        "probabilities": p.flatten().tolist(),
        "n": len(labels),
        "confusion": confusion.tolist(),
        "scores": {key: undefined_as_none(value) for key, value in sorted(scores.items())},
    }


def cases() -> list[dict]:
    result = []

    def add(name: str, labels: np.ndarray, classes: int, skill: float, grain: float | None, positive: int) -> None:
        result.append(case(name, labels, probabilities(len(labels), classes, labels, skill, grain), positive))

    balanced = np.arange(60) % 2
    add("two balanced classes, first positive", balanced, 2, 0.8, None, 0)
    add("two balanced classes, second positive", balanced, 2, 0.8, None, 1)
    oddball = (np.arange(90) % 6 == 3).astype(int)
    add("one to five, many ties", oddball, 2, 0.7, 0.1, 1)
    add("worse than chance", balanced, 2, -1.5, None, 0)
    add("all right", balanced, 2, 9.0, None, 0)
    add("three of one class, none of the other", np.zeros(3, int), 2, 0.5, None, 0)
    four = np.arange(120) * 7 % 4
    add("four classes", four, 4, 0.9, None, 0)
    uneven = np.array([0, 0, 0, 1, 1, 2] * 15)
    add("three uneven classes, ties", uneven, 3, 0.6, 0.05, 0)
    add("a class that never came", np.arange(40) % 3, 4, 0.9, None, 0)
    return result


def main() -> int:
    values = np.array([0.52, 0.61, 0.705, 0.48, 0.93, 0.77, 0.66, 0.59, 0.815])
    trials = [1, 2, 5, 10, 19, 45, 90, 100, 200, 288, 576, 1000, 4905, 20000]
    golden = {
        "versions": {
            "python": sys.version.split()[0],
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "scores": cases(),
        "spread": {"values": values.tolist(), "mean": values.mean(), "deviation": values.std(ddof=1)},
        # Trials, classes, error rate, the number of right guesses that is exceeded with that probability or less.
        "chance": [
            [n, c, alpha, int(binom.isf(alpha, n, 1 / c))]
            for n in trials
            for c in (2, 3, 4, 36)
            for alpha in (0.05, 0.01, 0.001)
        ],
    }
    if "--check" in sys.argv[1:]:
        return check(golden, json.loads(OUTPUT.read_text()))
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    beside = OUTPUT.with_suffix(".new")
    beside.write_text(json.dumps(golden) + "\n")
    os.replace(beside, OUTPUT)
    return 0


def check(made: dict, committed: dict) -> int:
    """Compares everything but the versions; numbers may differ in their last bits."""
    wrong: list[str] = []

    def compare(at: str, a: object, b: object) -> None:
        if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
            for key in a:
                compare(f"{at}.{key}", a[key], b[key])
        elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            for i, (x, y) in enumerate(zip(a, b)):
                compare(f"{at}[{i}]", x, y)
        elif isinstance(a, float) and isinstance(b, (int, float)):
            # The inputs pass through single precision, where a last bit of the exponential may decide.
            slack = 2e-7 if "probabilities" in at or "log_loss" in at else TOLERANCE
            if abs(a - b) > slack * max(1.0, abs(b)):
                wrong.append(f"{at}: {a!r}, committed {b!r}")
        elif a != b:
            wrong.append(f"{at}: {a!r}, committed {b!r}")

    for part in ("scores", "spread", "chance"):
        compare(part, made[part], committed[part])
    print("\n".join(wrong) or f"as committed (made with {committed['versions']})", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
