"""How long pyRiemann and scikit-learn take for what `cargo run --release --example classic -p ptsm-decode` does.

    python speed.py
"""

import time

import numpy as np
from pyriemann.classification import MDM
from pyriemann.estimation import Covariances, XdawnCovariances
from pyriemann.spatialfilters import CSP
from pyriemann.tangentspace import TangentSpace
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer


def bins(x):
    """Means of 50 ms at 250 Hz, about."""
    return np.concatenate([part.mean(-1) for part in np.array_split(x, x.shape[2] * 2 // 25, axis=2)], axis=1)


def decoders():
    oas = Covariances(estimator="oas")
    shrunk = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    yield "csp-lda", make_pipeline(oas, CSP(nfilter=6, metric="euclid"), LinearDiscriminantAnalysis(solver="lsqr"))
    yield "mdm", make_pipeline(oas, MDM(metric="riemann"))
    yield "ts-lr", make_pipeline(oas, TangentSpace(metric="riemann"), LogisticRegression())
    xdawn = XdawnCovariances(nfilter=4, estimator="oas")
    yield "xdawn-ts", make_pipeline(xdawn, TangentSpace(metric="riemann"), LogisticRegression(class_weight="balanced"))
    yield "slda-erp", make_pipeline(FunctionTransformer(bins), shrunk)


for count, channels, samples in ((288, 22, 500), (400, 62, 500)):
    x = np.random.default_rng(1).uniform(-1, 1, (count, channels, samples))
    labels = np.arange(count) % 2
    x[np.arange(count), labels] *= 1.5
    for name, decoder in decoders():
        best = [np.inf, np.inf]
        for _ in range(3):
            start = time.perf_counter()
            decoder.fit(x, labels)
            middle = time.perf_counter()
            decoder.predict_proba(x)
            best = np.minimum(best, [middle - start, time.perf_counter() - middle])
        fit, predict = 1e3 * best
        print(f"{name:10} {count} x {channels} x {samples}: fit {fit:8.1f} ms, predict {predict:8.1f} ms", flush=True)
