"""What pyRiemann, scikit-learn and SciPy make of random trials, for the classic methods to be held against.

    python peers.py

Each thing told is a line of JSON, which names arrays and their shapes, and then their values as little-endian doubles.
"""

import json
import os
import warnings

import numpy as np
from pyriemann.classification import MDM
from pyriemann.estimation import Covariances, XdawnCovariances
from pyriemann.geometry.covariance import covariances
from pyriemann.geometry.distance import distance_riemann
from pyriemann.geometry.mean import mean_logeuclid, mean_riemann
from pyriemann.spatialfilters import CSP
from pyriemann.tangentspace import TangentSpace
from scipy.stats import gaussian_kde
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

warnings.simplefilter("ignore")
_out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)


def tell(what, title, settings=None, **arrays):
    """Says one thing."""
    arrays = {name: np.asarray(values, "f8") for name, values in arrays.items()}
    parts = [[name, list(values.shape)] for name, values in arrays.items()]
    head = {"what": what, "title": title, "settings": settings or {}, "arrays": parts}
    values = np.concatenate([np.ravel(values) for values in arrays.values()]).astype("<f8")
    _out.write(json.dumps(head | {"values": values.size}).encode() + b"\n" + values.tobytes())
    _out.flush()


def trials(random, count, channels, samples, classes, effect=0.6):
    """Mixed sources whose power, and whose mean course, depend on the class. In single precision, as trials are."""
    labels = np.arange(count) % classes
    random.shuffle(labels)
    x = random.standard_normal((count, channels, samples))
    for i, label in enumerate(labels):
        x[i, label] *= 1 + effect
        x[i, -1] += effect * np.sin(0.2 * np.arange(samples) + label)
    mixing = np.eye(channels) + 0.3 * random.standard_normal((channels, channels))
    scale = np.exp(0.3 * random.standard_normal((count, 1, 1)))
    return (10 * scale * (mixing @ x)).astype("f4").astype("f8"), labels


def tell_covariances(random):
    for count, channels, samples in ((5, 3, 40), (5, 16, 100), (4, 32, 20)):
        x, _ = trials(random, count, channels, samples, 2)
        found = {name: covariances(x, estimator=name) for name in ("scm", "oas", "lwf")}
        tell("covariances", f"covariances of {channels} channels and {samples} samples", x=x, **found)


def tell_geometry(random):
    for count, channels in ((30, 4), (60, 12), (40, 22)):
        x, labels = trials(random, count, channels, 3 * channels, 2)
        c = covariances(x, estimator="oas")
        space = TangentSpace(metric="riemann").fit(c)
        mdm = MDM(metric="riemann").fit(c, labels)
        tell(
            "geometry",
            f"{count} covariances of {channels} channels",
            covariances=c,
            labels=labels,
            mean=mean_riemann(c),
            log_mean=mean_logeuclid(c),
            vectors=space.transform(c),
            distance=[distance_riemann(c[0], c[1])],
            distances=mdm.transform(c),
            probabilities=mdm.predict_proba(c),
        )


def tell_csp(random):
    for count, channels, filters in ((40, 5, 4), (60, 20, 6)):
        x, labels = trials(random, count, channels, 80, 2)
        c = covariances(x, estimator="oas")
        csp = CSP(nfilter=filters, metric="euclid", log=True).fit(c, labels)
        tell("csp", f"CSP of {channels} channels", covariances=c, labels=labels, features=csp.transform(c))


def tell_lda(random):
    for count, features, classes in ((40, 5, 2), (90, 12, 3), (60, 80, 4)):
        labels = np.arange(count) % classes
        x = random.standard_normal((count, features)) * np.exp(random.standard_normal(features))
        x += 0.5 * random.standard_normal((classes, features))[labels]
        for shrinkage in (None, 0.2, "auto"):
            if shrinkage is None and count < 2 * features:
                continue
            lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(x, labels)
            settings = {"shrinkage": {None: "none", "auto": "auto"}.get(shrinkage, {"fixed": shrinkage})}
            title = f"LDA of {classes} classes and {features} features, shrinkage {shrinkage}"
            tell("lda", title, settings, features=x, labels=labels, probabilities=lda.predict_proba(x))


def tell_logistic(random):
    for count, features, classes in ((50, 6, 2), (60, 90, 2), (90, 10, 3), (80, 40, 4)):
        labels = np.minimum(np.arange(count) % (classes + 1), classes - 1)
        x = random.standard_normal((count, features)) + 0.4 * random.standard_normal((classes, features))[labels]
        for c, balanced in ((1.0, False), (0.1, True), (30.0, False)):
            weight = "balanced" if balanced else None
            regression = LogisticRegression(C=c, class_weight=weight, solver="newton-cg", tol=1e-11, max_iter=10000)
            regression.fit(x, labels)
            loose = LogisticRegression(C=c, class_weight=weight).fit(x, labels)
            tell(
                "logistic",
                f"logistic regression of {classes} classes and {features} features, C = {c}",
                {"inverse_penalty": c, "balanced": balanced, "tolerance": 1e-12},
                features=x,
                labels=labels,
                weights=regression.coef_,
                biases=regression.intercept_,
                default_probabilities=loose.predict_proba(x),
            )


