"""Checks the PyTorch peers, and that of SBLEST in NumPy, against the golden numbers of the method specifications, in float64.

Usage: python check_peers.py        (exit status 1 if any number is off by more than 1e-8 relative)
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cslp_ae import CslpAe, Latents, contrast, swapped
from peers import (
    Acon,
    ConformerConfig,
    Dann,
    DeepConvNet,
    EegConformer,
    EegNet,
    Masks,
    Ptsm,
    PtsmConfig,
    PtsmTask,
    ShallowConvNet,
    Weights,
    count,
    feature_losses,
    fill,
    fill_input,
    fill_parameters,
    mask_losses,
    nt_xent,
)
from tsmnet import Batch, Statistics, StiefelAdam, TsmNet, momenta, roots

sys.path.append(str(Path(__file__).parent / "classic"))

from sblest import evidence, spectral  # noqa: E402

RELATIVE = 1e-8
failures: list[str] = []
checked = 0


def check(name: str, got: Tensor | float, want: str) -> None:
    """`want` holds the printed numbers, separated by blanks; a printed 0 means below 1e-12."""
    global checked
    values = got.detach().flatten().tolist() if isinstance(got, Tensor) else [got]
    printed = want.split()
    if len(values) != len(printed):
        failures.append(f"{name}: {len(values)} values, {len(printed)} expected")
    for value, text in zip(values, printed):
        exact, checked = float(text), checked + 1
        if not abs(value - exact) <= (RELATIVE * abs(exact) or 1e-12):
            failures.append(f"{name}: {value!r}, expected {text}")


def grad_norms(name: str, loss: Tensor, wanted: dict[str, tuple[Tensor, str]]) -> None:
    grads = torch.autograd.grad(loss, [p for p, _ in wanted.values()])
    for (key, (_, want)), grad in zip(wanted.items(), grads):
        check(f"{name} gradient {key}", grad.norm(), want)


# ---------------------------------------------------------------------------------------------------------------- PTSM

GOLDEN = PtsmConfig(
    channels=3, time=32, classes=2, subjects=2, pooled=4, spatial_width=5, temporal_width=4, encoder=(4, 6, 8),
    shared=(10, 8), features=6, hidden=5, dropout=0.0,
)  # fmt: skip


def golden_ptsm(pool: str) -> Ptsm:
    """Golden PTSM of float64 weights. Its `each` lengths are 16, 8, 4, as the golden numbers were made."""
    model = Ptsm(replace(GOLDEN, pool=pool, each_sizes=(16, 8, 4))).double()
    fill_parameters(ordered_parameters(model), 0.3, shift_bias=0.3)
    return model


def ordered_parameters(model: Ptsm) -> list[Tensor]:
    """The 38 filled tensors, in the order of the specification; fusion and batch norm keep their start values."""
    layers = (nn.Linear, nn.Conv1d)
    return [p for m in model.modules() if isinstance(m, layers) for p in (m.weight, m.bias)]


def check_ptsm_counts() -> None:
    full = Ptsm(PtsmConfig(62, 1000, 2, 53))
    check("ptsm count", count(full), "670167")
    parts = {"personal": 4062 + 7073, "encoder": 61792, "shared": 557440, "task_head": 4290, "subject_head": 7605}
    for name, want in parts.items():
        check(f"ptsm count {name}", count(getattr(full, name)), str(want))
    check("ptsm count heads", count(full.task) + count(full.subject), "16768")
    check("ptsm count spatial", count(full.personal.spatial), "4062")
    check("ptsm count temporal", count(full.personal.temporal), "7073")
    check("ptsm count fusion", count(full.fusion), "2")
    check("ptsm count 64", count(Ptsm(PtsmConfig(64, 640, 2, 84))), "673210")
    check("ptsm count golden", count(golden_ptsm("last")), "1430")
    check("ptsm filled tensors", len(ordered_parameters(golden_ptsm("last"))), "38")


def check_losses() -> None:
    t = fill((6, 3), 1, 1.0) * (1 + 0.1 * torch.arange(6, dtype=torch.float64))[:, None]
    s = fill((6, 3), 2, 0.8) + 0.1
    sp, tp, sc, tc = (fill((6, n), k, 2.0).sigmoid() for k, n in ((3, 4), (4, 5), (5, 4), (6, 5)))
    masks = Masks(sp, tp, sc, tc)
    default = Weights()
    literal = Weights(literal=frozenset({"sparse", "cov", "info", "sparse_features"}))
    m, ml = mask_losses(masks, default), mask_losses(masks, literal)
    f, fl = feature_losses(t, s, default), feature_losses(t, s, literal)
    full_p, full_c = ((a[:, None, :] * b[:, :, None]).flatten(1) for a, b in ((tp, sp), (tc, sc)))
    check("L_sim", m["sim"], "0.9517020251")
    check("L_sim full", F.cosine_similarity(full_p, full_c, dim=1).mean(), "0.9517020251")
    check("L_sparse literal", ml["sparse"], "8.585041318")
    check("L_sparse", m["sparse"], "0.4292520659")
    check("L_size", m["size"], "0.6423357333")
    check("L_orth", f["orth"], "0.7416940197")
    check("L_cov literal", fl["cov"], "1.316662132")
    check("L_cov", f["cov"], "0.8265842430")
    check("L_info literal", fl["info"], "-1.291353998")
    check("L_info", f["info"], "-0.4304513327")
    check("L_sparse' literal", fl["sparse_features"], "22.10614110")
    check("L_sparse'", f["sparse_features"], "1.228118950")
    y, subject = torch.tensor([0, 1, 0, 1, 0, 1]), torch.tensor([0, 0, 1, 1, 2, 2])
    check("NT-Xent task 0.5", nt_xent(t, y, 0.5), "1.713137282")
    check("NT-Xent task 0.1", nt_xent(t, y, 0.1), "2.652301892")
    check("NT-Xent subject 0.5", nt_xent(s, subject, 0.5), "0.8151542140")
    check("NT-Xent without positives", nt_xent(t, torch.arange(6), 0.5), "0")
    check("L_cov literal x10", feature_losses(10 * t, 10 * s, literal)["cov"], "0.01316662132")
    check("L_cov x10", feature_losses(10 * t, 10 * s, default)["cov"], "0.8265842430")


def check_ptsm_forward() -> None:
    x, y, subject = fill_input(4, 3, 32), torch.tensor([0, 1, 0, 1]), torch.tensor([0, 0, 1, 1])
    model = golden_ptsm("last").eval()
    out = model(x)
    check("M_s^p", out.masks.space_p[0], "0.5490856496 0.4274610248 0.3504450586")
    check("M_t^p", out.masks.time_p[0, :4], "0.6688815285 0.7109479091 0.7622334631 0.8176971565")
    logits = (
        "0.07661742641 0.1237661217 0.07662029778 0.1237765467 0.07662386944 0.1237898254 0.07662875318 0.1238081522"
    )
    check("ptsm last eval task logits", out.task_logits, logits)
    check("ptsm last eval subject logits", out.subject_logits[0], "1.519136576 0.734077966")
    check(
        "ptsm f_task",
        out.f_task[0],
        "0.5629264711 0.3591055372 0.1905198234 0.2586143056 0.5289285222 0.7645750115",
    )

    model.train()
    out = model(x)
    check(
        "ptsm last train task logits",
        out.task_logits,
        "0.04710986132 0.09105286834 0.0584440835 0.1001796498 0.04636078672 0.1011940246 0.05914906601 0.1182143038",
    )
    task, subj = F.cross_entropy(out.task_logits, y), F.cross_entropy(out.subject_logits, subject)
    check("ptsm last L_task", task, "0.6932118315")
    check("ptsm last L_subj", subj, "0.7453193398")
    wanted = {
        "g_s^p w1": (model.personal.spatial[0].weight, "0.000875543393"),
        "g_t^p w1": (model.personal.temporal[0].weight, "0.004207817322"),
        "p_a": (model.fusion["time"], "0.001305704367"),
        "p_b": (model.fusion["space"], "0.0003843310033"),
        "conv1": (model.encoder[0].conv.weight, "0.04404978227"),
        "shared1": (model.shared[0].weight, "0.3796032329"),
        "F_task": (model.task.linear.weight, "0.107687481"),
        "F_subj": (model.subject.linear.weight, "0.2244330012"),
        "C_task w2": (model.task_head[3].weight, "0.0305876825"),
    }
    grad_norms("ptsm last", task + subj, wanted)

    model = golden_ptsm("each").eval()
    check("ptsm each eval", model(x).task_logits[0], "0.07660901531 0.1237350724")
    check("ptsm each eval, released part", PtsmTask(golden_ptsm("each").eval())(x)[0], "0.07660901531 0.1237350724")
    out = model.train()(x)
    task, subj = F.cross_entropy(out.task_logits, y), F.cross_entropy(out.subject_logits, subject)
    check("ptsm each L_task", task, "0.6928453204")
    check("ptsm each L_subj", subj, "0.7492313138")
    grad_norms("ptsm each", task + subj, {"conv1": (model.encoder[0].conv.weight, "0.08775637105")})


# -------------------------------------------------------------------------------------------------------------- EEGNet


def golden_eegnet(spatial_scale: float = 0.1) -> EegNet:
    model = EegNet(4, 128, 3, dropout=0.0).double()
    tensors = [model.temporal.weight, model.spatial.weight, model.depthwise.weight, model.pointwise.weight]
    tensors += [model.classifier.weight, model.classifier.bias]
    fill_parameters(tensors, [0.1, spatial_scale, 0.1, 0.1, 0.02, 0.1])
    return model


def check_eegnet() -> None:
    counts = [
        (EegNet(64, 128, 2), 2258),
        (EegNet(22, 256, 4, kernel=32), 1716),
        (EegNet(22, 512, 4), 2484),
        (EegNet(62, 512, 2), 2610),
        (EegNet(62, 1000, 2, kernel=125, separable_kernel=32, pools=(8, 16)), 3066),
        (EegNet(64, 128, 2, f1=4), 1066),
        (EegNet(22, 256, 4, f1=4, kernel=32), 796),
    ]
    for model, want in counts:
        check("eegnet count", count(model), str(want))

    x, y = fill_input(3, 4, 128), torch.tensor([0, 1, 2])
    check("input", x[0, 0, :4], "0.5469572182 0.5877821413 0.6224593042 0.6510451624")
    check("input", x[2, 3, 127], "0.9758235085")
    model = golden_eegnet().eval()
    logits = model(x)
    check(
        "eegnet eval",
        logits,
        "-0.06848349777 -0.05830429 -0.04730877803 -0.06845877155 -0.05832295719 -0.04731672868 "
        "-0.06843212956 -0.05834214466 -0.04732612756",
    )
    check("eegnet eval CE", F.cross_entropy(logits, y), "1.0986609290")
    logits = model.train()(x)
    check(
        "eegnet train",
        logits,
        "-0.07942686153 -0.04411601398 -0.04911593003 -0.07422753715 -0.04951712617 -0.0494614606 "
        "-0.0716614541 -0.04912586577 -0.05237915593",
    )
    loss = F.cross_entropy(logits, y)
    check("eegnet train CE", loss, "1.1014626618")
    wanted = {
        "conv1": (model.temporal.weight, "0.02325627351"),
        "BN1 scale": (model.temporal_norm.weight, "0.001238437464"),
        "BN1 shift": (model.temporal_norm.bias, "0"),
        "depthwise": (model.spatial.weight, "0.1081220815"),
        "BN2 scale": (model.spatial_norm.weight, "0.003911591186"),
        "BN2 shift": (model.spatial_norm.bias, "0.00334495083"),
        "sep-depthwise": (model.depthwise.weight, "0.03052027087"),
        "pointwise": (model.pointwise.weight, "0.2319586741"),
        "BN3 scale": (model.separable_norm.weight, "0.01459417155"),
        "BN3 shift": (model.separable_norm.bias, "0.007780515274"),
        "linear weight": (model.classifier.weight, "0.707053681"),
        "linear bias": (model.classifier.bias, "0.007115579591"),
    }
    grad_norms("eegnet", loss, wanted)
    before = [p.clone() for p in model.parameters()]
    model.constrain_()
    check("eegnet max-norm untouched", sum((a - b).abs().sum() for a, b in zip(before, model.parameters())), "0")


# --------------------------------------------------------------------------------------------------------- DeepConvNet


def check_deepconvnet() -> None:
    counts = {(22, 1000, 4): 282879, (62, 1000, 2): 305077, (64, 640, 2): 304727, (22, 1125, 4): 284479}
    for shape, want in counts.items():
        check("deepconvnet count", count(DeepConvNet(*shape)), str(want))
    for t, want in {1000: 7, 1125: 9, 640: 3, 441: 1}.items():
        check(f"deepconvnet L4 of {t}", DeepConvNet.length(t), str(want))

    x, y = fill_input(2, 3, 500), torch.tensor([0, 1])
    model = DeepConvNet(3, 500, 2, dropout=0.0).double()
    convs = [block.conv.weight for block in model.blocks]
    tensors = [model.temporal.weight, model.temporal.bias, model.spatial.weight, *convs]
    fill_parameters([*tensors, model.classifier.weight, model.classifier.bias], 0.1)
    logits = model.eval()(x)
    check("deepconvnet eval", logits, "0.08719830933 0.09316182899 0.0872026607 0.09294866913")
    check("deepconvnet eval CE", F.cross_entropy(logits, y), "0.6932058446")
    logits = model.train()(x)
    check("deepconvnet train", logits, "0.3098881246 0.5622739047 0.3858344872 0.5608819607")
    loss = F.cross_entropy(logits, y)
    check("deepconvnet train CE", loss, "0.7183650579")
    wanted = {
        "temporal weight": (model.temporal.weight, "6.470003277"),
        "temporal bias": (model.temporal.bias, "0"),
        "spatial": (model.spatial.weight, "118.2638046"),
        "conv2": (convs[0], "11.88160586"),
        "conv3": (convs[1], "13.0200514"),
        "conv4": (convs[2], "48.44669088"),
        "head weight": (model.classifier.weight, "4.012102057"),
        "head bias": (model.classifier.bias, "0.07524613207"),
    }
    grad_norms("deepconvnet", loss, wanted)


# ------------------------------------------------------------------------------------- ShallowConvNet and EEGConformer


def check_shallowconvnet() -> None:
    for shape, want in {(22, 1000, 4): 46084, (62, 1000, 2): 105202}.items():
        check("shallowconvnet count", count(ShallowConvNet(*shape)), str(want))
    x, y = fill_input(2, 3, 200), torch.tensor([0, 1])
    model = ShallowConvNet(3, 200, 2, dropout=0.0).double()
    tensors = [model.temporal.weight, model.temporal.bias, model.spatial.weight, model.head.weight, model.head.bias]
    fill_parameters(tensors, [0.1, 0.1, 0.1, 0.02, 0.1])
    logits = model.eval()(x)
    check("shallowconvnet eval", logits, "-0.1412493246 0.687156445 -0.1503601879 0.6863669237")
    check("shallowconvnet eval CE", F.cross_entropy(logits, y), "0.7753219142")
    logits = model.train()(x)
    check("shallowconvnet train", logits, "-0.09044612547 -0.1378391403 -0.082086264 -0.1181952298")
    loss = F.cross_entropy(logits, y)
    check("shallowconvnet train CE", loss, "0.6905480230")
    wanted = {
        "temporal weight": (model.temporal.weight, "0.9673291084"),
        "temporal bias": (model.temporal.bias, "0"),
        "spatial": (model.spatial.weight, "2.685777962"),
        "head weight": (model.head.weight, "0.4761264294"),
    }
    grad_norms("shallowconvnet", loss, wanted)


def check_eegconformer() -> None:
    for shape, want in {(22, 1000, 4): 789572, (62, 1000, 2): 853506}.items():
        check("eegconformer count", count(EegConformer(ConformerConfig(*shape))), str(want))


# ------------------------------------------------------------------------------------------------------ DANN and ACON


def check_dann() -> None:
    for hidden, domains, want in ((128, 2, 35764), (None, 2, 3124), (None, 53, 16231)):
        check("dann count", count(Dann(62, 512, 2, hidden=hidden, domains=domains)), str(want))


def check_acon() -> None:
    # complex weights are counted once there, twice here
    for sizes, complex_weights, want in (
        ((9, 6, 64, 128, 5, 1, 64, 10, 128, False), 2673, 474607),
        ((62, 2, 64, 128, 25, 6, 128, 16, 128, True), 249860, 17078600),
    ):
        check("acon count", count(Acon(*sizes)) - complex_weights, str(want))


# -------------------------------------------------------------------------------------------------------------- TSMNet


def orthonormal(w: Tensor) -> Tensor:
    return w @ roots(w.T @ w)[1]


def check_tsmnet_parts() -> None:
    for channels, classes, want in ((20, 2, 4567), (22, 4, 5309), (62, 2, 11287)):
        check("tsmnet count", count(TsmNet(channels, classes)), str(want))
    eta = torch.tensor([momenta(e, 50, 0.2, 0.85) for e in (1, 2, 10, 20, 40, 50)], dtype=torch.float64)
    check("tsmnet eta", eta[:, 0], "1 0.9915738034 0.9100448907 0.7619195789 0.2 0.2")
    check("tsmnet tau", 1 - eta[[0, 3, 4], 1], "0.85 0.9055813023 0.968018785")
    trials = torch.tensor(
        [[[2, 0.5], [0.5, 1]], [[1, -0.3], [-0.3, 3]], [[4, 1], [1, 1]]], dtype=torch.float64
    )
    batch = Batch.of(trials.unsqueeze(0))
    for momentum, mean, variance in (
        (1.0, "1.954082446 0.3552532993 0.3552532993 1.334402477", "0.8042253357"),
        (0.1, "1.067234606 0.02326559837 0.02326559837 1.026651661", "1.027965356"),
        (0.2, "1.139530993 0.04871551692 0.04871551692 1.054554921", "1.035974465"),
    ):
        moved = batch.followed(Statistics.start(1, 2), momentum)
        check(f"tsmnet mean {momentum}", moved.mean, mean)
        check(f"tsmnet variance {momentum}", moved.variance, variance)
    found = Statistics.of(trials)
    check("tsmnet Karcher mean", found.mean[0, [0, 0, 1], [0, 1, 1]], "1.9543429705 0.3545351795 1.3339637835")
    check("tsmnet refit variance", found.variance, "0.8042304921")
    weight = nn.Parameter(orthonormal(fill((3, 2), 1, 1.0) + torch.eye(3, 2, dtype=torch.float64)))
    weight.grad, adam = fill((3, 2), 2, 1.0), StiefelAdam(weight, 0.01)
    for want in (
        "0.942279655 -0.0753295948 -0.02774200545 0.9534482216 0.3336756402 0.2919964739",
        "0.9415435041 -0.09341580663 -0.009812862665 0.9527747024 0.3367484784 0.2889530301",
    ):
        adam.step()
        check("tsmnet Cayley step", weight, want)


def check_tsmnet() -> None:
    model = TsmNet(3, 2, filters=2, kernel=5, outputs=4, subspace=3).double()
    convolutions = [p for layer in (model.temporal, model.spatial) for p in (layer.weight, layer.bias)]
    fill_parameters(convolutions, 0.3)
    with torch.no_grad():
        model.bimap.copy_(orthonormal(fill((4, 3), 5, 1.0) + torch.eye(4, 3, dtype=torch.float64)))
        model.head.weight.copy_(fill((2, 6), 6, 0.3))
        model.head.bias.copy_(fill(2, 7, 0.3))
    x = fill_input(8, 3, 50) + 0.3 * torch.stack([fill((3, 50), 20 + b, 1.0) for b in range(8)])
    x[4:] *= 2
    matrices = model.matrices(x).unflatten(0, (2, 4))
    moved = Batch.of(matrices).followed(Statistics.start(2, 3), 1.0)
    logits = model.logits(matrices, moved).flatten(0, 1)
    check(
        "tsmnet train logits",
        logits[:5],
        "0.4196862697 -0.02237180772 0.06785370786 0.01044032135 -0.1417518341 0.1123278257 -0.1701647018 0.227473022 "
        "-0.2395721736 0.102142136",
    )
    loss = F.cross_entropy(logits, torch.tensor([0, 1] * 4))
    check("tsmnet CE", loss, "0.6910063219")
    wanted = {
        "temporal": (model.temporal.weight, "0.01628186836"),
        "spatial": (model.spatial.weight, "0.5304626438"),
        "scale": (model.scale, "0.007715093832"),
        "W": (model.bimap, "0.05611014305"),
        "linear": (model.head.weight, "0.1432507167"),
    }
    grad_norms("tsmnet", loss, wanted)
    with torch.no_grad():
        check("tsmnet refit", model.logits(matrices[:1], Statistics.of(matrices[0]))[0, 0], "0.4196661874 -0.02235013242")


# ------------------------------------------------------------------------------------------------------------- CSLP-AE


def check_cslp_ae() -> None:
    for channels, want in ((30, 10355360), (62, 10371776)):
        model = CslpAe(channels, 256, 2)
        check("cslp-ae count", count(model) - count(model.head), str(want))
    model = CslpAe(3, 256, 2, width=4, latent=2, levels=2).double()
    check("cslp-ae count golden", count(model) - count(model.head), "3177")
    apart = [model.scales, model.head, *(m for m in model.modules() if isinstance(m, (nn.InstanceNorm1d, nn.LayerNorm)))]
    apart = {id(p) for part in apart for p in part.parameters()}
    filled = [p for p in model.parameters() if id(p) not in apart]
    check("cslp-ae filled tensors", len(filled), "93")
    fill_parameters(filled, 0.3)
    x = fill_input(2, 3, 256)
    own = model.encode(x)
    s, t = own.subject.flatten(1), own.task.flatten(1)
    check("cslp-ae s", s[0, :4], "0.03987103756 0.292206893 0.151741543 0.224153152")
    check("cslp-ae t", t[0, :3], "-0.07624518039 -0.09055128813 -0.1081099637")
    check("cslp-ae t", t[1, -3:], "0.9869117438 0.02672359712 -0.1577810449")
    y = model.decode(own)
    check("cslp-ae reconstruction", y[0, 0, :4], "-0.2020237107 0.4830523365 0.3537058733 0.4389757563")
    check("cslp-ae MSE", F.mse_loss(y, x), "0.6771890273")
    both = torch.cat([x, 0.8 * x + 0.1])
    pairs = model.encode(both)
    exchanged = [Latents(swapped(pairs.subject), pairs.task), Latents(pairs.subject, swapped(pairs.task))]
    for name, latents, want in zip("st", exchanged, ("0.5658166881", "0.5639523569")):
        check(f"cslp-ae LP_{name}", F.mse_loss(model.decode(latents), both), want)
    losses = model.losses(torch.cat([both, both]), torch.zeros(8, dtype=torch.long), (1, 2), (1, 2))
    check("cslp-ae LP_s of a step", losses["subject_permutation"], "0.5658166881")
    check("cslp-ae LP_t of a step", losses["task_permutation"], "0.5639523569")
    sides = torch.cat([fill((4, 3), k, 1.0) for k in (1, 2)])
    check("cslp-ae contrast", contrast(sides, 1, 4, torch.tensor(1 / 0.07).double().log()), "3.925540056")


# -------------------------------------------------------------------------------------------------------------- SBLEST


def sblest_data(count: int, offset: int) -> tuple[np.ndarray, np.ndarray]:
    """Covariances of trials, divided by their traces, and labels."""
    q, c, t = np.arange(offset, offset + count)[:, None, None], np.arange(3)[:, None], np.arange(60) + 1
    y = np.where(np.arange(count) % 2 == 0, 1.0, -1.0)
    size = np.stack([1 + 0.6 * y, 1 - 0.6 * y, np.ones(count)], 1)[:, :, None]
    x = size * np.sin(0.4 * (c + 1) * t + 0.7 * q) + 0.5 * np.cos(0.23 * t * (c + 2) + 1.1 * q * (c + 1))
    x += 0.3 * np.sin(1.7 * t + q * q + c)
    r = x @ x.transpose(0, 2, 1)
    return r / np.trace(r, axis1=1, axis2=2)[:, None, None], y


def check_sblest() -> None:
    (r, y), (test, _) = sblest_data(12, 0), sblest_data(8, 12)
    whiten = spectral(lambda values: values**-0.5, r.mean(0))
    logs, test = (spectral(np.log, whiten @ m @ whiten) for m in (r, test))
    weights, losses, noises = evidence(logs, y)
    check("sblest steps", len(losses), "33")
    check("sblest losses", torch.tensor(losses[:3]), "5.366712301 -6.233384583 -14.51136873")
    check("sblest noises", torch.tensor(noises[:3]), "0.3056066175 0.1224636480 0.06073547542")
    check("sblest weights", torch.from_numpy(weights[0]), "0.5796367562 0.1950080858 -0.7173532021")
    check("sblest scores", torch.from_numpy((test * weights).sum((1, 2))[:3]), "0.9814404941 -1.220238475 0.9654182819")


if __name__ == "__main__":
    ptsm = (check_ptsm_counts, check_losses, check_ptsm_forward)
    others = (check_dann, check_acon, check_tsmnet_parts, check_tsmnet, check_cslp_ae, check_sblest)
    for run in (*ptsm, check_eegnet, check_deepconvnet, check_shallowconvnet, check_eegconformer, *others):
        run()
    print("\n".join(failures) if failures else f"{checked} golden numbers agree")
    sys.exit(bool(failures))
