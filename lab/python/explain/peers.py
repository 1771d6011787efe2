"""What scikit-learn and SciPy make of random features and probabilities, for explanations to be held against.

    python peers.py

Each thing told is a line of JSON, which names arrays and their shapes, and then their values as little-endian doubles.
"""

import json
import os
import warnings

import numpy as np
from scipy import linalg, optimize, special, stats
from sklearn.calibration import calibration_curve
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.manifold import TSNE, trustworthiness
from sklearn.metrics import accuracy_score, balanced_accuracy_score, brier_score_loss, log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

warnings.simplefilter("ignore")
_out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)

# As the nonlinear probe has them.
LANDMARKS = 300
SHRINKAGE = 0.1


def tell(what, title, settings=None, **arrays):
    """Says one thing."""
    arrays = {name: np.asarray(values, "f8") for name, values in arrays.items()}
    parts = [[name, list(values.shape)] for name, values in arrays.items()]
    head = {"what": what, "title": title, "settings": settings or {}, "arrays": parts}
    values = np.concatenate([np.ravel(values) for values in arrays.values()]).astype("<f8")
    _out.write(json.dumps(head | {"values": values.size}).encode() + b"\n" + values.tobytes())
    _out.flush()


def logistic():
    """To the minimum: the solver's own tolerance would end it at some distance."""
    return make_pipeline(
        StandardScaler(), LogisticRegression(C=1.0, class_weight="balanced", solver="newton-cholesky", tol=1e-12, max_iter=1000)
    )


def drawn(random, n, width, classes, apart):
    """Correlated features with scales of their own, one of them constant, of classes that come one after the other."""
    labels = np.arange(n) % classes
    x = random.standard_normal((n, width)) @ random.standard_normal((width, width))
    x += apart * random.standard_normal((classes, width))[labels] * np.sqrt(width)
    x = x * 10.0 ** random.uniform(-3, 3, width) + random.standard_normal(width)
    x[:, 0] = 0.1
    return x, labels


def tell_linear(random):
    for n, width, classes, apart in [(60, 4, 2, 0.3), (900, 64, 2, 0.05), (300, 10, 4, 0.3), (800, 32, 20, 0.2), (50, 64, 3, 0.1)]:
        x, labels = drawn(random, n, width, classes, apart)
        # Classes that are not equally frequent.
        kept = np.flatnonzero((labels > 0) | (random.random(n) < 0.5))
        x, labels = x[kept], labels[kept]
        first = int(0.6 * len(x))
        model = logistic().fit(x[:first], labels[:first])
        answers = model.predict(x[first:])
        tell(
            "linear",
            f"{classes} classes in {width} features of {n} trials, read by a line",
            {"first": first},
            x=x,
            labels=labels,
            probabilities=model.predict_proba(x[first:]),
            scores=[accuracy_score(labels[first:], answers), balanced_accuracy_score(labels[first:], answers)],
        )


def tell_nonlinear(random):
    for n, width, classes in [(120, 3, 2), (1000, 16, 2), (900, 32, 5)]:
        labels = np.arange(n) % classes
        # Classes are shells around the same middle.
        x = random.standard_normal((n, width)) * (1 + 0.5 * labels[:, None]) + 0.3
        first = n * 3 // 5
        scaler = StandardScaler().fit(x[:first])
        train, test = scaler.transform(x[:first]), scaler.transform(x[first:])
        count = min(LANDMARKS, first)
        landmarks = train[np.arange(count) * first // count]
        gamma = 1 / width
        root = linalg.sqrtm(rbf_kernel(landmarks, gamma=gamma)).real
        train, test = (linalg.solve(root, rbf_kernel(rows, landmarks, gamma=gamma).T).T for rows in (train, test))
        model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=SHRINKAGE, priors=np.full(classes, 1 / classes))
        answers = model.fit(train, labels[:first]).predict(test)
        tell(
            "nonlinear",
            f"{classes} shells in {width} features of {n} trials, read by a curve",
            {"first": first},
            x=x,
            labels=labels,
            scores=[accuracy_score(labels[first:], answers), balanced_accuracy_score(labels[first:], answers)],
        )


def people(random, sizes, width, shift):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    x = random.standard_normal((len(groups), width)) + 0.5 * random.standard_normal((len(sizes), width))[groups]
    return x + shift, groups


def tell_distance(random):
    # Groups of different sizes: of equal ones the order is a matter of taste.
    for shift in (0.0, 0.4, 3.0):
        source, of_source = people(random, [31, 30, 29, 27, 26, 24, 23, 21], 12, 0.0)
        target, of_target = people(random, [19, 18, 16, 15, 13], 12, shift * np.eye(12)[0])
        folds = [list(GroupKFold(4).split(x, groups=groups)) for x, groups in ((source, of_source), (target, of_target))]
        found = []
        for (a, a_test), (b, b_test) in zip(*folds):
            model = logistic().fit(np.r_[source[a], target[b]], np.r_[np.zeros(len(a)), np.ones(len(b))])
            answers = model.predict(np.r_[source[a_test], target[b_test]])
            error = 1 - balanced_accuracy_score(np.r_[np.zeros(len(a_test)), np.ones(len(b_test))], answers)
            found.append(2 * (1 - 2 * error))
        tell(
            "distance",
            f"people {shift} apart",
            {"divisions": 4},
            source=source,
            of_source=of_source,
            target=target,
            of_target=of_target,
            distances=np.sort(found),
        )


