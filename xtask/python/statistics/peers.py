"""What MOABB and SciPy make of random score tables, for the statistics to be held against.

    python peers.py

Each thing told is a line of JSON, which names arrays and their shapes, and then their values as little-endian doubles.
"""

import importlib.util
import json
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

warnings.simplefilter("ignore")
_out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)

MODELS = 4
# A drawn p is off by a standard error or two; five never happen.
SIGMAS = 5


def own_file(name):
    """One module of MOABB without the rest, which reads recordings and wants many libraries."""
    path = Path(importlib.util.find_spec("moabb").origin).parent / "analysis" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


moabb = own_file("meta_analysis")
chance_level = own_file("chance_level")


def tell(what, title, settings=None, **arrays):
    """Says one thing."""
    arrays = {name: np.asarray(values, "f8") for name, values in arrays.items()}
    parts = [[name, list(values.shape)] for name, values in arrays.items()]
    head = {"what": what, "title": title, "settings": settings or {}, "arrays": parts}
    values = np.concatenate([np.ravel(values) for values in arrays.values()]).astype("<f8")
    _out.write(json.dumps(head | {"values": values.size}).encode() + b"\n" + values.tobytes())
    _out.flush()


# Score tables `[people, models]`: what is told, and what the peers get. Both are the same but for scores that are shares of a number of
# trials: peers get the numbers, as their sums of shares take rounding for differences.


def continuous(random, people):
    scores = 0.7 + 0.1 * random.standard_normal((people, 1)) + 0.05 * random.standard_normal((people, MODELS))
    scores += 0.02 * np.arange(MODELS)
    return scores, scores


def tied(random, people):
    trials = random.binomial(45, 0.55 + 0.05 * np.arange(MODELS), (people, MODELS)).astype(float)
    return trials / 45, trials


def equal(random, people):
    """Mostly the same; the first two always, the last one always a trial better than the first."""
    trials = random.binomial(45, 0.7, (people, 1)) + random.integers(-1, 2, (people, MODELS)) * (random.random((people, MODELS)) < 0.3)
    trials[:, 1] = trials[:, 0]
    trials[:, 3] = trials[:, 0] + 1
    return trials / 45, trials.astype(float)


def lacking(random, people):
    """Somebody is missing somewhere."""
    scores, _ = continuous(random, people)
    scores[random.random(scores.shape) < 0.15] = np.nan
    # Nobody has too few people to say anything about.
    scores[:3] = 0.5 + 0.1 * random.standard_normal((3, MODELS))
    return scores, scores


def against_chance(differences):
    """The probability that sums with flipped signs reach the sum, from all patterns."""
    sums = np.zeros(1)
    for d in differences:
        sums = np.concatenate([sums - d, sums + d])
    return np.mean(sums >= differences.sum() - 1e-9)


def moabb_pair(data, a, b):
    """MOABB's p, and between what others may be, effect and people of two columns on one data set."""
    both = np.column_stack([a, b])
    both = both[np.isfinite(both).all(axis=1)]
    n = len(both)
    frame = pd.DataFrame(
        [(data, "AB"[model], who, 0, score) for who, row in enumerate(both) for model, score in enumerate(row)],
        columns=["dataset", "pipeline", "subject", "session", "score"],
    )
    found = moabb.compute_dataset_statistics(frame)
    found = found[(found.pipe1 == "A") & (found.pipe2 == "B")].iloc[0]
    assert found.nsub == n, (found.nsub, n)
    differences = both[:, 0] - both[:, 1]
    least = most = found.p
    if n <= 13:
        # SciPy counts the same patterns; MOABB never says 1.
        whole = stats.permutation_test(
            (differences,), np.sum, permutation_type="samples", alternative="greater", n_resamples=np.inf, vectorized=False
        ).pvalue
        assert abs(min(whole, 1 - 2.0**-n) - found.p) < 1e-12, (whole, found.p)
    elif n < 20:
        p = against_chance(differences)
        error = SIGMAS * np.sqrt(p * (1 - p) / 10_000)
        least, most = max(p - error, 1e-4), min(p + error + 1e-4, 1 - 1e-4)
        assert least <= found.p <= most, (least, found.p, most)
    return found.p, least, most, found.smd, n


