"""One side of `cargo lab bench decoders`, driven by JSON lines.

The first line on stdin is the request:

    {"decoder": name, "data": file, "settings": {..}, "threads": n, "train": [..], "validation": [..], "test": [..]}

Answers, one line each on stdout, nothing else is written there:

    (learnt once)   [{"peer": what works here, "accuracy": share, "parameters": count}, ..], one for each peer, or {"peer": null, "why": ".."}
                    in place of one that there is not
    "turn"          [{"fit_ms": [..], "predict_ms": [..]}, ..]: of each peer, each time it learnt and each time it decoded all trials
    {"quit": true}  (ends)
"""

import json
import os
import sys
import time
from typing import Callable, NamedTuple

import numpy as np

TURN_S = 0.25


class Trials(NamedTuple):
    x: np.ndarray
    y: np.ndarray
    subject: np.ndarray
    session: np.ndarray
    rate_hz: float

    def only(self, rows: np.ndarray) -> "Trials":
        return Trials(self.x[rows], self.y[rows], self.subject[rows], self.session[rows], self.rate_hz)

    def of(self, people: list[int]) -> "Trials":
        return self.only(np.isin(self.subject, people))


class Peer(NamedTuple):
    name: str
    fit: Callable[[], object]
    """Learns from nothing and returns what it learnt."""
    predict: Callable[[object, Trials], np.ndarray]
    """The probability of every class for each trial."""
    parameters: Callable[[object], int | None] = lambda learnt: None
    """How many numbers decode."""


class Missing(NamedTuple):
    """In place of a peer that there is not."""

    why: str


def repeated(work: Callable[[], object]) -> list[float]:
    begin, ms = time.perf_counter(), []
    while not ms or time.perf_counter() - begin < TURN_S:
        start = time.perf_counter()
        work()
        ms.append(1e3 * (time.perf_counter() - start))
    return ms


def serve(build: Callable[[dict, Trials], list[Peer | Missing]]) -> None:
    """`build` makes the peers of a request."""
    # answers keep the real stdout; whatever libraries print goes to stderr
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def write(message: list[dict]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    def ready(peer: Peer | Missing) -> dict:
        if isinstance(peer, Missing):
            return {"peer": None, "why": peer.why, "accuracy": None, "parameters": None}
        learnt.append((peer, peer.fit()))
        accuracy = float((peer.predict(learnt[-1][1], test).argmax(1) == test.y).mean())
        return {"peer": peer.name, "why": None, "accuracy": accuracy, "parameters": peer.parameters(learnt[-1][1])}

    request = json.loads(sys.stdin.readline())
    file = np.load(request["data"])
    labels = file["y"].astype(np.int64)
    trials = Trials(file["X"], labels, file["subject"], file["session"], float(file["rate_hz"]))
    test, learnt = trials.of(request["test"]), []
    write([ready(peer) for peer in build(request, trials)])
    for line in sys.stdin:
        if "quit" in line:
            break
        write(
            [
                {"fit_ms": repeated(peer.fit), "predict_ms": repeated(lambda: peer.predict(fitted, trials))}
                for peer, fitted in learnt
            ]
        )