def tell_shared(random):
    for n, a, b in [(40, 3, 5), (500, 64, 64), (300, 20, 8)]:
        common = random.standard_normal((n, 2))
        one = random.standard_normal((n, a)) * 10.0 ** random.uniform(-2, 2, a) + common @ random.standard_normal((2, a))
        other = random.standard_normal((n, b)) + common @ random.standard_normal((2, b)) + 5
        correlations = np.corrcoef(one.T, other.T)[:a, a:]
        centred = [x - x.mean(axis=0) for x in (one, other)]
        tell(
            "shared",
            f"{a} and {b} features of {n} trials",
            one=one,
            other=other,
            correlations=linalg.svdvals(correlations),
            canonical=np.sort(np.cos(linalg.subspace_angles(*centred)))[::-1],
        )


def tell_embedding(random):
    for n, width, groups in [(60, 3, 2), (200, 16, 5), (300, 64, 9)]:
        x = random.standard_normal((n, width)) + 3 * random.standard_normal((groups, width))[np.arange(n) % groups]
        model = PCA(2, svd_solver="full").fit(x)
        points = model.transform(x)
        near = TSNE(method="exact", init="pca", perplexity=min(30, (n - 1) / 3)).fit_transform(x)
        tell(
            "embedding",
            f"{n} trials with {width} features on paper",
            x=x,
            points=points,
            explained=model.explained_variance_ratio_,
            trustworthiness=[trustworthiness(x, points), trustworthiness(x, near)],
        )


def tell_calibration(random):
    for n, classes, sharp in [(200, 2, 1.0), (1000, 2, 3.0), (500, 4, 0.5), (2000, 6, 2.0)]:
        logits = random.standard_normal((n, classes))
        labels = np.array([random.choice(classes, p=p) for p in special.softmax(logits, axis=1)])
        probabilities = special.softmax(sharp * logits, axis=1)
        confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
        errors = []
        for strategy in ("uniform", "quantile"):
            accuracy, said = calibration_curve(right, confidence, n_bins=10, strategy=strategy)
            if strategy == "uniform":
                counts = np.histogram(confidence, np.linspace(0, 1, 11))[0]
            else:
                counts = np.full(10, n // 10)
            gaps = np.abs(accuracy - said)
            errors.append([gaps @ counts[counts > 0] / n, gaps.max()])
        logs = np.log(probabilities)

        def loss(log_temperature):
            return log_loss(labels, special.softmax(logs / np.exp(log_temperature), axis=1), labels=range(classes))

        temperature = np.exp(optimize.minimize_scalar(loss, (-0.1, 0.1), tol=1e-12).x)
        tell(
            "calibration",
            f"{n} trials of {classes} classes, {sharp} times as sure as they should be",
            probabilities=probabilities,
            labels=labels,
            uniform=errors[0],
            quantile=errors[1],
            brier=[brier_score_loss(np.eye(classes)[labels], probabilities, scale_by_half=False)],
            log_loss=[log_loss(labels, probabilities, labels=range(classes))],
            temperature=[temperature],
            scaled=special.softmax(logs / temperature, axis=1),
        )


def tell_agreement(random):
    """Mean squares by projections, intraclass correlations and intervals as Shrout and Fleiss write them."""
    for n, k, own, shift in [(6, 4, 1.0, 1.0), (20, 2, 2.0, 0.0), (54, 2, 0.7, 0.3), (109, 5, 0.1, 3.0), (3, 2, 5.0, 0.1)]:
        x = random.standard_normal((n, k)) + own * random.standard_normal((n, 1)) + shift * random.standard_normal(k)
        between, within = (np.eye(size) - 1 / size for size in (n, k))
        bms = (between @ x.mean(axis=1)) @ x.mean(axis=1) * k / (n - 1)
        jms = (within @ x.mean(axis=0)) @ x.mean(axis=0) * n / (k - 1)
        ems = np.sum((between @ x @ within) ** 2) / ((n - 1) * (k - 1))
        consistent = (bms - ems) / (bms + (k - 1) * ems)
        absolute = (bms - ems) / (bms + (k - 1) * ems + k * (jms - ems) / n)
        ratio = bms / ems
        low = ratio / stats.f.ppf(0.975, n - 1, (n - 1) * (k - 1))
        high = ratio * stats.f.ppf(0.975, (n - 1) * (k - 1), n - 1)
        fj, rho = jms / ems, absolute
        inner = n * (1 + (k - 1) * rho) - k * rho
        v = (k - 1) * (n - 1) * (k * rho * fj + inner) ** 2 / ((n - 1) * k**2 * rho**2 * fj**2 + inner**2)
        lower, upper = stats.f.ppf(0.975, n - 1, v), stats.f.ppf(0.975, v, n - 1)
        rest = k * jms + (k * n - k - n) * ems
        tell(
            "stability",
            f"{n} targets measured {k} times",
            table=x,
            absolute=[absolute, n * (bms - lower * ems) / (lower * rest + n * bms), n * (upper * bms - ems) / (rest + n * upper * bms)],
            consistent=[consistent, (low - 1) / (low + k - 1), (high - 1) / (high + k - 1)],
        )


def tell_identified(random):
    for n, width, own in [(10, 5, 0.5), (54, 30, 0.4), (109, 64, 0.2)]:
        pattern = own * random.standard_normal((n, width))
        one, other = (pattern + random.standard_normal((n, width)) + random.standard_normal((n, 1)) for _ in range(2))
        r = np.corrcoef(one, other)[:n, n:]
        hits = np.mean([r.argmax(axis=1) == np.arange(n), r.argmax(axis=0) == np.arange(n)])
        tell("identified", f"{n} people looked for in another session", one=one, other=other, found=[hits, np.diag(r).mean()])


if __name__ == "__main__":
    seeded = np.random.default_rng(2024)
    tell_linear(seeded)
    tell_nonlinear(seeded)
    tell_distance(seeded)
    tell_shared(seeded)
    tell_embedding(seeded)
    tell_calibration(seeded)
    tell_agreement(seeded)
    tell_identified(seeded)
