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


def moabb_statistics(data, given):
    """MOABB's own table of all pairs of columns on one data set; scores are means of two sessions."""
    rows = [
        (data, model, who, session, row[model] + (session - 0.5) / 4)
        for who, row in enumerate(given)
        for model in range(given.shape[1])
        for session in range(2)
    ]
    return moabb.compute_dataset_statistics(pd.DataFrame(rows, columns=["dataset", "pipeline", "subject", "session", "score"]))


def moabb_table(data, given):
    """The same where people are missing: each pair of columns on the people both have."""
    if np.isfinite(given).all():
        return moabb_statistics(data, given)
    found = []
    for i in range(MODELS):
        for j in range(i):
            both = given[:, [i, j]]
            pair = moabb_statistics(data, both[np.isfinite(both).all(axis=1)])
            found.append(pair.replace({"pipe1": {0: i, 1: j}, "pipe2": {0: i, 1: j}}))
    return pd.concat(found)


def bounds(found, differences):
    """Between what p may be. One that is not drawn may be nothing else, and is what SciPy says where SciPy has the same test."""
    n = len(differences)
    if n <= 13:
        p = stats.permutation_test(
            (differences,), np.sum, permutation_type="samples", alternative="greater", n_resamples=np.inf, vectorized=True
        ).pvalue
        # MOABB never says 1.
        least = most = min(p, 1 - 2.0**-n)
    elif n < 20:
        p = against_chance(differences)
        error = SIGMAS * np.sqrt(max(p * (1 - p), 1e-4) / 10_000)
        least, most = np.clip([p - error, p + error], 1e-4, 1 - 1e-4)
    else:
        least = most = found
    assert least - 1e-12 <= found <= most + 1e-12, (n, least, found, most)
    return (found, found) if least == most else (least, most)


def tell_tables(random):
    cases = [(kind, [n]) for kind in (continuous, tied, equal, lacking) for n in (5, 13, 14, 19, 20, 40, 60)]
    cases += [(kind, sizes) for kind in (continuous, tied, lacking) for sizes in ([9, 54], [13, 20, 60], [5, 15, 19, 40])]
    for kind, sizes in cases:
        tables = [kind(random, n) for n in sizes]
        found = [moabb_table(f"data{k}", given) for k, (_, given) in enumerate(tables)]
        least, most, effects, people = (np.full((len(sizes), MODELS, MODELS), np.nan) for _ in range(4))
        least_all, most_all, effect_all = (np.full((MODELS, MODELS), np.nan) for _ in range(3))
        for i in range(MODELS):
            for j in range(MODELS):
                if i == j:
                    continue
                for k, (_, given) in enumerate(tables):
                    own = found[k][(found[k].pipe1 == i) & (found[k].pipe2 == j)].iloc[0]
                    differences = given[:, i] - given[:, j]
                    differences = differences[np.isfinite(differences)]
                    assert own.nsub == len(differences), (own.nsub, len(differences))
                    least[k, i, j], most[k, i, j] = bounds(own.p, differences)
                    effects[k, i, j], people[k, i, j] = own.smd, own.nsub
                n = people[:, i, j]
                least_all[i, j] = moabb.combine_pvalues(pd.Series(least[:, i, j]), n)
                most_all[i, j] = moabb.combine_pvalues(pd.Series(most[:, i, j]), n)
                effect_all[i, j] = moabb.combine_effects(effects[:, i, j], n)
        if kind is not lacking:
            # All at once, as MOABB's users do it.
            p, effect = (table.to_numpy() for table in moabb.find_significant_differences(pd.concat(found)))
            apart = ~np.eye(MODELS, dtype=bool)
            assert np.all((least_all <= p * (1 + 1e-12))[apart] & (p <= most_all * (1 + 1e-12))[apart]), (least_all, p, most_all)
            np.testing.assert_allclose(effect, effect_all, rtol=1e-12)
        tell(
            "table",
            f"{kind.__name__} scores of {sizes} people",
            {"sizes": sizes},
            **{f"scores{k}": table for k, (table, _) in enumerate(tables)},
            least=least,
            most=most,
            effects=effects,
            people=people,
            least_all=least_all,
            most_all=most_all,
            effect_all=effect_all,
        )


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