def tell_tables(random):
    cases = [(kind, [n]) for kind in (continuous, tied, equal, lacking) for n in (5, 13, 14, 19, 20, 40, 60)]
    cases += [(kind, sizes) for kind in (continuous, tied, lacking) for sizes in ([9, 54], [13, 20, 60], [5, 15, 19, 40])]
    for kind, sizes in cases:
        tables = [kind(random, n) for n in sizes]
        arrays = {f"scores{i}": table for i, (table, _) in enumerate(tables)}
        shape = (len(sizes), MODELS, MODELS)
        least, most, effects, people = (np.zeros(shape) for _ in range(4))
        least_all, most_all, effect_all = (np.full(shape[1:], np.nan) for _ in range(3))
        for i in range(MODELS):
            for j in range(MODELS):
                if i == j:
                    continue
                for k, (_, given) in enumerate(tables):
                    _, least[k, i, j], most[k, i, j], effects[k, i, j], people[k, i, j] = moabb_pair(f"data{k}", given[:, i], given[:, j])
                n = people[:, i, j]
                least_all[i, j] = moabb.combine_pvalues(pd.Series(least[:, i, j]), n)
                most_all[i, j] = moabb.combine_pvalues(pd.Series(most[:, i, j]), n)
                effect_all[i, j] = moabb.combine_effects(effects[:, i, j], n)
        if kind is not lacking and all(n <= 13 or n >= 20 for n in sizes):
            whole(tables, least_all, effect_all)
        tell(
            "table",
            f"{kind.__name__} scores of {sizes} people",
            {"sizes": sizes, "models": MODELS},
            **arrays,
            least=least,
            most=most,
            effects=effects,
            people=people,
            least_all=least_all,
            most_all=most_all,
            effect_all=effect_all,
        )


def whole(tables, p, effect):
    """All models at once, as MOABB's users do it, are what its pairs are."""
    rows = [
        (f"data{k}", f"model{i}", who, session, given[who, i])
        for k, (_, given) in enumerate(tables)
        for who in range(len(given))
        for i in range(MODELS)
        for session in range(2)
    ]
    frame = pd.DataFrame(rows, columns=["dataset", "pipeline", "subject", "session", "score"])
    found_p, found_effect = moabb.find_significant_differences(moabb.compute_dataset_statistics(frame))
    np.testing.assert_allclose(found_p.to_numpy(), p, rtol=1e-12)
    np.testing.assert_allclose(found_effect.to_numpy(), effect, rtol=1e-12)


def tell_combined(random):
    """Probabilities far from and near to 0 and 1."""
    for _ in range(200):
        k = random.integers(1, 8)
        p = 10.0 ** -random.uniform(0, 250 ** random.random(), k)
        p = np.where(random.random(k) < 0.5, p, np.minimum(1 - p, np.nextafter(1, 0)))
        n = random.integers(1, 110, k)
        effects = random.standard_normal(k)
        tell(
            "combined",
            f"{k} data sets as one",
            p=p,
            effects=effects,
            people=n,
            combined=[moabb.combine_pvalues(pd.Series(p), n), moabb.combine_effects(effects, n)],
        )


def tell_holm(random):
    for k in (1, 2, 6, 90):
        p = np.round(random.random(k) ** 3, 2)
        order = np.argsort(p, kind="stable")
        steps = np.minimum((k - np.arange(k)) * p[order], 1)
        adjusted = np.empty(k)
        adjusted[order] = np.maximum.accumulate(steps)
        tell("holm", f"{k} comparisons at once", p=p, adjusted=adjusted)


def tell_folds(random):
    for folds, train, test in ((2, 50, 50), (5, 80, 20), (10, 90, 10), (50, 160, 40), (100, 99, 1)):
        for shift in (-0.2, 0.0, 0.01, 0.05, 0.3):
            scores = 0.7 + 0.04 * random.standard_normal((folds, 2)) + [shift, 0]
            p = moabb.compute_pvals_corrected_ttest(pd.DataFrame(scores, columns=["A", "B"]), train, test)[0, 1]
            differences = scores[:, 0] - scores[:, 1]
            tell("folds", f"{folds} folds", {"train": train, "test": test}, differences=differences, p=[p])


def tell_chance():
    cases = [
        (n, classes, alpha, chance_level.adjusted_chance_level(classes, n, alpha))
        for n in [*range(1, 60), 100, 200, 288, 576, 1000, 5000]
        for classes in (2, 3, 4, 6)
        for alpha in (0.05, 0.01, 0.001)
    ]
    tell("chance", "chance thresholds", cases=cases)


def tell_intervals(random):
    """Bootstrap intervals, and how far they may be off when they are drawn anew: the standard error of a percentile of 10 000 means."""
    for n in (5, 9, 20, 54, 109):
        values = 0.03 + 0.05 * random.standard_normal(n)
        found = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=200_000, batch=10_000, rng=random)
        low, high = found.confidence_interval
        density = stats.norm.pdf(stats.norm.isf(0.025))
        error = np.sqrt(0.025 * 0.975 / 10_000) / density * values.std(ddof=1) / np.sqrt(n)
        tell("interval", f"interval of {n} differences", values=values, interval=[low, high], error=[SIGMAS * error])


if __name__ == "__main__":
    seeded = np.random.default_rng(2018)
    # MOABB draws from NumPy's global generator.
    np.random.seed(2018)
    tell_tables(seeded)
    tell_combined(seeded)
    tell_holm(seeded)
    tell_folds(seeded)
    tell_chance()
    tell_intervals(seeded)
