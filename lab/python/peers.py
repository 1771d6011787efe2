"""PyTorch peers of the networks in this repository: PTSM, EEGNet, DANN, ACON, DeepConvNet, ShallowConvNet, EEGConformer.

Plain modules with PyTorch's natural parameter layout. They are the reference for golden numbers (`check_peers.py`,
`two_steps.py`) and the opponent in the speed comparison (`bench_worker.py`). All of them take trials `[B, C, T]`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Iterable, NamedTuple, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# ---------------------------------------------------------------------------------------------------------------- fill


def fill(shape: int | Sequence[int], k: int, s: float) -> Tensor:
    """Deterministic tensor `s * sin(0.13 (i+1) + 0.9 k)`, row-major, float64."""
    shape = [shape] if isinstance(shape, int) else list(shape)
    i = torch.arange(math.prod(shape), dtype=torch.float64)
    return (s * torch.sin(0.13 * (i + 1) + 0.9 * k)).reshape(shape)


def fill_input(batch: int, channels: int, time: int) -> Tensor:
    """Deterministic trials `[B, C, T]`, float64."""
    b = torch.arange(batch, dtype=torch.float64)[:, None, None]
    c = torch.arange(channels, dtype=torch.float64)[None, :, None]
    t = torch.arange(time, dtype=torch.float64)[None, None, :] + 1
    return torch.sin(0.05 * t * (c + 1) + 0.3 * b) + 0.5 * torch.cos(0.11 * t + c + 0.2 * b)


@torch.no_grad()
def fill_parameters(parameters: Iterable[Tensor], scales: float | Sequence[float], shift_bias: float = 0.0) -> None:
    """Fills `parameters` in order (k = 1, 2, ..); vectors are biases and get `shift_bias` added."""
    for k, p in enumerate(parameters, 1):
        p.copy_(fill(p.shape, k, scales if isinstance(scales, float) else scales[k - 1]))
        if p.ndim == 1:
            p.add_(shift_bias)


def count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters() if p.requires_grad)


def count_decoding(module: nn.Module) -> int:
    """The same without the parts named in `training_only`."""
    apart = getattr(module, "training_only", ())
    return count(module) - sum(count(part) for name, part in module.named_children() if name in apart)


@torch.no_grad()
def max_norm_(weight: Tensor, limit: float) -> None:
    """Scales every output unit of `weight` whose L2 norm exceeds `limit` down to `limit`."""
    norms = weight.flatten(1).norm(dim=1).clamp_(min=limit)
    weight.mul_((limit / norms).reshape(-1, *[1] * (weight.ndim - 1)))


def glorot_(module: nn.Module) -> None:
    """Glorot-uniform weights and zero biases for every convolution and linear layer."""
    for layer in module.modules():
        if isinstance(layer, (nn.Conv1d, nn.Conv2d, nn.Linear)):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


# ---------------------------------------------------------------------------------------------------------------- PTSM


@dataclass
class PtsmConfig:
    channels: int
    time: int
    classes: int
    subjects: int
    pool: str = "last"
    pooled: int = 16
    spatial_width: int = 32
    temporal_width: int = 16
    encoder: tuple[int, int, int] = (32, 64, 128)
    shared: tuple[int, int] = (256, 128)
    features: int = 64
    hidden: int = 64
    dropout: float = 0.5
    each_sizes: tuple[int, int, int] | None = None
    """Overrides the three output lengths of `pool = each`."""

    def pool_sizes(self) -> tuple[int | None, int | None, int]:
        if self.pool == "last":
            return None, None, self.pooled
        if self.pool != "each":
            raise ValueError(f"pool must be `last` or `each`, not {self.pool!r}")
        return self.each_sizes or (
            max(self.pooled, math.ceil(self.time / 4)),
            max(self.pooled, math.ceil(self.time / 16)),
            self.pooled,
        )


@dataclass
class Weights:
    """Loss weights, and which losses take the form printed in the paper instead of the bounded default."""

    subject_ce: float = 0.1
    decouple: float = 0.1
    orth: float = 1.0
    cov: float = 1.0
    info: float = 0.1
    sparse_features: float = 0.01
    mask: float = 0.1
    sim: float = 1.0
    sparse: float = 0.01
    size: float = 1.0
    contrast: float = 0.1
    contrast_task: float = 1.0
    contrast_subject: float = 0.1
    rho: float = 0.5
    tau: float = 0.1
    literal: frozenset[str] = field(default_factory=frozenset)


class Masks(NamedTuple):
    space_p: Tensor  # [B, C]
    time_p: Tensor  # [B, T]
    space_c: Tensor
    time_c: Tensor


class PtsmOutput(NamedTuple):
    task_logits: Tensor
    subject_logits: Tensor
    f_task: Tensor
    f_subject: Tensor
    masks: Masks


class MaskGenerator(nn.Module):
    """One pair of mask generators: spatial (log variances -> MLP) and temporal (two convolutions)."""

    def __init__(self, cfg: PtsmConfig):
        super().__init__()
        self.spatial = nn.Sequential(
            nn.Linear(cfg.channels, cfg.spatial_width), nn.ELU(), nn.Linear(cfg.spatial_width, cfg.channels)
        )
        self.temporal = nn.Sequential(
            nn.Conv1d(cfg.channels, cfg.temporal_width, 7, padding=3),
            nn.ELU(),
            nn.Conv1d(cfg.temporal_width, 1, 7, padding=3),
        )

    def forward(self, x: Tensor, descriptor: Tensor) -> tuple[Tensor, Tensor]:
        return self.spatial(descriptor).sigmoid(), self.temporal(x).squeeze(1).sigmoid()


class EncoderBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, dropout: float, pooled: int | None):
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, 5, padding=2)
        self.norm = nn.BatchNorm1d(outputs)
        self.dropout = nn.Dropout(dropout)
        self.pool = nn.Identity() if pooled is None else nn.AdaptiveAvgPool1d(pooled)

    def forward(self, x: Tensor) -> Tensor:
        return self.pool(self.dropout(F.elu(self.norm(self.conv(x)))))


class FeatureHead(nn.Module):
    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.norm = nn.BatchNorm1d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return F.elu(self.norm(self.linear(x)))


class Ptsm(nn.Module):
    training_only = ("subject", "subject_head")

    def __init__(self, cfg: PtsmConfig):
        super().__init__()
        self.cfg = cfg
        self.personal = MaskGenerator(cfg)
        self.common = MaskGenerator(cfg)
        self.fusion = nn.ParameterDict({"time": torch.zeros(1), "space": torch.zeros(1)})
        widths = (cfg.channels, *cfg.encoder)
        self.encoder = nn.Sequential(
            *(EncoderBlock(a, b, cfg.dropout, p) for a, b, p in zip(widths, widths[1:], cfg.pool_sizes()))
        )
        self.shared = nn.Sequential(
            nn.Linear(cfg.encoder[-1] * cfg.pooled, cfg.shared[0]),
            nn.ELU(),
            nn.Dropout(cfg.dropout),
            nn.Linear(*cfg.shared),
        )
        self.task = FeatureHead(cfg.shared[1], cfg.features)
        self.subject = FeatureHead(cfg.shared[1], cfg.features)
        self.task_head = self._classifier(cfg.classes)
        self.subject_head = self._classifier(cfg.subjects)

    def _classifier(self, outputs: int) -> nn.Sequential:
        cfg = self.cfg
        return nn.Sequential(
            nn.Linear(cfg.features, cfg.hidden), nn.ReLU(), nn.Dropout(cfg.dropout), nn.Linear(cfg.hidden, outputs)
        )

    def trunk(self, x: Tensor) -> tuple[Tensor, Masks]:
        descriptor = (x.var(dim=2, correction=0) + 1e-6).log()
        descriptor = descriptor - descriptor.mean(dim=1, keepdim=True)
        masks = Masks(*self.personal(x, descriptor), *self.common(x, descriptor))
        a, b = self.fusion["time"].sigmoid(), self.fusion["space"].sigmoid()
        space = b * masks.space_p + (1 - b) * masks.space_c
        time = a * masks.time_p + (1 - a) * masks.time_c
        masked = x * space.unsqueeze(2) * time.unsqueeze(1)
        return self.shared(self.encoder(masked).flatten(1)), masks

    def forward(self, x: Tensor) -> PtsmOutput:
        z, masks = self.trunk(x)
        f_task, f_subject = self.task(z), self.subject(z)
        return PtsmOutput(self.task_head(f_task), self.subject_head(f_subject), f_task, f_subject, masks)

    def probabilities(self, x: Tensor) -> Tensor:
        return self.task_head(self.task(self.trunk(x)[0])).softmax(1)

    def loss(self, x: Tensor, y: Tensor, subject: Tensor, weights: Weights = Weights()) -> Tensor:
        return total_loss(ptsm_losses(self(x), y, subject, weights), weights)


class PtsmTask(nn.Module):
    """The released part of a PTSM model: trials to task logits, without anything of the subject branch."""

    def __init__(self, model: Ptsm):
        super().__init__()
        self.model = model
        del model.subject, model.subject_head

    def forward(self, x: Tensor) -> Tensor:
        return self.model.task_head(self.model.task(self.model.trunk(x)[0]))


class Equivariant(nn.Module):
    """A network of two classes that sees each trial from both sides; neighbouring channels are each other's mirror images."""

    def __init__(self, model: nn.Module, channels: int):
        super().__init__()
        self.model = model
        order = [i ^ 1 if i ^ 1 < channels else i for i in range(channels)]
        self.register_buffer("order", torch.tensor(order), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        seen, mirrored = self.model(torch.cat([x, x[:, self.order]])).chunk(2)
        return (seen + mirrored.flip(1)) / 2


def nt_xent(features: Tensor, labels: Tensor, tau: float) -> Tensor:
    """Supervised NT-Xent; anchors without a positive are left out, 0 if no anchor has one."""
    z = F.normalize(features, dim=1)
    similarity = z @ z.T / tau
    own = torch.eye(len(z), dtype=torch.bool, device=z.device)
    positive = (labels[:, None] == labels[None, :]) & ~own
    log_p = similarity - similarity.masked_fill(own, -math.inf).logsumexp(dim=1, keepdim=True)
    n = positive.sum(dim=1)
    per_anchor = -(log_p * positive).sum(dim=1) / n.clamp(min=1)
    return per_anchor.sum() / (n > 0).sum().clamp(min=1)


def mask_losses(m: Masks, w: Weights) -> dict[str, Tensor]:
    """L_sim, L_sparse and L_size from the factors; the outer products are never formed."""
    mean_p = m.space_p.mean(1) * m.time_p.mean(1)
    mean_c = m.space_c.mean(1) * m.time_c.mean(1)
    sparse = (mean_p + mean_c).mean()
    if "sparse" in w.literal:
        sparse = sparse * (m.space_p.shape[1] * m.time_p.shape[1])
    cosine = F.cosine_similarity(m.space_p, m.space_c, dim=1) * F.cosine_similarity(m.time_p, m.time_c, dim=1)
    return {
        "sim": cosine.mean(),
        "sparse": sparse,
        "size": ((mean_p - w.rho).abs() + (mean_c - w.rho).abs()).mean(),
    }


def feature_losses(t: Tensor, s: Tensor, w: Weights) -> dict[str, Tensor]:
    """L_orth, L_cov, L_info and L_sparse' of task features `t` and subject features `s`, both `[B, d]`."""
    tc, sc = t - t.mean(0), s - s.mean(0)
    n = len(t) - 1
    cov_t, cov_s, cov_ts = tc.T @ tc / n, sc.T @ sc / n, tc.T @ sc / n
    scale = cov_t.norm() * cov_s.norm()
    var = torch.cat([cov_t.diagonal(), cov_s.diagonal()])
    info = -var.sum() if "info" in w.literal else -var.clamp(max=1).sum() / t.shape[1]
    size = t.abs().sum() + s.abs().sum()
    return {
        "orth": F.cosine_similarity(t, s, dim=1, eps=1e-8).abs().mean(),
        "cov": cov_ts.norm() / (scale if "cov" in w.literal else scale.sqrt()),
        "info": info,
        "sparse_features": size if "sparse_features" in w.literal else size / t.numel(),
    }


def ptsm_losses(out: PtsmOutput, y: Tensor, subject: Tensor, w: Weights = Weights()) -> dict[str, Tensor]:
    return {
        "task": F.cross_entropy(out.task_logits, y),
        "subject": F.cross_entropy(out.subject_logits, subject),
        **mask_losses(out.masks, w),
        **feature_losses(out.f_task, out.f_subject, w),
        "contrast_task": nt_xent(out.f_task, y, w.tau),
        "contrast_subject": nt_xent(out.f_subject, subject, w.tau),
    }


def total_loss(loss: dict[str, Tensor], w: Weights = Weights()) -> Tensor:
    def part(*names: str) -> Tensor:
        return sum(getattr(w, name) * loss[name] for name in names)

    return (
        loss["task"]
        + w.subject_ce * loss["subject"]
        + w.decouple * part("orth", "cov", "info", "sparse_features")
        + w.mask * part("sim", "sparse", "size")
        + w.contrast * part("contrast_task", "contrast_subject")
    )


# -------------------------------------------------------------------------------------------------------------- EEGNet


class EegNet(nn.Module):
    """EEGNet in the Keras form: asymmetric `same` padding, batch norm eps 1e-3 and momentum 0.01."""

    def __init__(
        self,
        channels: int,
        time: int,
        classes: int,
        f1: int = 8,
        depth: int = 2,
        f2: int | None = None,
        kernel: int = 64,
        separable_kernel: int = 16,
        pools: tuple[int, int] = (4, 8),
        dropout: float = 0.25,
    ):
        super().__init__()
        wide = f1 * depth
        f2 = f2 or wide
        norm = {"eps": 1e-3, "momentum": 0.01}
        self.pad1, self.pad2 = (((k - 1) // 2, k // 2) for k in (kernel, separable_kernel))
        self.temporal = nn.Conv2d(1, f1, (1, kernel), bias=False)
        self.temporal_norm = nn.BatchNorm2d(f1, **norm)
        self.spatial = nn.Conv2d(f1, wide, (channels, 1), groups=f1, bias=False)
        self.spatial_norm = nn.BatchNorm2d(wide, **norm)
        self.pool1 = nn.AvgPool2d((1, pools[0]))
        self.depthwise = nn.Conv2d(wide, wide, (1, separable_kernel), groups=wide, bias=False)
        self.pointwise = nn.Conv2d(wide, f2, 1, bias=False)
        self.separable_norm = nn.BatchNorm2d(f2, **norm)
        self.pool2 = nn.AvgPool2d((1, pools[1]))
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(f2 * (time // pools[0] // pools[1]), classes)
        glorot_(self)

    def features(self, x: Tensor) -> Tensor:
        x = self.temporal_norm(self.temporal(F.pad(x.unsqueeze(1), self.pad1)))
        x = self.dropout(self.pool1(F.elu(self.spatial_norm(self.spatial(x)))))
        x = self.separable_norm(self.pointwise(self.depthwise(F.pad(x, self.pad2))))
        return self.dropout(self.pool2(F.elu(x))).flatten(1)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x))

    def loss(self, x: Tensor, y: Tensor, _subject: Tensor | None = None) -> Tensor:
        return F.cross_entropy(self(x), y)

    def constrain_(self) -> None:
        """Max-norm; call after every optimizer step."""
        max_norm_(self.spatial.weight, 1.0)
        max_norm_(self.classifier.weight, 0.25)


# ---------------------------------------------------------------------------------------------------------------- DANN


class Reversal(torch.autograd.Function):
    """Passes values on and multiplies gradients by `-factor`."""

    @staticmethod
    def forward(ctx, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None]:
        return -ctx.factor * grad, None


def domain_head(width: int, hidden: int | None, domains: int) -> nn.Sequential:
    """Linear without a hidden width."""
    if hidden is None:
        return nn.Sequential(nn.Linear(width, domains))
    return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, domains))


class Dann(EegNet):
    """EEGNet with a domain head behind a reversal."""

    training_only = ("domain_head",)

    def __init__(self, *args, hidden: int | None, domains: int = 2, **kwargs):
        super().__init__(*args, **kwargs)
        self.domain_head = domain_head(self.classifier.in_features, hidden, domains)

    def losses(self, x: Tensor, y: Tensor, domain: Tensor, factor: float) -> dict[str, Tensor]:
        """The first trials are those with labels `y`."""
        features = self.features(x)
        task = F.cross_entropy(self.classifier(features)[: len(y)], y)
        return {"task": task, "domain": F.cross_entropy(self.domain_head(Reversal.apply(features, factor)), domain)}


class PtsmDann(Ptsm):
    """PTSM's masks, encoder and task branch with a domain head behind a reversal in place of the subject branch."""

    training_only = ("domain_head",)

    def __init__(self, cfg: PtsmConfig, hidden: int | None, domains: int = 2):
        super().__init__(cfg)
        del self.subject, self.subject_head
        self.domain_head = domain_head(cfg.features, hidden, domains)

    def losses(
        self, x: Tensor, y: Tensor, domain: Tensor, factor: float, weights: Weights = Weights()
    ) -> dict[str, Tensor]:
        """The first trials are those with labels `y`. The losses of the masks are weighed and summed."""
        z, masks = self.trunk(x)
        features = self.task(z)
        mask = mask_losses(masks, weights)
        return {
            "task": F.cross_entropy(self.task_head(features)[: len(y)], y),
            "mask": weights.mask * sum(getattr(weights, name) * loss for name, loss in mask.items()),
            "domain": F.cross_entropy(self.domain_head(Reversal.apply(features, factor)), domain),
        }


# ---------------------------------------------------------------------------------------------------------------- ACON


class Mixing(nn.Module):
    """Complex weights `[C, C, m]` as two real tensors."""

    def __init__(self, channels: int, bins: int):
        super().__init__()
        self.real = nn.Parameter(torch.rand(channels, channels, bins) / channels**2)
        self.imaginary = nn.Parameter(torch.rand(channels, channels, bins) / channels**2)

    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum("bijw,iow->bojw", x, torch.complex(self.real, self.imaginary))


class Acon(nn.Module):
    """ACON: a temporal branch, a frequency branch and a critic. With a rank the first layer of the frequency head goes through it."""

    training_only = ("frequency", "critic")

    def __init__(
        self, channels: int, classes: int, width: int, features: int, kernel: int, stride: int, period: int, pooled: int,
        critic: int, fft_normalize: bool, rank: int | None = None, dropout: float = 0.0,
    ):  # fmt: skip
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.period, self.pooled, self.fft_normalize = period, pooled, fft_normalize
        sizes = [(channels, width, kernel, stride), (width, 2 * width, 8, 1), (2 * width, features, 8, 1)]
        blocks = {
            str(i): nn.ModuleDict(
                {"conv": nn.Conv1d(a, b, k, s, k // 2, bias=False), "norm": nn.BatchNorm1d(b)}
            )
            for i, (a, b, k, s) in enumerate(sizes)
        }
        self.time = nn.ModuleDict(blocks | {"head": nn.Linear(features, classes)})
        n = channels * (period // 2 + 1)
        full = rank is None or rank >= n
        first = nn.Linear(n, n) if full else nn.Sequential(nn.Linear(n, rank, bias=False), nn.Linear(rank, n))
        self.frequency = nn.ModuleDict(
            {"0": first, "1": nn.Linear(n, classes), "mix": Mixing(channels, period // 2 + 1)}
        )
        layers = [nn.Linear(pooled * features, critic), nn.Linear(critic, critic), nn.Linear(critic, 2)]
        self.critic = nn.ModuleDict({str(i): layer for i, layer in enumerate(layers)})

    def forward(self, x: Tensor) -> Tensor:
        return self.temporal(x)[1]

    def temporal(self, x: Tensor) -> tuple[Tensor, Tensor]:
        for i in "012":
            x = F.relu(self.time[i]["norm"](self.time[i]["conv"](x)))
            x = F.max_pool1d(x, 2, 2, 1)
            x = self.dropout(x) if i == "0" else x
        h = x.mean(2)
        return h, self.time["head"](h)

    def spectral(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = F.pad(x, (0, -x.shape[2] % self.period)).unflatten(2, (-1, self.period))
        x = torch.fft.rfft(x, norm="ortho")
        if self.fft_normalize:
            x = x / torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        amplitude = self.frequency["mix"](x).abs().mean(2).flatten(1)
        g = self.frequency["0"](amplitude)
        return g, self.frequency["1"](g)

    def judge(self, g: Tensor, h: Tensor) -> Tensor:
        a = F.adaptive_avg_pool1d(g.unsqueeze(1), self.pooled).squeeze(1).softmax(1)
        y = torch.einsum("ba,bf->baf", a, h).flatten(1)
        y = F.relu(self.critic["1"](F.relu(self.critic["0"](y))))
        return self.critic["2"](y)

    def losses(self, source: Tensor, target: Tensor, y: Tensor, critic: torch.optim.Optimizer) -> dict[str, Tensor]:
        """The critic learns from features as they are; then everything but the critic has these losses."""
        (h_s, t_s), (g_s, f_s) = self.temporal(source), self.spectral(source)
        (h_t, t_t), (g_t, f_t) = self.temporal(target), self.spectral(target)
        g, h = torch.cat([g_s, g_t]), torch.cat([h_s, h_t])
        domain = torch.cat([torch.ones(len(source)), torch.zeros(len(target))]).long()
        critic.zero_grad()
        F.cross_entropy(self.judge(g.detach(), h.detach()), domain).backward()
        critic.step()
        guess = self.judge(g, h)

        def entropy(z: Tensor) -> Tensor:
            return -(z.softmax(1) * z.log_softmax(1)).sum(1).mean()

        def taught(q: Tensor, pupil: Tensor) -> Tensor:
            return (q * (q.log() - pupil.log_softmax(1))).mean()

        return {
            "task": F.cross_entropy(t_s, y),
            "task_frequency": F.cross_entropy(f_s, y),
            "domain": F.cross_entropy(guess, 1 - domain),
            "critic": F.cross_entropy(guess, domain),
            "entropy_time": entropy(t_t),
            "entropy_frequency": entropy(f_t),
            "teach_source": taught(f_s.softmax(1) + 1e-5, t_s),
            "teach_target": taught(t_t.softmax(1), f_t),
        }


# --------------------------------------------------------------------------------------------------------- DeepConvNet


class DeepBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, dropout: float):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.conv = nn.Conv2d(inputs, outputs, (1, 10), bias=False)
        self.norm = nn.BatchNorm2d(outputs)
        self.pool = nn.MaxPool2d((1, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.pool(F.elu(self.norm(self.conv(self.dropout(x)))))


class DeepConvNet(nn.Module):
    """DeepConvNet at 250 Hz; `blocks = 3` stops before the last block."""

    def __init__(self, channels: int, time: int, classes: int, blocks: int = 4, dropout: float = 0.5):
        super().__init__()
        length = self.length(time, blocks)
        if length < 1:
            raise ValueError(f"{time} samples are too few for {blocks} blocks; resample or take longer trials")
        widths = [25 * 2**i for i in range(blocks)]
        self.temporal = nn.Conv2d(1, 25, (1, 10))
        self.spatial = nn.Conv2d(25, 25, (channels, 1), bias=False)
        self.norm = nn.BatchNorm2d(25)
        self.pool = nn.MaxPool2d((1, 3))
        self.blocks = nn.Sequential(*(DeepBlock(a, b, dropout) for a, b in zip(widths, widths[1:])))
        self.classifier = nn.Linear(widths[-1] * length, classes)
        glorot_(self)

    @staticmethod
    def length(time: int, blocks: int = 4) -> int:
        for _ in range(blocks):
            time = (time - 12) // 3 + 1
        return time

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(F.elu(self.norm(self.spatial(self.temporal(x.unsqueeze(1))))))
        return self.classifier(self.blocks(x).flatten(1))

    def loss(self, x: Tensor, y: Tensor, _subject: Tensor | None = None) -> Tensor:
        return F.cross_entropy(self(x), y)

    def constrain_(self) -> None:
        """Optional max-norm of the original training code; call after every optimizer step."""
        for layer in (self.temporal, self.spatial, *(block.conv for block in self.blocks)):
            max_norm_(layer.weight, 2.0)
        max_norm_(self.classifier.weight, 0.5)


class DeepConvNet3(DeepConvNet):
    """The first three blocks of DeepConvNet with a linear head."""

    def __init__(self, channels: int, time: int, classes: int = 2, dropout: float = 0.5):
        super().__init__(channels, time, classes, blocks=3, dropout=dropout)


class CroppedDeepConvNet(nn.Module):
    """DeepConvNet that slides over the trial: strides become dilations, every window has its logits `[B, K, N]`."""

    def __init__(
        self, channels: int, classes: int, maps: Sequence[int], kernel: int, pool: int, places: int, norms: Sequence[float]
    ):
        super().__init__()
        self.temporal = nn.Conv2d(1, maps[0], (1, kernel))
        self.spatial = nn.Conv2d(maps[0], maps[0], (channels, 1), bias=False)
        self.norm1 = nn.BatchNorm2d(maps[0])
        self.pools = [nn.MaxPool2d((1, pool), stride=1, dilation=(1, pool**i)) for i in range(len(maps))]
        for i, (a, b) in enumerate(zip(maps, maps[1:]), 1):
            setattr(self, f"conv{i + 1}", nn.Conv2d(a, b, (1, kernel), dilation=(1, pool**i), bias=False))
            setattr(self, f"norm{i + 1}", nn.BatchNorm2d(b))
        self.head = nn.Conv2d(maps[-1], classes, (1, places), dilation=(1, pool ** len(maps)))
        self.norms = norms

    def forward(self, x: Tensor) -> Tensor:
        x = self.spatial(self.temporal(x.unsqueeze(1)))
        x = self.pools[0](F.elu(self.norm1(x)))
        for i, pool in enumerate(self.pools[1:], 2):
            x = pool(F.elu(getattr(self, f"norm{i}")(getattr(self, f"conv{i}")(x))))
        return self.head(x).squeeze(2)

    def probabilities(self, x: Tensor) -> Tensor:
        return self(x).softmax(1).mean(2)

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        return F.nll_loss(F.log_softmax(self(x), 1).mean(2), y)

    def constrain_(self) -> None:
        for name, layer in self.named_children():
            if isinstance(layer, nn.Conv2d):
                max_norm_(layer.weight, self.norms[name == "head"])


# ------------------------------------------------------------------------------------------------------ ShallowConvNet


class ShallowConvNet(nn.Module):
    """ShallowConvNet at 250 Hz."""

    def __init__(self, channels: int, time: int, classes: int, filters: int = 40, dropout: float = 0.5):
        super().__init__()
        self.temporal = nn.Conv2d(1, filters, (1, 25))
        self.spatial = nn.Conv2d(filters, filters, (channels, 1), bias=False)
        self.norm = nn.BatchNorm2d(filters)
        self.pool = nn.AvgPool2d((1, 75), (1, 15))
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(filters * ((time - 24 - 75) // 15 + 1), classes)
        glorot_(self)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(self.norm(self.spatial(self.temporal(x.unsqueeze(1)))).square())
        return self.head(self.dropout(x.clamp(min=1e-6).log()).flatten(1))


# -------------------------------------------------------------------------------------------------------- EEGConformer


@dataclass
class ConformerConfig:
    channels: int
    time: int
    classes: int
    filters: int = 40
    kernel: int = 25
    pool: int = 75
    stride: int = 15
    width: int = 40
    depth: int = 6
    heads: int = 10
    expansion: int = 4
    head: tuple[int, int] = (256, 32)
    dropout: float = 0.5
    last_dropout: float = 0.3

    def tokens(self) -> int:
        return (self.time - self.kernel + 1 - self.pool) // self.stride + 1


class Tokens(nn.Module):
    def __init__(self, cfg: ConformerConfig):
        super().__init__()
        self.temporal = nn.Conv2d(1, cfg.filters, (1, cfg.kernel))
        self.spatial = nn.Conv2d(cfg.filters, cfg.filters, (cfg.channels, 1))
        self.norm = nn.BatchNorm2d(cfg.filters)
        self.pool = nn.AvgPool2d((1, cfg.pool), (1, cfg.stride))
        self.dropout = nn.Dropout(cfg.dropout)
        self.projection = nn.Conv2d(cfg.filters, cfg.width, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.spatial(self.temporal(x.unsqueeze(1))))
        return self.projection(self.dropout(self.pool(F.elu(x)))).squeeze(2).transpose(1, 2)


class Attention(nn.Module):
    def __init__(self, cfg: ConformerConfig):
        super().__init__()
        self.heads = cfg.heads
        self.queries, self.keys, self.values, self.projection = (nn.Linear(cfg.width, cfg.width) for _ in range(4))
        self.dropout = nn.Dropout(cfg.dropout)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (f(x).unflatten(2, (self.heads, -1)) for f in (self.queries, self.keys, self.values))
        shares = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(x.shape[2])
        return self.projection(torch.einsum("bhqk,bkhd->bqhd", self.dropout(shares.softmax(3)), v).flatten(2))


class ConformerBlock(nn.Module):
    def __init__(self, cfg: ConformerConfig):
        super().__init__()
        wide = cfg.expansion * cfg.width
        self.attention_norm, self.forward_norm = nn.LayerNorm(cfg.width), nn.LayerNorm(cfg.width)
        self.attention = Attention(cfg)
        drop = nn.Dropout(cfg.dropout)
        self.feed = nn.Sequential(nn.Linear(cfg.width, wide), nn.GELU(), drop, nn.Linear(wide, cfg.width))
        self.dropout = drop

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.dropout(self.attention(self.attention_norm(x)))
        return x + self.dropout(self.feed(self.forward_norm(x)))


class EegConformer(nn.Module):
    """EEGConformer as the authors' code has it: attention is divided by the root of the whole width."""

    def __init__(self, cfg: ConformerConfig):
        super().__init__()
        self.cfg = cfg
        self.tokens = Tokens(cfg)
        self.blocks = nn.Sequential(*(ConformerBlock(cfg) for _ in range(cfg.depth)))
        first, second = cfg.head
        self.head = nn.Sequential(
            nn.Linear(cfg.tokens() * cfg.width, first), nn.ELU(), nn.Dropout(cfg.dropout),
            nn.Linear(first, second), nn.ELU(), nn.Dropout(cfg.last_dropout),
            nn.Linear(second, cfg.classes),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(self.tokens(x)).flatten(1))

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(self(x), y)
