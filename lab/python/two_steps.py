"""Recipe of the golden file `crates/ptsm-decode/tests/golden/two_steps.json`.

Two optimizer steps of PTSM, EEGNet, DANN, ACON, cropped DeepConvNet and EEGConformer in float64 from deterministic weights, dropout 0, train mode, one thread. Every
loss value, gradient norm, final parameter and running statistic is written, so that a second implementation can be
compared from the first forward pass to the last update.

Usage: python two_steps.py [--check]        (--check compares with the stored file instead of writing it)
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from check_peers import golden_eegnet, golden_ptsm
from peers import (
    Acon,
    ConformerConfig,
    CroppedDeepConvNet,
    Dann,
    EegConformer,
    EegNet,
    Weights,
    fill_input,
    fill_parameters,
    ptsm_losses,
    total_loss,
)

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "crates/ptsm-decode/tests/golden/two_steps.json"
RECIPE = "lab/python/two_steps.py"


@dataclass
class Optimizer:
    name: str = "Adam"
    lr: float = 1e-2
    weight_decay: float = 1e-4
    clip_norm: float | None = 5.0
    betas: tuple[float, float] = (0.9, 0.999)

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        return self.over(model.parameters())

    def over(self, parameters) -> torch.optim.Optimizer:
        kind = getattr(torch.optim, self.name)
        return kind(parameters, lr=self.lr, betas=self.betas, weight_decay=self.weight_decay)

    def describe(self) -> dict:
        decay = "decoupled" if self.name == "AdamW" else "l2"
        fixed = {"betas": list(self.betas), "eps": 1e-8, "decay_form": decay, "decay_on": "every parameter"}
        return {**asdict(self), **fixed, "clip_eps": 1e-6}


def digits(value: float | Tensor) -> float:
    value = value.item() if isinstance(value, Tensor) else value
    return float(f"{value:.15g}")


def stored(tensor: Tensor) -> dict:
    return {"shape": list(tensor.shape), "values": [digits(v) for v in tensor.detach().flatten().tolist()]}


def state(model: nn.Module) -> dict[str, dict]:
    """Every parameter and running statistic under the names of the Rust side."""
    out = {}
    for prefix, module in model.named_modules():
        if isinstance(module, nn.LayerNorm):
            tensors = {"scale": module.weight, "shift": module.bias}
        elif isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            running = torch.stack([module.running_mean, module.running_var])
            tensors = {"scale": module.weight, "shift": module.bias, "running": running}
        else:
            tensors = dict(module.named_parameters(recurse=False))
        for name, tensor in tensors.items():
            # layers of a sequence are counted without activations and dropout: 0, 2 or 3 -> 0, 1
            key = re.sub(r"(spatial|temporal|shared|_head)\.[1-9]", r"\1.1", f"{prefix}.{name}")
            if isinstance(model, EegConformer):
                key = conformer_name(key)
            if isinstance(model, EegNet) and isinstance(module, nn.Conv2d):
                tensor = tensor.flatten(1)
            assert key not in out
            out[key] = stored(tensor)
    return out


def conformer_name(key: str) -> str:
    """Blocks are counted from 1, layers without activations and dropout."""
    key = re.sub(r"^blocks\.(\d+)", lambda m: f"block{int(m[1]) + 1}", key)
    return re.sub(r"(feed|head)\.(\d)", lambda m: f"{m[1]}.{int(m[2]) // 3}", key).replace("feed.", "forward.")


def weights_and_biases(model: nn.Module) -> list[Tensor]:
    """Everything but norms, in the order of the network."""
    layers = (nn.Linear, nn.Conv1d, nn.Conv2d)
    return [p for m in model.modules() if isinstance(m, layers) for p in (m.weight, m.bias) if p is not None]


def train(model: nn.Module, losses, optimizer: Optimizer, after=lambda: None, moved=None) -> dict:
    """Two steps; `losses` returns (total, named losses), `after` runs after each update, `moved` are the parameters (all without)."""
    moved = list(model.parameters()) if moved is None else moved
    opt = optimizer.over(moved)
    model.train()
    steps = []
    for _ in range(2):
        opt.zero_grad()
        total, named = losses()
        total.backward()
        norm = nn.utils.clip_grad_norm_(moved, optimizer.clip_norm or float("inf"))
        opt.step()
        after()
        named = {name: digits(value) for name, value in named.items()}
        steps.append({"total": digits(total), "losses": named, "grad_norm": digits(norm)})
    return {"steps": steps, "state": state(model)}


def ptsm_case(pool: str, optimizer: Optimizer, weights: Weights) -> dict:
    model = golden_ptsm(pool)
    x, y, subject = fill_input(4, 3, 32), torch.tensor([0, 1, 0, 1]), torch.tensor([0, 0, 1, 1])

    def losses():
        named = ptsm_losses(model(x), y, subject, weights)
        return total_loss(named, weights), named

    cfg = asdict(model.cfg) | {"each_sizes": None}
    cfg = {k: v for k, v in cfg.items() if v is not None} | {"pool_sizes": model.cfg.pool_sizes(), "batch": 4}
    described = asdict(weights) | {"literal": sorted(weights.literal)}
    data = {"input": [4, 3, 32], "labels": y.tolist(), "subjects": subject.tolist()}
    fill = {"scale": 0.3, "bias_shift": 0.3, "fusion": 0.0}
    hyper = {"model": cfg, "data": data, "fill": fill, "weights": described, "optimizer": optimizer.describe()}
    return {"hyper": hyper, **train(model, losses, optimizer)}


def eegnet_case() -> dict:
    optimizer = Optimizer(weight_decay=0.0, clip_norm=None)
    model = golden_eegnet(spatial_scale=2.0)
    x, y = fill_input(3, 4, 128), torch.tensor([0, 1, 2])

    def losses():
        loss = model.loss(x, y)
        return loss, {"task": loss}

    shape = {"channels": 4, "time": 128, "classes": 3, "f1": 8, "depth": 2, "f2": 16, "kernel": 64}
    shape |= {"separable_kernel": 16, "pools": [4, 8], "dropout": 0.0, "norm_eps": 1e-3, "norm_momentum": 0.01}
    scales = {"temporal": 0.1, "spatial": 2.0, "depthwise": 0.1, "pointwise": 0.1}
    scales |= {"classifier_weight": 0.02, "classifier_bias": 0.1}
    hyper = {
        "model": shape,
        "data": {"input": [3, 4, 128], "labels": y.tolist()},
        "fill": {"scales": scales},
        "max_norm": {"spatial": 1.0, "classifier": 0.25, "when": "after every optimizer step"},
        "optimizer": optimizer.describe(),
    }
    return {"hyper": hyper, **train(model, losses, optimizer, model.constrain_)}


def cropped_case() -> dict:
    optimizer = Optimizer("AdamW", weight_decay=0.05, clip_norm=None)
    size = {"maps": [3, 4], "kernel": 4, "pool": 2, "places": 2, "norms": [2.0, 0.5]}
    model = CroppedDeepConvNet(3, 3, **size).double()
    fill_parameters(weights_and_biases(model), 0.5)
    # Of 43 samples the first 40: 24 windows of 17.
    x, y = fill_input(3, 3, 43)[:, :, :40], torch.tensor([0, 1, 2])

    def losses():
        loss = model.loss(x, y)
        return loss, {"task": loss}

    hyper = {
        "model": size | {"crop": 18, "dropout": 0.0},
        "data": {"input": [3, 3, 43], "labels": y.tolist()},
        "fill": {"scale": 0.5},
        "optimizer": optimizer.describe(),
    }
    trained = train(model, losses, optimizer, model.constrain_)
    shares = model.eval()(x).softmax(1).mean(2)
    return {"hyper": hyper, **trained, "eval": [digits(v) for v in shares.log().flatten()]}


def conformer_case() -> dict:
    optimizer = Optimizer(lr=2e-3, weight_decay=0.0, clip_norm=None, betas=(0.5, 0.999))
    cfg = ConformerConfig(
        channels=3, time=50, classes=3, filters=5, kernel=7, pool=12, stride=6, width=8, depth=2, heads=2, expansion=2,
        head=(7, 5), dropout=0.0, last_dropout=0.0,
    )  # fmt: skip
    model = EegConformer(cfg).double()
    fill_parameters(weights_and_biases(model), 0.3)
    x, y = fill_input(4, 3, 50), torch.tensor([0, 1, 2, 1])

    def losses():
        loss = model.loss(x, y)
        return loss, {"task": loss}

    hyper = {
        "model": asdict(cfg),
        "data": {"input": [4, 3, 50], "labels": y.tolist()},
        "fill": {"scale": 0.3},
        "optimizer": optimizer.describe(),
    }
    trained = train(model, losses, optimizer)
    return {"hyper": hyper, **trained, "eval": [digits(v) for v in model.eval()(x).flatten()]}


def dann_case() -> dict:
    optimizer = Optimizer(lr=1e-3, clip_norm=None)
    model = Dann(4, 128, 2, hidden=5, dropout=0.0).double()
    fill_parameters(weights_and_biases(model), 0.1)
    x, y = fill_input(6, 4, 128), torch.tensor([0, 1, 0])
    domain, factor = torch.tensor([0, 0, 0, 1, 1, 1]), 0.7

    def losses():
        named = model.losses(x, y, domain, factor)
        return named["task"] + 1.3 * named["domain"], named

    hyper = {
        "model": {"hidden": 5, "weight": 1.3, "domains": "uda", "dropout": 0.0},
        "data": {"input": [6, 4, 128], "labels": y.tolist(), "domains": domain.tolist(), "lambda": factor},
        "fill": {"scale": 0.1},
        "optimizer": optimizer.describe(),
    }
    return {"hyper": hyper, **train(model, losses, optimizer, model.constrain_)}


def acon_case() -> dict:
    optimizer = Optimizer(clip_norm=None)
    size = {"width": 4, "features": 5, "kernel": 5, "stride": 2, "period": 16, "pooled": 4, "critic": 6}
    model = Acon(3, 2, **size, fft_normalize=True).double()
    fill_parameters([*weights_and_biases(model), *model.frequency["mix"].parameters()], 0.3)
    x, y = fill_input(8, 3, 60), torch.tensor([0, 1, 0, 1])
    critic = optimizer.over(model.critic.parameters())
    weights = {"domain": 1.0, "entropy_time": 0.01, "entropy_frequency": 0.01, "teach_source": 1.0, "teach_target": 1.0}
    weights |= {"task": 1.0, "task_frequency": 1.0, "critic": 0.0}

    def losses():
        named = model.losses(x[:4], x[4:], y, critic)
        return sum(weights[name] * value for name, value in named.items()), named

    moved = [p for name, p in model.named_parameters() if not name.startswith("critic.")]
    hyper = {
        "model": size | {"fft_normalize": True, "dropout": 0.0, "weights": weights},
        "data": {"input": [8, 3, 60], "labels": y.tolist(), "domains": [0] * 4 + [1] * 4},
        "fill": {"scale": 0.3},
        "optimizer": optimizer.describe(),
    }
    trained = train(model, losses, optimizer, moved=moved)
    return {"hyper": hyper, **trained, "eval": [digits(v) for v in model.eval().temporal(x)[1].flatten()]}


def build() -> dict:
    literal = Weights(
        sparse=0.01 / (3 * 32),
        sparse_features=0.01 / (6 * 4),
        literal=frozenset({"sparse", "cov", "info", "sparse_features"}),
    )
    return {
        "recipe": RECIPE,
        "torch": torch.__version__,
        "dtype": "float64",
        "cases": {
            "ptsm_last": ptsm_case("last", Optimizer(), Weights()),
            "ptsm_each": ptsm_case("each", Optimizer("AdamW", weight_decay=1e-2, clip_norm=0.05), Weights()),
            "ptsm_literal": ptsm_case("last", Optimizer(), literal),
            "eegnet": eegnet_case(),
            "dann": dann_case(),
            "acon": acon_case(),
            "deepconvnet_cropped": cropped_case(),
            "eegconformer": conformer_case(),
        },
    }


def compact(document: dict) -> str:
    """Indented JSON with every list on one line."""
    text = json.dumps(document, indent=1)
    return re.sub(r"\[[^\[\]{}]*\]", lambda m: re.sub(r"\s+", "", m.group()).replace(",", ", "), text) + "\n"


def differences(got, want, path: str = "") -> list[str]:
    """Places where two documents differ by more than 1e-9 relative plus 1e-9; versions are not compared.

    The absolute part is for biases in front of a batch norm: their gradient is rounding noise, which Adam amplifies.
    """
    if isinstance(want, dict):
        if got.keys() != want.keys():
            return [f"{path}: other keys"]
        return [d for key in want if key != "torch" for d in differences(got[key], want[key], f"{path}/{key}")]
    if isinstance(want, list):
        if len(got) != len(want):
            return [f"{path}: other length"]
        return [d for i, w in enumerate(want) for d in differences(got[i], w, f"{path}[{i}]")]
    if isinstance(want, float):
        return [] if abs(got - want) <= 1e-9 * (1 + abs(want)) else [f"{path}: {got} instead of {want}"]
    return [] if got == want else [f"{path}: {got} instead of {want}"]


if __name__ == "__main__":
    torch.set_num_threads(1)
    text = compact(build())
    if "--check" in sys.argv[1:]:
        found = differences(json.loads(text), json.loads(TARGET.read_text()))
        print("\n".join(found) if found else f"{TARGET.relative_to(ROOT)} is reproduced")
        sys.exit(bool(found))
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text)
    print(f"{TARGET.relative_to(ROOT)}: {len(text)} bytes")
