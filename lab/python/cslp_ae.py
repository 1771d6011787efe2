"""CSLP-AE (Nørskov et al. 2023) in PyTorch: an autoencoder whose latents of the person and of the task are exchanged between trials."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ConvReLU(nn.Module):
    """Convolution, ReLU, then instance norm; the input is added where it has as many channels."""

    def __init__(self, inputs: int, outputs: int, taps: int):
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, taps, padding=taps // 2, bias=False)
        self.norm = nn.InstanceNorm1d(outputs, affine=True)
        self.added = inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(F.relu(self.conv(x)))
        return h + x if self.added else h


class ConvBlock(nn.Sequential):
    def __init__(self, inputs: int, middle: int, outputs: int):
        super().__init__(
            ConvReLU(inputs, middle, 3),
            ConvReLU(middle, middle, 1),
            nn.InstanceNorm1d(middle, affine=True),
            nn.Conv1d(middle, outputs, 1),
        )
        self.added = inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        h = super().forward(x)
        return h + x if self.added else h


class Attention(nn.Module):
    """A learnt table of places, then an encoder layer with one head."""

    def __init__(self, length: int, width: int):
        super().__init__()
        self.places = nn.Parameter(nn.init.trunc_normal_(torch.empty(1, length, width), std=0.02))
        self.layer = nn.TransformerEncoderLayer(width, 1, width, dropout=0.0, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x + self.places)


class Attentions(nn.Sequential):
    """Over places: `[B, c, L]` to the same."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.transpose(1, 2)).transpose(1, 2)


class Scales(nn.Module):
    """Logarithms of the contrasts' scales."""

    def __init__(self):
        super().__init__()
        self.subject, self.task = (nn.Parameter(torch.tensor(math.log(1 / 0.07))) for _ in range(2))


class Latents(NamedTuple):
    subject: Tensor
    task: Tensor


class CslpAe(nn.Module):
    training_only = ("scales",)

    def __init__(self, channels: int, time: int, classes: int, width: int = 256, latent: int = 64, levels: int = 4):
        super().__init__()
        c, d, n = width, latent, levels
        self.missing = -time % 2**n
        length = (time + self.missing) // 2**n
        halved = (nn.Conv1d(c, c, 4, 2, 1, bias=False) for _ in range(n))
        doubled = (nn.ConvTranspose1d(c, c, 4, 2, 1, bias=False) for _ in range(n))
        self.encoder_in = nn.Sequential(ConvReLU(channels, c, 1), ConvBlock(c, c, c))
        self.encoder = nn.Sequential(*(nn.Sequential(ConvBlock(c, c, c), half) for half in halved))
        self.encoder_attention = Attentions(*(Attention(length, c) for _ in range(n)))
        self.shared = ConvBlock(c, c, c)
        self.decoder_in = ConvBlock(2 * d, c, c)
        self.decoder_attention = Attentions(*(Attention(length, c) for _ in range(n)))
        self.decoder = nn.Sequential(*(nn.Sequential(double, ConvBlock(c, c, c)) for double in doubled))
        self.decoder_out = ConvBlock(c, c, channels)
        self.subject_out, self.subject_in = ConvBlock(c, c, d), ConvBlock(d, c, c)
        self.task_out, self.task_in = ConvBlock(c, c, d), ConvBlock(d, c, c)
        self.mixed = ConvBlock(c, c, c)
        self.scales = Scales()
        self.head = nn.Linear(d * length, classes)
        self.register_buffer("mean", torch.zeros(channels, time))
        self.register_buffer("deviation", torch.ones(channels, time))

    def standardised(self, x: Tensor) -> Tensor:
        return (x - self.mean) / self.deviation

    def shared_code(self, x: Tensor) -> Tensor:
        x = F.pad(x, (0, self.missing))
        return self.shared(self.encoder_attention(self.encoder(self.encoder_in(x))))

    def encode(self, x: Tensor) -> Latents:
        h = self.shared_code(x)
        return Latents(self.subject_out(h), self.task_out(h))

    def decode(self, latents: Latents) -> Tensor:
        together = self.decoder_in(torch.cat(latents, 1))
        both = together + self.subject_in(latents.subject) + self.task_in(latents.task)
        h = self.decoder(self.decoder_attention(together + self.mixed(both)))
        return self.decoder_out(h)[..., : self.mean.shape[1]]

    def task_latents(self, x: Tensor) -> Tensor:
        return self.task_out(self.shared_code(self.standardised(x))).flatten(1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.task_latents(x))

    def losses(self, x: Tensor, y: Tensor, subjects: tuple[int, int], classes: tuple[int, int]) -> dict[str, Tensor]:
        """Of trials in pairs of one person, then of one class: the first of all pairs, then the second. Both are told as (groups,
        values)."""
        x = self.standardised(x)
        by_person = 2 * math.prod(subjects)
        own = self.encode(x)
        decoded = self.decode(
            Latents(
                torch.cat([swapped(own.subject[:by_person]), own.subject[by_person:]]),
                torch.cat([own.task[:by_person], swapped(own.task[by_person:])]),
            )
        )
        return {
            "subject_permutation": F.mse_loss(decoded[:by_person], x[:by_person]),
            "task_permutation": F.mse_loss(decoded[by_person:], x[by_person:]),
            "subject_contrast": contrast(own.subject[:by_person], *subjects, self.scales.subject),
            "task_contrast": contrast(own.task[by_person:], *classes, self.scales.task),
            # a head that learns along and moves nothing else
            "head": F.cross_entropy(self.head(own.task.detach().flatten(1)), y),
        }


def swapped(latents: Tensor) -> Tensor:
    first, second = latents.chunk(2)
    return torch.cat([second, first])


def contrast(latents: Tensor, groups: int, values: int, log_scale: Tensor) -> Tensor:
    first, second = (F.normalize(side.reshape(groups, values, -1), dim=2, eps=1e-8) for side in latents.chunk(2))
    logits = log_scale.clamp(max=math.log(100)).exp() * (first @ second.mT)
    places = torch.arange(values).expand(groups, -1)
    return (F.cross_entropy(logits, places) + F.cross_entropy(logits.mT, places)) / 2
