"""TSMNet (Kobler et al. 2022) in PyTorch: convolutions, covariances, and batch norm on their curved space.

Spectral functions have the authors' gradients, which never go through eigenvectors. Domains are normalised at once, `[D, N, n, n]`, where the
authors' code goes from one to the next, and the power of the norm is taken in the logarithm after it.
"""

from __future__ import annotations

import math
from typing import Callable, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEAST = 1e-7
"""Eigenvalues below this count as this in a logarithm; those nearer to each other than this count as equal."""
SMALL = 1e-5


def turned(vectors: Tensor, values: Tensor) -> Tensor:
    return (vectors * values.unsqueeze(-2)) @ vectors.mT


def symmetric(x: Tensor) -> Tensor:
    return (x + x.mT) / 2


class Spectral(torch.autograd.Function):
    """A function of the eigenvalues of symmetric matrices, given with its derivative."""

    @staticmethod
    def forward(ctx, x: Tensor, function: Callable[[Tensor], Tensor], slope: Callable[[Tensor], Tensor]) -> Tensor:
        values, vectors = torch.linalg.eigh(x)
        mapped = function(values)
        ctx.save_for_backward(values, vectors, mapped)
        ctx.slope = slope
        return turned(vectors, mapped)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None, None]:
        values, vectors, mapped = ctx.saved_tensors
        slope = ctx.slope(values)
        apart = values.unsqueeze(-1) - values.unsqueeze(-2)
        near = apart.abs() < LEAST
        loewner = torch.where(
            near,
            (slope.unsqueeze(-1) + slope.unsqueeze(-2)) / 2,
            (mapped.unsqueeze(-1) - mapped.unsqueeze(-2)) / apart.masked_fill(near, 1),
        )
        return vectors @ (loewner * (vectors.mT @ symmetric(grad) @ vectors)) @ vectors.mT, None, None


def log(x: Tensor) -> Tensor:
    return Spectral.apply(x, lambda v: v.clamp(min=LEAST).log(), lambda v: torch.where(v > LEAST, 1 / v, 0))


def exp(x: Tensor) -> Tensor:
    return Spectral.apply(x, torch.exp, torch.exp)


def power(x: Tensor, p: float) -> Tensor:
    return Spectral.apply(x, lambda v: v**p, lambda v: p * v ** (p - 1))


def rectified(x: Tensor, least: float) -> Tensor:
    return Spectral.apply(x, lambda v: v.clamp(min=least), lambda v: (v > least).to(v))


def roots(x: Tensor) -> tuple[Tensor, Tensor]:
    """The square root and its inverse, without gradients."""
    values, vectors = torch.linalg.eigh(x)
    root = values.sqrt()
    return turned(vectors, root), turned(vectors, 1 / root)


def between(a: Tensor, x: Tensor) -> Tensor:
    """`a x a` for a symmetric `a`, kept symmetric."""
    return symmetric(a @ x @ a)


class Statistics(NamedTuple):
    """Where trials lie and how far they spread: `[D, n, n]` and `[D]`."""

    mean: Tensor
    variance: Tensor

    @staticmethod
    def start(domains: int, size: int) -> Statistics:
        eye = torch.eye(size, dtype=torch.float64)
        return Statistics(eye.expand(domains, -1, -1).clone(), torch.ones(domains, dtype=torch.float64))

    @staticmethod
    def of(x: Tensor) -> Statistics:
        """Of all trials `[N, n, n]` of one domain, by the full Karcher mean."""
        mean, nu, best = x.mean(0), 1.0, math.inf
        for _ in range(50):
            root, whiten = roots(mean)
            step = log(between(whiten, x)).mean(0)
            mean = between(root, exp(nu * step))
            norm = float(step.norm())
            if nu * norm < best:
                nu, best = 0.95 * nu, nu * norm
            else:
                nu *= 0.5
            if norm <= LEAST or nu <= LEAST:
                break
        variance = log(between(roots(mean)[1], x)).square().sum((1, 2)).mean()
        return Statistics(mean.unsqueeze(0), variance.reshape(1))


