"""SBLEST (Wang et al. 2023) of two classes and one tap in NumPy: the authors' iteration with a matrix of trials by trials.

Their loops over columns are products of whole arrays here, and their inverse is a Cholesky factor.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from sklearn.base import BaseEstimator, ClassifierMixin

LEAST_NOISE = 1e-8


def spectral(function, matrices):
    """A function of the eigenvalues of symmetric matrices."""
    values, vectors = np.linalg.eigh(matrices)
    values = np.maximum(values, 1e-12 * values[..., -1:])
    return (vectors * function(values)[..., None, :]) @ vectors.swapaxes(-1, -2)


def evidence(logs, y, tolerance=2e-4, steps=5000):
    """The weights W, the losses and the noises of all steps, from logarithms `[M, n, n]` and labels +1 and -1."""
    count, n, _ = logs.shape
    rows = logs.reshape(count, -1)
    columns = logs.transpose(1, 0, 2)
    moments = columns.transpose(0, 2, 1) @ columns
    psi, noise, loss, losses, noises = np.eye(n), 1.0, 1e12, [], []
    for _ in range(steps):
        sigma = (logs @ psi).reshape(count, -1) @ rows.T
        sigma[np.diag_indices(count)] += noise
        factor = cho_factor(sigma, lower=True, overwrite_a=True, check_finite=False)
        solved = cho_solve(factor, y, check_finite=False)
        u = psi @ (solved @ rows).reshape(n, n)
        u = (u + u.T) / 2
        half = solve_triangular(factor[0], rows, lower=True, check_finite=False).reshape(count, n, n).transpose(1, 0, 2)
        known = half.transpose(0, 2, 1) @ half
        seen = psi @ moments
        theta = np.trace(seen, axis1=1, axis2=2).sum() - np.sum((psi @ known) * seen.transpose(0, 2, 1))
        last, loss = loss, y @ solved + 2 * np.log(np.diag(factor[0])).sum()
        psi = (u @ u + n * psi - psi @ known.sum(0) @ psi) / n
        psi = (psi + psi.T) / 2
        noise = max((np.sum((y - rows @ u.ravel()) ** 2) + theta) / count, LEAST_NOISE)
        losses.append(loss)
        noises.append(noise)
        if abs(last - loss) / abs(last) < tolerance:
            break
    return u, losses, noises


class Sblest(BaseEstimator, ClassifierMixin):
    def __init__(self, tolerance, steps):
        self.tolerance, self.steps = tolerance, steps

    def moments(self, x):
        x = x - x.mean(2, keepdims=True)
        r = x @ x.transpose(0, 2, 1)
        return r / np.trace(r, axis1=1, axis2=2)[:, None, None]

    def logs(self, r):
        return spectral(np.log, self.whiten_ @ r @ self.whiten_)

    def fit(self, x, y):
        self.classes_ = np.unique(y)
        r = self.moments(x)
        self.whiten_ = spectral(lambda values: values**-0.5, r.mean(0))
        sign = np.where(y == self.classes_[1], 1.0, -1.0)
        self.weights_, self.losses_, self.noises_ = evidence(self.logs(r), sign, self.tolerance, self.steps)
        return self

    def decision_function(self, x):
        return self.logs(self.moments(x)).reshape(len(x), -1) @ self.weights_.ravel()

    def predict_proba(self, x):
        """The method has none; these leave its decisions as they are."""
        one = 1 / (1 + np.exp(-2 * self.decision_function(x)))
        return np.stack([1 - one, one], 1)
