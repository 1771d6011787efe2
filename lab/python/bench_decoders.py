"""PyTorch in `cargo lab bench decoders`: the networks as plain modules with a plain training loop, and braindecode's own where it has them.

The protocol is that of `turns.py`, the training that of `learning.py`. The modules of `peers.py`, `tsmnet.py` and `cslp_ae.py` hold the golden
numbers of the methods. A new decoder's peer is an entry of `PEERS`: what makes it from the request and the trials.
"""

import copy
import math

import braindecode_peers
import cslp_ae
import numpy as np
import peers
import torch
import tsmnet
from learning import adam, lesson, network, predict, train, worth
from sklearn.linear_model import LogisticRegression
from torch.nn import functional as F
from turns import Missing, Peer, serve

NAME = "PyTorch"


def plain(module):
    """A network with one loss of its own, or the cross-entropy of its classes."""

    def build(request, trials):
        own, net = lesson(request, trials), request["settings"]["network"]
        return network(NAME, lambda: module(net, own.size), own)

    return build


def eegnet_sizes(net):
    return {"kernel": net["kernel"], "separable_kernel": net["separable_kernel"], "pools": tuple(net["pools"])}


def eegnet(net, size):
    return peers.EegNet(*size, **eegnet_sizes(net))


def deepconvnet(net, size):
    model = peers.DeepConvNet(*size)
    if net["max_norm"] is None:
        model.constrain_ = lambda: None
    return model


def shallowconvnet(net, size):
    if (net["kernel"], net["pool"], net["stride"]) != (25, 75, 15):
        raise ValueError("the peer is the form for 250 Hz")
    return peers.ShallowConvNet(*size)


def eegconformer(net, size):
    return peers.EegConformer(peers.ConformerConfig(*size, kernel=net["kernel"], pool=net["pool"], stride=net["stride"]))


def deepconvnet_cropped(request, trials):
    own, net = lesson(request, trials), request["settings"]["network"]
    channels, _, classes = own.size
    places, maps = net["crop"], [25, 50, 100, 200]
    for _ in maps:
        places = (places - net["kernel"] + 1) // net["pool"]

    def make():
        return peers.CroppedDeepConvNet(channels, classes, maps, net["kernel"], net["pool"], places, (2.0, 0.5))

    return network(NAME, make, own, lambda model, rows, others, done: model.loss(own.x[rows], own.y[rows]))


def ptsm_weights(net):
    w = net["weights"]
    return peers.Weights(
        subject_ce=w["subject"],
        decouple=w["decouple"],
        orth=w["orthogonality"],
        cov=w["decorrelation"],
        info=w["retention"],
        sparse_features=w["feature_sparsity"],
        mask=w["mask"],
        sim=w["similarity"],
        sparse=w["mask_sparsity"],
        size=w["mask_size"],
        contrast=w["contrast"],
        contrast_task=w["contrast_task"],
        contrast_subject=w["contrast_subject"],
        rho=net["rho"],
        tau=net["temperature"],
        literal=frozenset({"sparse", "cov", "info", "sparse_features"} if net["literal"] else ()),
    )


def ptsm(request, trials):
    own, net = lesson(request, trials), request["settings"]["network"]
    weights = ptsm_weights(net)

    def loss(model, rows, others, done):
        return model.loss(own.x[rows], own.y[rows], own.subject[rows], weights)

    return network(NAME, lambda: peers.Ptsm(peers.PtsmConfig(*own.size, own.people, pool=net["pool"])), own, loss)


def dann(request, trials):
    """Of EEGNet or PTSM; domains are labelled and target trials, or the training subjects."""
    net = request["settings"]["network"]
    uda, encoder = net["domains"] == "uda", net["encoder"]
    own = lesson(request, trials, trials.of(request["test"]).x if uda else None)
    head = {"hidden": net["hidden"], "domains": 2 if uda else own.people}
    of_ptsm = request["decoder"].startswith("ptsm")
    masks = {"weights": ptsm_weights(encoder)} if of_ptsm else {}

    def make():
        if of_ptsm:
            return peers.PtsmDann(peers.PtsmConfig(*own.size, own.people, pool=encoder["pool"]), **head)
        return peers.Dann(*own.size, **head, **eegnet_sizes(encoder))

    def loss(model, rows, others, done):
        ramp = net["reversal"] == "ramp"
        factor = 2 / (1 + math.exp(-10 * done)) - 1 if ramp else net["reversal"]["fixed"]
        x, domain = own.x[rows], own.subject[rows]
        if uda:
            x = torch.cat([x, own.target[others]])
            domain = torch.arange(2).repeat_interleave(len(rows))
        named = model.losses(x, own.y[rows], domain, factor, **masks)
        return named["task"] + named.get("mask", 0) + net["weight"] * named["domain"]

    return network(NAME, make, own, loss)