class Batch(NamedTuple):
    """What trials `[D, N, n, n]` say of their domains: one step towards the Karcher mean from the arithmetic one."""

    root: Tensor
    whiten: Tensor
    logs: Tensor
    mean: Tensor

    @staticmethod
    def of(x: Tensor) -> Batch:
        root, whiten = roots(x.detach().mean(1))
        logs = log(between(whiten.unsqueeze(1), x))
        return Batch(root, whiten, logs, between(root, exp(logs.mean(1))))

    def followed(self, old: Statistics, momentum: float) -> Statistics:
        """Statistics that have gone a share of the way; gradients flow into this batch alone."""
        mean = self.mean
        if momentum < 1:
            root, whiten = roots(old.mean)
            mean = between(root, power(between(whiten, mean), momentum))
        offset = log(between(self.whiten, mean)).unsqueeze(1)
        spread = (self.logs - offset).square().sum((2, 3)).mean(1)
        return Statistics(mean, (1 - momentum) * old.variance + momentum * spread)


class TsmNet(nn.Module):
    def __init__(
        self, channels: int, classes: int, filters: int = 4, kernel: int = 25, outputs: int = 40, subspace: int = 20,
        least_eigenvalue: float = 1e-4,
    ):  # fmt: skip
        super().__init__()
        self.ends, self.least_eigenvalue = ((kernel - 1) // 2, kernel // 2), least_eigenvalue
        self.temporal = nn.Conv2d(1, filters, (1, kernel))
        self.spatial = nn.Conv2d(filters, outputs, (channels, 1))
        start = torch.rand(outputs, subspace, dtype=torch.float64)
        self.bimap = nn.Parameter(start @ roots(start.T @ start)[1])
        self.scale = nn.Parameter(torch.ones((), dtype=torch.float64))
        self.head = nn.Linear(subspace * (subspace + 1) // 2, classes, dtype=torch.float64)
        self.lower = torch.tril_indices(subspace, subspace, -1)

    def matrices(self, x: Tensor) -> Tensor:
        """`[B, C, T]` to positive definite matrices `[B, n, n]`."""
        x = self.spatial(self.temporal(F.pad(x.unsqueeze(1), (*self.ends, 0, 0), mode="reflect"))).squeeze(2)
        x = x.double()
        x = x - x.mean(2, keepdim=True)
        return rectified(symmetric(self.bimap.T @ (x @ x.mT / x.shape[2]) @ self.bimap), self.least_eigenvalue)

    def logits(self, x: Tensor, by: Statistics) -> Tensor:
        """Matrices `[D, N, n, n]` normalised by the statistics of their domains, to `[D, N, K]`."""
        logs = log(between(power(by.mean, -0.5).unsqueeze(1), x))
        logs = logs * (self.scale / (by.variance + SMALL).sqrt())[:, None, None, None]
        diagonal, rest = logs.diagonal(dim1=2, dim2=3), logs[..., self.lower[0], self.lower[1]]
        return self.head(torch.cat([diagonal, math.sqrt(2) * rest], 2))


class StiefelAdam:
    """Riemannian Adam for one matrix with orthonormal columns, with a Cayley step."""

    def __init__(self, weight: nn.Parameter, lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8):
        self.weight, self.lr, self.betas, self.eps = weight, lr, betas, eps
        self.first, self.second, self.steps = torch.zeros_like(weight), 0.0, 0

    @torch.no_grad()
    def step(self) -> None:
        w, grad, (b1, b2) = self.weight, self.weight.grad, self.betas
        tangent = grad - w @ grad.T @ w
        length = float(tangent.square().sum() - 0.5 * (w.T @ tangent).square().sum())
        self.steps += 1
        self.first = b1 * self.first + (1 - b1) * tangent
        self.second = b2 * self.second + (1 - b2) * length
        size = math.sqrt(self.second / (1 - b2**self.steps)) + self.eps
        move = self.first * (-self.lr / (1 - b1**self.steps) / size)
        half, eye = (move @ w.T - w @ move.T) / 2, torch.eye(len(w), dtype=w.dtype)
        both = torch.linalg.solve(eye - half, (eye + half) @ torch.cat([w, self.first], 1))
        w.copy_(both[:, : w.shape[1]])
        self.first = both[:, w.shape[1] :]


def momenta(epoch: int, epochs: int, share: float, kept: float) -> tuple[float, float]:
    """For training and for decoding, in an epoch counted from 1."""
    falling = max(epochs - 10, 2)
    left = max(falling - epoch, 0) / (falling - 1)
    return 1 + share - share**left, 1 - kept ** (share * (1 - left) + left)
