"""How the PyTorch peers of `bench_decoders.py` are trained: what our trainer does, as a plain loop.

Batches of as many trials, as many epochs, all losses, Adam, the rate's course, the gradient's norm clipped, max-norm where the network has it, the
validation people decoded after each epoch and the best state kept.
"""

import copy
import math
from typing import NamedTuple

import numpy as np
import torch
from peers import count_decoding
from torch import Tensor
from torch.nn import functional as F
from turns import Peer


class Lesson(NamedTuple):
    """What a network learns from."""

    training: dict
    x: Tensor
    y: Tensor
    subject: Tensor
    target: Tensor
    """Trials whose labels are not known; as many as labelled ones are in each batch. Empty where there are none."""
    validation: object
    """Trials of people who decide which epoch is kept."""
    classes: int

    @property
    def size(self) -> tuple[int, int, int]:
        return (*self.x.shape[1:], self.classes)

    @property
    def people(self) -> int:
        return int(self.subject.max()) + 1

    def batch(self) -> int:
        """As many trials of each of some people, and no more than there are."""
        subjects, each = self.training["batch_subjects"], self.training["batch_trials"]
        together = min(subjects, self.people)
        return together * min(math.ceil(subjects * each / together), math.ceil(len(self.y) / together))

    def epoch(self):
        """Batches of rows of the labelled trials, each with rows of the target."""
        batch = self.batch()
        steps = math.ceil(len(self.y) / batch)
        rows = torch.randperm(len(self.y)).repeat(2)
        others = torch.cat([torch.randperm(len(self.target)) for _ in range(2 + len(self.y) // max(len(self.target), 1))])
        for step in range(steps):
            part = slice(step * batch, (step + 1) * batch)
            yield rows[part], others[part]


def lesson(request: dict, trials, target=None) -> Lesson:
    train = trials.of(request["train"])
    target = trials.x[:0] if target is None else target
    _, subject = np.unique(train.subject, return_inverse=True)
    arrays = (torch.from_numpy(a) for a in (train.x, train.y, subject, target))
    return Lesson(request["settings"]["training"], *arrays, trials.of(request["validation"]), int(trials.y.max()) + 1)


def course(training: dict, steps: int):
    """The share of the rate at a step."""
    kind = training["course"]
    if kind == "cosine":
        return lambda step: 0.5 * (1 + math.cos(math.pi * step / steps))
    if kind == "one_cycle":
        return lambda step: 0.1 + 0.45 * (1 + math.cos(math.pi * max(2 * step / steps - 1, 0)))
    return lambda step: 1.0


@torch.inference_mode()
def predict(model, trials) -> np.ndarray:
    model.eval()
    one = getattr(model, "probabilities", lambda x: model(x).softmax(1))
    return torch.cat([one(part) for part in torch.from_numpy(trials.x).split(64)]).numpy()


def adam(training: dict, parameters):
    kind = torch.optim.AdamW if training["decoupled_decay"] else torch.optim.Adam
    return kind(
        parameters, lr=training["rate"], betas=tuple(training["betas"]), weight_decay=training["weight_decay"], fused=True
    )


def worth(select: str, probabilities: np.ndarray, labels: np.ndarray, epoch: int) -> float:
    """What an epoch is chosen by."""
    if select == "last":
        return epoch
    if select == "loss":
        return float(np.log(probabilities[np.arange(len(labels)), labels]).mean())
    return float((probabilities.argmax(1) == labels).mean())


def train(model, lesson: Lesson, loss, moved=None, epoch=None, judged=predict):
    """`loss` is of the model, rows of the lesson, rows of its target and the part of all steps that is done. `moved` are the parameters that
    learn, `epoch` draws the batches, `judged` decodes the validation people."""
    training, epoch = lesson.training, epoch or lesson.epoch
    moved = list(model.parameters() if moved is None else moved)
    optimizer = adam(training, moved)
    steps = training["epochs"] * sum(1 for _ in epoch())
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, course(training, steps))
    constrain = getattr(model, "constrain_", lambda: None)
    best, kept, step = -math.inf, None, 0
    for number in range(training["epochs"]):
        model.train()
        for rows, others in epoch():
            optimizer.zero_grad(set_to_none=True)
            loss(model, rows, others, step / steps).backward()
            if training["clip"] is not None:
                torch.nn.utils.clip_grad_norm_(moved, training["clip"])
            optimizer.step()
            schedule.step()
            constrain()
            step += 1
        now = worth(training["select"], judged(model, lesson.validation), lesson.validation.y, number)
        if now > best:
            best, kept = now, copy.deepcopy(model.state_dict())
    model.load_state_dict(kept)
    return model


def network(name: str, make, lesson: Lesson, loss=None) -> Peer:
    """A network whose loss, where none is given, is the cross-entropy of its classes."""
    loss = loss or (lambda model, rows, others, done: F.cross_entropy(model(lesson.x[rows]), lesson.y[rows]))

    def fit():
        torch.manual_seed(1)
        return train(make(), lesson, loss)

    return Peer(name, fit, predict, count_decoding)
