"""pyRiemann and scikit-learn in `cargo lab bench decoders`: the classic decoders as their users put them together.

The protocol is that of `turns.py`. A new decoder's peer is an entry of `PEERS`; without one it is measured alone.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from pyriemann.classification import MDM
from pyriemann.estimation import Covariances, XdawnCovariances
from pyriemann.spatialfilters import CSP
from pyriemann.tangentspace import TangentSpace
from scipy.signal import butter, sosfiltfilt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sblest import Sblest
from threadpoolctl import threadpool_limits

sys.path.append(str(Path(__file__).parents[1]))

from turns import Missing, Peer, serve  # noqa: E402

OAS = "oas"


class Band(BaseEstimator, TransformerMixin):
    """Each trial filtered by itself, forwards and backwards."""

    def __init__(self, band_hz, order, rate_hz):
        self.band_hz, self.order, self.rate_hz = band_hz, order, rate_hz

    def fit(self, x, y=None):
        return self

    def transform(self, x):
        x = x.astype(float)
        if self.band_hz is None:
            return x
        return sosfiltfilt(butter(self.order, self.band_hz, "band", fs=self.rate_hz, output="sos"), x, axis=-1)


class Bank(BaseEstimator, TransformerMixin):
    """CSP in several bands."""

    def __init__(self, bands_hz, order, rate_hz, filters):
        self.bands_hz, self.order, self.rate_hz, self.filters = bands_hz, order, rate_hz, filters

    def fit(self, x, y):
        one = lambda b: make_pipeline(Band(b, self.order, self.rate_hz), Covariances(OAS), CSP(self.filters, "euclid"))  # noqa: E731
        self.parts_ = [one(band).fit(x, y) for band in self.bands_hz]
        return self

    def transform(self, x):
        return np.concatenate([part.transform(x) for part in self.parts_], axis=1)


def csp_lda(band, s, rate_hz):
    return make_pipeline(band, Covariances(OAS), CSP(s["filters"], "euclid"), LinearDiscriminantAnalysis(solver="lsqr"))


def fbcsp_lda(band, s, rate_hz):
    chosen = SelectKBest(mutual_info_classif, k=s["features"])
    return make_pipeline(
        Bank(s["bands_hz"], s["order"], rate_hz, s["filters"]), chosen, LinearDiscriminantAnalysis(solver="lsqr")
    )


def mdm(band, s, rate_hz):
    return make_pipeline(band, Covariances(OAS), MDM(metric="riemann"))


def ts_lr(band, s, rate_hz):
    return make_pipeline(band, Covariances(OAS), TangentSpace(metric="riemann"), LogisticRegression(C=s["inverse_penalty"]))


def xdawn_ts(band, s, rate_hz):
    last = LogisticRegression(C=s["inverse_penalty"], class_weight="balanced")
    return make_pipeline(band, XdawnCovariances(s["filters"], estimator=OAS), TangentSpace(metric="riemann"), last)


def slda_erp(band, s, rate_hz):
    each = s["bin_s"] * rate_hz

    def bins(x):
        # where a bin is not a whole number of samples, some have one more than others; halves are rounded up
        count = int(x.shape[2] / each + 1e-9)
        edges = np.floor(each * np.arange(count + 1) + 0.5).astype(int)
        sums = np.add.reduceat(x[:, :, : edges[-1]], edges[:-1], axis=2)
        return (sums / np.diff(edges)).reshape(len(x), -1)

    return make_pipeline(band, FunctionTransformer(bins), LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"))


def sblest(band, s, rate_hz):
    if s["delays_samples"] != [0]:
        raise ValueError("the peer is the form without delays")
    return make_pipeline(band, Sblest(s["tolerance"], s["steps"]))


PEERS = {
    "csp-lda": csp_lda,
    "fbcsp-lda": fbcsp_lda,
    "mdm": mdm,
    "ts-lr": ts_lr,
    "xdawn-ts": xdawn_ts,
    "slda-erp": slda_erp,
    "sblest": sblest,
}
LIBRARIES = {"slda-erp": "scikit-learn", "sblest": "NumPy"}


def build(request, trials):
    make = PEERS.get(request["decoder"])
    if make is None:
        return [Missing("there is no peer of this name in the script")]
    s, train = request["settings"], trials.of(request["train"])
    band = Band(s.get("band_hz"), s.get("order"), trials.rate_hz)

    def fit():
        return make(band, s, trials.rate_hz).fit(train.x, train.y)

    # Small matrices are often faster on one thread: the peer takes what suits it.
    times = {}
    for threads in {1, request["threads"]}:
        with threadpool_limits(threads):
            start = time.perf_counter()
            fit()
            times[threads] = time.perf_counter() - start
    best = min(times, key=times.get)
    threadpool_limits(best)
    name = LIBRARIES.get(request["decoder"], "pyRiemann")
    title = f"{name}, {best} BLAS thread{'s' if best > 1 else ''}"
    return [Peer(title, fit, lambda learnt, trials: learnt.predict_proba(trials.x))]


warnings.filterwarnings("ignore")
serve(build)
