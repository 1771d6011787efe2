"""Golden numbers of ptsm-explain's attribution from Captum, on an EEGNet whose weights are filled.

Usage: python attribution_golden.py [--check]        (--check compares with the committed file instead of writing it)

Needs torch and captum; the versions that made the file stand in it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import captum
import torch
from captum.attr import FeatureAblation, InputXGradient, IntegratedGradients, Saliency
from torch import Tensor

from peers import EegNet, fill, fill_input

OUTPUT = Path(__file__).parents[2] / "crates/ptsm-explain/tests/golden/captum.json"
TOLERANCE = 1e-9

CHANNELS, TIME, CLASSES, TRIALS = 4, 64, 3, 2
STEPS, WINDOW, TARGET = 16, 16, 1


@torch.no_grad()
def filled() -> EegNet:
    """Weights k = 1..6 of size 0.3; then of each norm the scale, shift, running mean and running variance, k = 7..18."""
    model = EegNet(CHANNELS, TIME, CLASSES).double().eval()
    layers = (model.temporal, model.spatial, model.depthwise, model.pointwise, model.classifier)
    weights = [layer.weight for layer in layers] + [model.classifier.bias]
    for k, p in enumerate(weights, 1):
        p.copy_(fill(p.shape, k, 0.3))
    k = 7
    for norm in (model.temporal_norm, model.spatial_norm, model.separable_norm):
        parts = ((norm.weight, 1.0, 0.2), (norm.bias, 0.0, 0.1), (norm.running_mean, 0.0, 0.1), (norm.running_var, 1.0, 0.5))
        for p, middle, size in parts:
            p.copy_(middle + fill(p.shape, k, size))
            k += 1
    return model


def numbers(values: Tensor) -> list[float]:
    return [float(f"{v:.10g}") for v in values.detach().flatten().tolist()]


def golden() -> dict:
    model, x = filled(), fill_input(TRIALS, CHANNELS, TIME).requires_grad_()

    def log_probability(x: Tensor) -> Tensor:
        return model(x).log_softmax(1)

    def probability(x: Tensor) -> Tensor:
        return model(x).softmax(1)

    integrated = {"target": TARGET, "n_steps": STEPS, "method": "gausslegendre"}
    channels = torch.arange(CHANNELS)[None, :, None].expand(1, CHANNELS, TIME)
    windows = (torch.arange(TIME) // WINDOW)[None, None, :].expand(1, CHANNELS, TIME)
    ablation = FeatureAblation(probability)
    return {
        "logits": numbers(model(x)),
        # Trial by trial, [n, C, T].
        "gradient": numbers(Saliency(model).attribute(x, target=TARGET, abs=False)),
        "gradient_of_log_probability": numbers(Saliency(log_probability).attribute(x, target=TARGET, abs=False)),
        "times_input": numbers(InputXGradient(model).attribute(x, target=TARGET)),
        "integrated": numbers(IntegratedGradients(model).attribute(x, **integrated)),
        "integrated_log_probability": numbers(IntegratedGradients(log_probability).attribute(x, **integrated)),
        # What the probability loses: [n, C], and [n, windows].
        "channels": numbers(ablation.attribute(x, target=TARGET, feature_mask=channels)[:, :, 0]),
        "windows": numbers(ablation.attribute(x, target=TARGET, feature_mask=windows)[:, 0, ::WINDOW]),
    }


def main() -> int:
    made = golden()
    if "--check" in sys.argv[1:]:
        committed = json.loads(OUTPUT.read_text())
        wrong = []
        for name, values in made.items():
            scale = max(abs(v) for v in values)
            if any(abs(a - b) > TOLERANCE * scale for a, b in zip(values, committed[name], strict=True)):
                wrong.append(f"{name} differs from what is committed")
        print("\n".join(wrong) or f"as committed (made with {committed['versions']})", file=sys.stderr)
        return int(bool(wrong))
    versions = {"torch": torch.__version__.partition("+")[0], "captum": captum.__version__}
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    beside = OUTPUT.with_suffix(".new")
    beside.write_text(json.dumps({"versions": versions, **made}) + "\n")
    os.replace(beside, OUTPUT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