def turned(xdawn):
    """Filters are defined up to their sign: their largest weight becomes positive."""
    filters = xdawn.Xd_.filters_
    signs = np.sign(np.take_along_axis(filters, np.abs(filters).argmax(1)[:, None], 1))
    xdawn.Xd_.filters_, xdawn.Xd_.evokeds_, xdawn.P_ = signs * filters, signs * xdawn.Xd_.evokeds_, signs * xdawn.P_
    return xdawn


def tell_xdawn(random):
    for count, channels, samples, classes, filters in ((40, 6, 70, 2, 2), (60, 16, 50, 3, 4)):
        x, labels = trials(random, count, channels, samples, classes, 1.5)
        xdawn = turned(XdawnCovariances(nfilter=filters, estimator="oas").fit(x, labels))
        unfiltered = XdawnCovariances(nfilter=filters, estimator="oas", applyfilters=False).fit(x, labels)
        tell(
            "xdawn",
            f"xDAWN of {classes} classes and {channels} channels",
            {"filters": filters},
            x=x,
            labels=labels,
            filters=xdawn.Xd_.filters_,
            templates=xdawn.P_,
            covariances=xdawn.transform(x),
            unfiltered=turned(unfiltered).transform(x),
        )


def tell_information(random):
    for count, classes in ((40, 2), (700, 2), (500, 4)):
        labels = np.arange(count) % classes
        features = random.standard_normal((count, 3)) * [1, 3, 10] + labels[:, None] * [0, 1, 30]
        told = []
        for feature in features.T:
            joint = [np.mean(labels == k) * gaussian_kde(feature[labels == k])(feature) for k in range(classes)]
            posterior = np.array(joint) / np.sum(joint, 0)
            entropy = -np.sum(posterior * np.log2(np.maximum(posterior, 1e-300)), 0).mean()
            priors = np.bincount(labels) / count
            told.append(-np.sum(priors * np.log2(priors)) - entropy)
        tell("information", f"{count} examples of {classes} classes", features=features, labels=labels, told=told)


def tell_sparse(random):
    """The iteration of the paper as it is written, with a matrix of trials by trials."""
    for count, size in ((80, 4), (20, 6)):
        l = random.standard_normal((count, size, size))
        l = (l + l.transpose(0, 2, 1)) / 2
        y = np.sign(l[:, 0, 0] - l[:, 1, 1] + 0.5 * random.standard_normal(count))
        r, psi, noise, losses, noises = l.reshape(count, -1), np.eye(size), 1.0, [], []
        for _ in range(40):
            columns = [l[:, :, j] for j in range(size)]
            sigma = sum(c @ psi @ c.T for c in columns) + noise * np.eye(count)
            inverse = np.linalg.inv(sigma)
            u = np.stack([psi @ c.T @ inverse @ y for c in columns], 1)
            u = (u + u.T) / 2
            phi = [psi - psi @ c.T @ inverse @ c @ psi for c in columns]
            theta = sum(np.trace(p @ c.T @ c) for p, c in zip(phi, columns))
            losses.append(y @ inverse @ y + np.linalg.slogdet(sigma)[1])
            psi = u @ u.T + sum(phi)
            psi = (psi + psi.T) / 2 / size
            noise = (np.sum((y - r @ u.ravel()) ** 2) + theta) / count
            noises.append(noise)
        tell("sparse", f"{count} matrices of {size} rows", matrices=l, y=y, losses=losses, noises=noises, weights=u)


def tell_decoders(random):
    """Whole decoders: trained on some trials, asked about others."""
    regression = {"solver": "newton-cg", "tol": 1e-11, "max_iter": 10000}

    def bins(x):
        return x.reshape(*x.shape[:2], -1, 10).mean(-1).reshape(len(x), -1)

    for classes in (2, 3):
        x, labels = trials(random, 120, 8, 100, classes, 1.0)
        train, test = slice(0, 80), slice(80, 120)
        space = [TangentSpace(metric="riemann"), LogisticRegression(**regression)]
        oas = Covariances(estimator="oas")
        balanced = LogisticRegression(class_weight="balanced", **regression)
        xdawn = XdawnCovariances(nfilter=4, estimator="oas")
        shrunk = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        made = {
            "mdm": make_pipeline(oas, MDM(metric="riemann")),
            "ts-lr": make_pipeline(oas, *space),
            "xdawn-ts": make_pipeline(xdawn, TangentSpace(metric="riemann"), balanced),
        }
        if classes == 2:
            csp = CSP(nfilter=6, metric="euclid", log=True)
            made["csp-lda"] = make_pipeline(oas, csp, LinearDiscriminantAnalysis(solver="lsqr"))
        found = {name: pipe.fit(x[train], labels[train]).predict_proba(x[test]) for name, pipe in made.items()}
        found["slda-erp"] = shrunk.fit(bins(x[train]), labels[train]).predict_proba(bins(x[test]))
        for name, probabilities in found.items():
            settings = {"bin_s": 0.1} if name == "slda-erp" else {}
            settings = {"decoder": name, "changes": settings | {"band_hz": None}}
            title = f"{name} of {classes} classes"
            tell("decoder", title, settings, x=x, labels=labels, trained=[80], probabilities=probabilities)


for number, part in enumerate(
    (
        tell_covariances,
        tell_geometry,
        tell_csp,
        tell_lda,
        tell_logistic,
        tell_xdawn,
        tell_information,
        tell_sparse,
        tell_decoders,
    )
):
    part(np.random.default_rng(number))
