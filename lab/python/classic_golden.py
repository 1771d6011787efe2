"""Golden numbers of CSP and LDA with three classes from SciPy and scikit-learn.

Usage: python classic_golden.py [--check]        (--check compares with the committed file instead of writing it)

Needs numpy, scipy and scikit-learn; the versions that made the file stand in it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import scipy
import sklearn
from scipy.linalg import eigh
from sklearn.covariance import oas
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

OUTPUT = Path(__file__).parents[2] / "crates/ptsm-decode/src/classic/golden.json"


def csp_three_classes() -> dict:
    """18 trials of 4 channels; class k has more power in channel k. Each class against the mean of the others' means."""
    trials, channels, samples, filters = 18, 4, 50, 2
    labels = np.arange(trials) % 3
    c, t = np.arange(channels)[:, None], np.arange(1, samples + 1)[None, :]
    covariances = []
    for m in range(trials):
        x = np.sin(0.4 * (c + 1) * t + 0.7 * m) + 0.5 * np.cos(0.23 * t * (c + 2) + 1.1 * m * (c + 1))
        x[labels[m]] *= 1.8
        mixing = np.eye(channels) + 0.2 * np.sin(np.arange(16).reshape(4, 4))
        covariances.append(oas((mixing @ x).T)[0])
    covariances = np.array(covariances)
    means = [covariances[labels == k].mean(0) for k in range(3)]
    eigenvalues, rows = [], []
    for k in range(3):
        rest = np.mean([means[j] for j in range(3) if j != k], axis=0)
        e, w = eigh(means[k], rest + means[k])
        order = np.argsort(-np.abs(e - 0.5))[:filters]
        eigenvalues += e[order].tolist()
        rows.append(w[:, order].T)
    rows = np.concatenate(rows)
    return {
        "covariances": covariances.reshape(trials, -1).tolist(),
        "labels": labels.tolist(),
        "eigenvalues": eigenvalues,
        "features": np.log(np.einsum("fc,ncd,fd->nf", rows, covariances, rows)).tolist(),
    }


def lda_three_classes() -> dict:
    """30 examples of 4 features of different size; classes of 15, 10 and 5."""
    labels = np.array([0, 0, 0, 1, 1, 2] * 5)
    i, f = np.arange(len(labels))[:, None], np.arange(4)[None, :]
    features = np.sin(1.3 * i * (f + 1)) + 0.6 * np.cos(0.7 * i * i + f) + 0.5 * np.cos(2.1 * labels[:, None] + f)
    features *= np.array([1.0, 0.1, 5.0, 1.0])
    probe = np.array([0.4, -0.05, 1.5, 0.2])
    result = {"labels": labels.tolist(), "features": features.flatten().tolist(), "probe": probe.tolist()}
    for name, shrinkage in (("none", None), ("fixed", 0.3), ("auto", "auto")):
        lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(features, labels)
        result[name] = {
            "weights": lda.coef_.flatten().tolist(),
            "biases": lda.intercept_.tolist(),
            "probabilities": lda.predict_proba(probe[None])[0].tolist(),
        }
    return result


def main() -> int:
    golden = {
        "versions": {
            "python": sys.version.split()[0],
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "csp_three_classes": csp_three_classes(),
        "lda_three_classes": lda_three_classes(),
    }
    if "--check" in sys.argv[1:]:
        return check(golden, json.loads(OUTPUT.read_text()))
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
        elif not (isinstance(a, (int, float)) and isinstance(b, (int, float)) and abs(a - b) <= 1e-12 * max(1, abs(b))):
            wrong.append(f"{at}: {a!r}, committed {b!r}")

    for part in ("csp_three_classes", "lda_three_classes"):
        compare(part, made[part], committed[part])
    print("\n".join(wrong) or f"as committed (made with {committed['versions']})", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
