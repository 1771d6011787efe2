"""PyTorch in `cargo xtask bench decoders`: the networks as plain modules with a plain training loop.

The protocol is that of `turns.py`. Training is what ours does: batches of as many trials, as many epochs, all losses, Adam, the gradient's
norm clipped, max-norm where the network has it, the validation people decoded after each epoch. braindecode's own classes are not used:
the modules of `peers.py` have its layers and hold the golden numbers. A new decoder's peer is an entry of `PEERS`.
"""

import copy
import math

import numpy as np
import peers
import torch
from torch.nn import functional as F
from turns import Peer, serve


def ptsm(net, size, subjects):
    return peers.Ptsm(peers.PtsmConfig(*size, subjects, pool=net["pool"]))


def eegnet(net, size, subjects):
    return peers.EegNet(*size, kernel=net["kernel"], separable_kernel=net["separable_kernel"], pools=tuple(net["pools"]))


def deepconvnet(net, size, subjects):
    model = peers.DeepConvNet(*size)
    if net["max_norm"] is None:
        model.constrain_ = lambda: None
    return model


def deepconvnet_cropped(net, size, subjects):
    channels, _, classes = size
    crop, maps = net["crop"], [25, 50, 100, 200]
    for _ in maps:
        crop = (crop - net["kernel"] + 1) // net["pool"]
    model = peers.CroppedDeepConvNet(channels, classes, maps, net["kernel"], net["pool"], crop, (2.0, 0.5))
    model.windows = True
    return model


def shallowconvnet(net, size, subjects):
    if (net["kernel"], net["pool"], net["stride"]) != (25, 75, 15):
        raise ValueError("the peer is the form for 250 Hz")
    return peers.ShallowConvNet(*size)


def eegconformer(net, size, subjects):
    return peers.EegConformer(peers.ConformerConfig(*size, kernel=net["kernel"], pool=net["pool"], stride=net["stride"]))


PEERS = {
    "ptsm": ptsm,
    "ptsm-paper": ptsm,
    "eegnet": eegnet,
    "deepconvnet": deepconvnet,
    "deepconvnet-cropped": deepconvnet_cropped,
    "deepconvnet-zhang": deepconvnet,
    "shallowconvnet": shallowconvnet,
    "eegconformer": eegconformer,
}


def logits(model, x):
    out = model(x)
    if isinstance(out, peers.PtsmOutput):
        return out[0]
    return out.softmax(1).mean(2).log() if getattr(model, "windows", False) else out


def loss_of(model, x, y, subject):
    if isinstance(model, peers.Ptsm):
        return model.loss(x, y, subject)
    return model.loss(x, y) if hasattr(model, "loss") else F.cross_entropy(model(x), y)


@torch.inference_mode()
def predict(model, x):
    model.eval()
    return torch.cat([logits(model, part).softmax(1) for part in torch.from_numpy(x).split(64)]).numpy()


def build(request, trials):
    make = PEERS.get(request["decoder"])
    if make is None:
        return None
    torch.set_num_threads(request["threads"])
    training = request["settings"]["training"]
    train, other = trials.of(request["train"]), trials.of(request["validation"])
    people, subject = np.unique(train.subject, return_inverse=True)
    x, y, subject = torch.from_numpy(train.x), torch.from_numpy(train.y), torch.from_numpy(subject)
    size = (*train.x.shape[1:], int(trials.y.max()) + 1)
    batch = min(training["batch_subjects"] * training["batch_trials"], len(y))
    steps = math.ceil(len(y) / batch)
    decay = training["weight_decay"]
    adam = torch.optim.AdamW if training["decoupled_decay"] else torch.optim.Adam

    def fit():
        torch.manual_seed(1)
        model = make(request["settings"]["network"], size, len(people))
        optimizer = adam(
            model.parameters(), lr=training["rate"], betas=tuple(training["betas"]), weight_decay=decay, fused=True
        )
        constrain = getattr(model, "constrain_", lambda: None)
        best, kept = -1.0, None
        for _ in range(training["epochs"]):
            model.train()
            order = torch.randperm(len(y)).repeat(2)
            for step in range(steps):
                rows = order[step * batch : (step + 1) * batch]
                optimizer.zero_grad(set_to_none=True)
                loss_of(model, x[rows], y[rows], subject[rows]).backward()
                if training["clip"] is not None:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), training["clip"])
                optimizer.step()
                constrain()
            right = float((predict(model, other.x).argmax(1) == other.y).mean())
            if right > best:
                best, kept = right, copy.deepcopy(model.state_dict())
        model.load_state_dict(kept)
        return model

    return Peer("PyTorch", fit, predict)


serve(build)