def scaled(x, moments):
    mean, deviation = moments
    return (x - mean[:, None]) / deviation[:, None]


def acon(request, trials):
    net, training = request["settings"]["network"], request["settings"]["training"]
    train_ids, away = np.array(request["train"]), np.array(request["test"])
    if net["target"] == "pretended":
        # a third of the people plays the target
        order = np.random.default_rng(1).permutation(train_ids)
        away, kept = np.split(order, [max(len(order) // 3, 1)])
        request = request | {"train": kept.tolist()}
    own = lesson(request, trials, trials.of(away.tolist()).x)
    moments = [(x.mean((0, 2)), x.std((0, 2), correction=0)) for x in (own.x, own.target)]
    x, target = (scaled(x, m) for x, m in zip((own.x, own.target), moments))
    keys = ("width", "features", "kernel", "stride", "period", "pooled", "critic", "fft_normalize", "rank", "dropout")
    w = net["weights"]
    weights = {"task": 1.0, "task_frequency": w["frequency"], "domain": w["domain"]}
    weights |= {"entropy_time": w["entropy"], "entropy_frequency": w["entropy"]}
    weights |= {"teach_source": w["teach_source"], "teach_target": w["teach_target"]}

    def decoded(which):
        return lambda model, trials: predict(model, trials._replace(x=scaled(torch.from_numpy(trials.x), moments[which]).numpy()))

    def fit():
        torch.manual_seed(1)
        model = peers.Acon(own.size[0], own.size[2], **{key: net[key] for key in keys})
        critic = adam(training, model.critic.parameters())

        def loss(model, rows, others, done):
            named = model.losses(x[rows], target[others], own.y[rows], critic)
            return sum(weight * named[name] for name, weight in weights.items())

        moved = [p for name, p in model.named_parameters() if not name.startswith("critic.")]
        return train(model, own, loss, moved, judged=decoded(0))

    return Peer(NAME, fit, decoded(1), peers.count_decoding)


def tsmnet_peer(request, trials):
    """Of each session's own statistics, or of everybody's."""
    own, net, training = lesson(request, trials), request["settings"]["network"], request["settings"]["training"]
    everybody = request["decoder"] == "tsmnet-spdmbn"
    together, each = (1, 50) if everybody else (training["batch_domains"], training["batch_trials"])
    share, kept = (0.1, 0.35) if everybody else (1 / together, 0.85)
    names = ("filters", "kernel", "outputs", "subspace", "least_eigenvalue")
    middle = (own.x - own.x.mean(2, keepdim=True)).square().mean((1, 2)).sqrt().median()
    gain = float(net["amplitude_uv"] / middle)
    learnt_from = own.x * gain

    def sessions(trials):
        domains = np.unique(np.stack([trials.subject, trials.session]), axis=1, return_inverse=True)[1].ravel()
        return [np.flatnonzero(domains == domain) for domain in range(domains.max() + 1)]

    places = [np.arange(len(own.y))] if everybody else sessions(trials.of(request["train"]))

    def epoch():
        """Domains and rows `[D, N]` of batches: domains at random among those with enough trials left."""
        left = [np.random.permutation(rows) for rows in places]
        while len(able := [d for d, rows in enumerate(left) if len(rows) >= each]) >= together:
            chosen = np.random.permutation(able)[:together]
            yield torch.from_numpy(chosen), torch.from_numpy(np.stack([left[d][:each] for d in chosen]))
            for d in chosen:
                left[d] = left[d][each:]

    @torch.no_grad()
    def matrices(model, x):
        return torch.cat([model.matrices(part * gain) for part in torch.from_numpy(x).split(64)])

    @torch.no_grad()
    def decoded(model, trials, known):
        all_matrices, told = matrices(model, trials.x), torch.empty(len(trials.y), own.classes, dtype=torch.float64)
        for rows in [slice(None)] if known else sessions(trials):
            part = all_matrices[rows]
            told[rows] = model.logits(part.unsqueeze(0), known or tsmnet.Statistics.of(part))[0].softmax(1)
        return told.numpy()

    def fit():
        torch.manual_seed(1)
        np.random.seed(1)
        model = tsmnet.TsmNet(own.size[0], own.classes, **{name: net[name] for name in names})
        rest = [p for name, p in model.named_parameters() if name != "bimap"]
        # of two precisions, which the fused form does not take
        optimizer = torch.optim.Adam(rest, lr=training["rate"], weight_decay=training["weight_decay"], foreach=True)
        turning = tsmnet.StiefelAdam(model.bimap, training["rate"])
        met = tsmnet.Statistics.start(len(places), net["subspace"])
        later = tsmnet.Statistics.start(1, net["subspace"])
        best, state = -math.inf, None
        for number in range(training["epochs"]):
            eta, eta_later = tsmnet.momenta(number + 1, training["epochs"], share, kept)
            for domains, rows in epoch():
                spd = model.matrices(learnt_from[rows.flatten()]).unflatten(0, rows.shape)
                batch = tsmnet.Batch.of(spd)
                moved = batch.followed(tsmnet.Statistics(met.mean[domains], met.variance[domains]), eta)
                loss = F.cross_entropy(model.logits(spd, moved).flatten(0, 1), own.y[rows.flatten()])
                model.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
                turning.step()
                met.mean[domains], met.variance[domains] = moved.mean.detach(), moved.variance.detach()
                if everybody:
                    with torch.no_grad():
                        later = batch.followed(later, eta_later)
            told = decoded(model, own.validation, later if everybody else None)
            now = worth(training["select"], told, own.validation.y, number)
            if now > best:
                best, state = now, copy.deepcopy(model.state_dict())
        model.load_state_dict(state)
        known = None
        if everybody:
            with torch.no_grad():
                known = tsmnet.Statistics.of(matrices(model, own.x.numpy()))
        return model, known

    return Peer(
        NAME, fit, lambda learnt, trials: decoded(learnt[0], trials, learnt[1]), lambda learnt: peers.count(learnt[0])
    )


def cslp_ae_peer(request, trials):
    own, net = lesson(request, trials), request["settings"]["network"]
    by_value = [[torch.nonzero(labels == v).ravel() for v in labels.unique()] for labels in (own.subject, own.y)]
    groups = [(max(net["pair_trials"] // (2 * len(values)), 1), len(values)) for values in by_value]
    batch = sum(2 * math.prod(sizes) for sizes in groups)
    mean, deviation = own.x.mean(0), own.x.std(0, correction=0)
    deviation[deviation == 0] = 1

    def epoch():
        """Groups with one trial of each value, the first ones of all pairs before the second."""
        for _ in range(math.ceil(len(own.y) / batch)):
            drawn = [
                torch.stack([rows[torch.randint(len(rows), (2 * count,))] for rows in values], 1).flatten()
                for values, (count, _) in zip(by_value, groups)
            ]
            yield torch.cat(drawn), None

    def loss(model, rows, others, done):
        return sum(model.losses(own.x[rows], own.y[rows], *groups).values())

    def fit():
        torch.manual_seed(1)
        model = cslp_ae.CslpAe(*own.size, width=net["width"], latent=net["latent"], levels=net["levels"])
        model.mean.copy_(mean)
        model.deviation.copy_(deviation)
        train(model, own, loss, epoch=epoch)
        with torch.inference_mode():
            model.eval()
            latents = torch.cat([model.task_latents(part) for part in own.x.split(64)]).double().numpy()
            centre, size = latents.mean(0), latents.std(0)
            size[size == 0] = 1
            found = LogisticRegression(C=1.0, max_iter=1000).fit((latents - centre) / size, own.y.numpy())
            weight = found.coef_ / size
            bias = found.intercept_ - weight @ centre
            # of two classes the first has no weights
            first = own.classes - len(weight)
            model.head.weight.zero_()[first:] = torch.from_numpy(weight)
            model.head.bias.zero_()[first:] = torch.from_numpy(bias)
        return model

    return Peer(NAME, fit, predict, peers.count_decoding)


PEERS = {
    "ptsm": ptsm,
    "ptsm-paper": ptsm,
    "eegnet": plain(eegnet),
    "deepconvnet": plain(deepconvnet),
    "deepconvnet-short": plain(deepconvnet),
    "deepconvnet-cropped": deepconvnet_cropped,
    "deepconvnet-zhang": plain(deepconvnet),
    "shallowconvnet": plain(shallowconvnet),
    "eegconformer": plain(eegconformer),
    "dann": dann,
    "dann-subject": dann,
    "ptsm-dann": dann,
    "ptsm-dann-subject": dann,
    "acon": acon,
    "acon-pseudo": acon,
    "tsmnet": tsmnet_peer,
    "tsmnet-spdmbn": tsmnet_peer,
    "cslp-ae": cslp_ae_peer,
}


def build(request, trials):
    make = PEERS.get(request["decoder"])
    torch.set_num_threads(request["threads"])
    first = make(request, trials) if make else Missing("there is no peer of this name in the script")
    return [first, *braindecode_peers.build(request, trials)]


serve(build)
