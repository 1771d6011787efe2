"""One side of `cargo xtask bench decoders`, driven by JSON lines.

The first line on stdin is the request:

    {"decoder": name, "data": file, "settings": {..}, "threads": n, "train": [..], "validation": [..], "test": [..]}

Answers, one line each on stdout, nothing else is written there:

    (learnt once)   {"peer": what works here, "accuracy": share}, or {"peer": null, "why": ".."} where there is no peer
    "turn"          {"fit_ms": [..], "predict_ms": [..]}: each time it learnt and each time it decoded all trials
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
    rate_hz: float

    def of(self, people: list[int]) -> "Trials":
        rows = np.isin(self.subject, people)
        return Trials(self.x[rows], self.y[rows], self.subject[rows], self.rate_hz)


class Peer(NamedTuple):
    name: str
    fit: Callable[[], object]
    """Learns from nothing and returns what it learnt."""
    predict: Callable[[object, np.ndarray], np.ndarray]
    """The probability of every class for each trial."""


def repeated(work: Callable[[], object]) -> list[float]:
    begin, ms = time.perf_counter(), []
    while not ms or time.perf_counter() - begin < TURN_S:
        start = time.perf_counter()
        work()
        ms.append(1e3 * (time.perf_counter() - start))
    return ms


def serve(build: Callable[[dict, Trials], Peer | None]) -> None:
    """`build` makes the peer of a request, or nothing where there is none."""
    # answers keep the real stdout; whatever libraries print goes to stderr
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def write(message: dict) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    request = json.loads(sys.stdin.readline())
    file = np.load(request["data"])
    trials = Trials(file["X"], file["y"].astype(np.int64), file["subject"], float(file["rate_hz"]))
    peer = build(request, trials)
    if peer is None:
        write({"peer": None, "why": "there is no peer of this name in the script", "accuracy": None})
    else:
        learnt = peer.fit()
        test = trials.of(request["test"])
        accuracy = float((peer.predict(learnt, test.x).argmax(1) == test.y).mean())
        write({"peer": peer.name, "why": None, "accuracy": accuracy})
    for line in sys.stdin:
        if "quit" in line or peer is None:
            break
        fit = repeated(peer.fit)
        write({"fit_ms": fit, "predict_ms": repeated(lambda: peer.predict(learnt, trials.x))})
