"""braindecode's own classes, given the sizes of our networks and trained by the same loop."""

from importlib.metadata import version

import torch
from learning import lesson, network
from torch.nn import functional as F
from turns import Missing


def eegnet(models, net, size):
    channels, time, classes = size
    return models.EEGNet(
        channels, classes, time, kernel_length=net["kernel"], depthwise_kernel_length=net["separable_kernel"],
        pool1_kernel_size=net["pools"][0], pool2_kernel_size=net["pools"][1], final_layer_with_constraint=True,
    )  # fmt: skip


def deepconvnet(models, net, size, time=None):
    channels, whole, classes = size
    kernels = {f"filter_length_{i}": net["kernel"] for i in (2, 3, 4)}
    return models.Deep4Net(
        channels, classes, time or whole, filter_time_length=net["kernel"], pool_time_length=net["pool"],
        pool_time_stride=net["pool"], **kernels,
    )  # fmt: skip


def deepconvnet_cropped(models, net, size):
    model = deepconvnet(models, net, size, net["crop"])
    model.to_dense_prediction_model()
    model.probabilities = lambda x: model(x).softmax(1).mean(2)
    return model


def shallowconvnet(models, net, size):
    channels, time, classes = size
    sizes = {"filter_time_length": net["kernel"], "pool_time_length": net["pool"], "pool_time_stride": net["stride"]}
    return models.ShallowFBCSPNet(channels, classes, time, **sizes)


def eegconformer(models, net, size):
    channels, time, classes = size
    sizes = {"filter_time_length": net["kernel"], "pool_time_length": net["pool"], "pool_time_stride": net["stride"]}
    return models.EEGConformer(classes, channels, n_times=time, **sizes)


PEERS = {
    "eegnet": eegnet,
    "deepconvnet": deepconvnet,
    "deepconvnet-short": deepconvnet,
    "deepconvnet-cropped": deepconvnet_cropped,
    "deepconvnet-zhang": deepconvnet,
    "shallowconvnet": shallowconvnet,
    "eegconformer": eegconformer,
}


def build(request, trials):
    make = PEERS.get(request["decoder"])
    if make is None:
        return []
    # torchaudio, which braindecode imports, refuses a PyTorch that was built for another CUDA; none is used here.
    torch.version.cuda = None
    try:
        from braindecode import models
    except Exception as error:
        return [Missing(f"braindecode cannot be used: {error}")]
    own, net = lesson(request, trials), request["settings"]["network"]

    def loss(model, rows, others, done):
        told = model(own.x[rows])
        # of windows the mean
        told = F.log_softmax(told, 1).mean(2) if told.ndim == 3 else F.log_softmax(told, 1)
        return F.nll_loss(told, own.y[rows])

    return [network(f"braindecode {version('braindecode')}", lambda: make(models, net, own.size), own, loss)]
