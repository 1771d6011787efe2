"""Training on a GPU with PyTorch: the peers of `cargo lab bench gpu`.

Usage: python3 gpu_peers.py [--seconds N] [--device cuda|cpu] [--shapes CxT,..] [--batch B] [--large B] WAY..

Ways, each for PTSM with both poolings, EEGNet and DeepConvNet, the most important cases first:

    ceilings   what the chip does at most: copies, float32, TF32 and bfloat16 products
    eager      PyTorch as it is written
    graph      the whole step captured as a CUDA graph, also with a large batch for PTSM at the first shape
    compile    `torch.compile` of the loss, then the same captured as a CUDA graph

A step gathers a batch from resident trials by an index that changes, then forward in train mode, full loss, backward,
clipping of the gradient's norm, fused Adam (and max-norm where the network has it). float32 without TF32, cuDNN chooses
its algorithms by trial. The clock runs over rounds of steps that nothing waits for in between.

Every case is a process of its own, forked before CUDA is touched, so that one that fails or hangs takes nothing along.
Answers are JSON lines on stdout as `lab/src/bench/gpu/line.rs` reads them; nothing else is written there.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from typing import Callable, NamedTuple

# Answers keep the real stdout; whatever libraries print goes to stderr.
ANSWERS = os.dup(1)
os.dup2(2, 1)

import torch  # noqa: E402

import peers  # noqa: E402

TRIALS = 2048
CLASSES, SUBJECTS = 2, 84
WARM_UP = 5
ROUNDS, ROUND_SECONDS = 10, 0.1
NETWORKS = ("ptsm-each", "ptsm-last", "eegnet", "deepconvnet")
# Seconds a case may take, and the fewest that are worth a try.
LIMITS = {"ceilings": (30, 10), "eager": (25, 6), "graph": (25, 6), "compile": (110, 30)}


def tell(line: dict) -> None:
    os.write(ANSWERS, (json.dumps(line) + "\n").encode())


class Case(NamedTuple):
    network: str
    channels: int
    time: int
    batch: int

    def line(self, who: str, what: str, **more) -> dict:
        return {"what": what, "who": who, **self._asdict(), "replicas": 1, **more}


# ---------------------------------------------------------------------------------------------------------------- steps


def build(case: Case) -> torch.nn.Module:
    torch.manual_seed(7)
    size = case.channels, case.time, CLASSES
    if case.network.startswith("ptsm-"):
        return peers.Ptsm(peers.PtsmConfig(*size, SUBJECTS, pool=case.network.removeprefix("ptsm-")))
    return {"eegnet": peers.EegNet, "deepconvnet": peers.DeepConvNet}[case.network](*size)


class Training:
    """A model, its data and its optimizer, all on the device."""

    def __init__(self, case: Case, device: str, capturable: bool, compiled: bool):
        trials = max(TRIALS, case.batch) if device == "cuda" else case.batch
        x = torch.randn(trials, case.channels, case.time, device=device)
        self.data = x, *(torch.randint(n, (trials,), device=device) for n in (CLASSES, SUBJECTS))
        self.data_bytes = sum(t.numel() * t.element_size() for t in self.data)
        self.indices = [torch.randperm(trials, device=device)[: case.batch] for _ in range(32)]
        self.index = self.indices[0].clone()
        self.turn = 0
        self.model = build(case).to(device).train()
        self.loss = torch.compile(self.model.loss) if compiled else self.model.loss
        self.constrain = getattr(self.model, "constrain_", lambda: None)
        self.parameters = list(self.model.parameters())
        options = {"capturable": True} if capturable else {}
        self.optimizer = torch.optim.Adam(self.parameters, lr=1e-3, weight_decay=1e-4, fused=True, **options)

    def next_batch(self) -> None:
        self.turn += 1
        self.index.copy_(self.indices[self.turn % len(self.indices)])

    def update(self) -> torch.Tensor:
        loss = self.loss(*(t[self.index] for t in self.data))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, 5.0)
        self.optimizer.step()
        self.constrain()
        return loss

    def step(self) -> torch.Tensor:
        self.next_batch()
        self.optimizer.zero_grad(set_to_none=True)
        return self.update()

    def captured(self) -> Callable[[], torch.Tensor]:
        """The step as one graph; only the index changes between replays."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            loss = self.update()

        def replay() -> torch.Tensor:
            self.next_batch()
            graph.replay()
            return loss

        return replay


def timed(step: Callable[[], torch.Tensor]) -> dict:
    """Milliseconds per step: median and quartiles of rounds, each of which ends with the loss read back."""

    def round_of(steps: int) -> float:
        begin = time.perf_counter()
        for _ in range(steps):
            loss = step()
        if not torch.isfinite(loss.detach()).item():
            raise RuntimeError("the loss is not finite")
        return 1e3 * (time.perf_counter() - begin) / steps

    round_of(WARM_UP)
    steps = max(1, round(1e3 * ROUND_SECONDS / round_of(WARM_UP)))
    ms = sorted(round_of(steps) for _ in range(ROUNDS))
    quartiles = [ms[len(ms) // 4], ms[len(ms) - 1 - len(ms) // 4]]
    return {"ms": (ms[(len(ms) - 1) // 2] + ms[len(ms) // 2]) / 2, "quartiles_ms": quartiles, "steps": steps * len(ms)}


def settle(device: str) -> None:
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    if device == "cuda":
        torch.cuda.init()


def train(case: Case, way: str, device: str) -> None:
    begin = time.perf_counter()
    captures = [False, True] if way == "compile" else [way == "graph"]
    for captured in captures:
        who = way if way != "compile" or not captured else "compile_graph"
        try:
            settle(device)
            training = Training(case, device, captured, way == "compile")
            step = training.captured() if captured else training.step
            step().item()
            ready = time.perf_counter() - begin
            times = timed(step)
            peak = torch.cuda.max_memory_allocated() - training.data_bytes if device == "cuda" else 0
            tell(
                case.line(
                    who,
                    "case",
                    **times,
                    parameters=peers.count(training.model),
                    mib=round(peak / 2**20, 1),
                    ready_s=round(ready, 3),
                )
            )
        except Exception as error:  # noqa: BLE001
            tell(case.line(who, "failed", reason=reason(error)))
        begin = time.perf_counter()


def reason(error: Exception) -> str:
    """The first line that says something."""
    text = f"{type(error).__name__}: {error}".strip().splitlines()
    return (text[0] if text else type(error).__name__)[:300]


# ------------------------------------------------------------------------------------------------------------- ceilings


def seconds(work: Callable[[], object], device: str) -> float:
    def wait() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    best = float("inf")
    for _ in range(4):
        wait()
        begin = time.perf_counter()
        for _ in range(5):
            work()
        wait()
        best = min(best, (time.perf_counter() - begin) / 5)
    return best


def ceilings(device: str) -> None:
    """The best of a few large copies and products."""
    settle(device)
    side, numbers = (8192, 2**30) if device == "cuda" else (256, 2**20)
    source = torch.zeros(numbers, device=device)
    target = torch.empty_like(source)
    found = {"copy_gb_per_s": 8e-9 * numbers / seconds(lambda: target.copy_(source), device)}
    del source, target
    a, b = torch.randn(side, side, device=device), torch.randn(side, side, device=device)
    flop = 2e-12 * side**3
    found["float32_tflops"] = flop / seconds(lambda: a @ b, device)
    torch.backends.cuda.matmul.allow_tf32 = True
    found["tf32_tflops"] = flop / seconds(lambda: a @ b, device)
    a, b = a.bfloat16(), b.bfloat16()
    found["bf16_tflops"] = flop / seconds(lambda: a @ b, device)
    tell({"what": "ceilings", **found})
    versions = {"torch": torch.__version__, "python": sys.version.split()[0], "cuda": str(torch.version.cuda)}
    if torch.backends.cudnn.is_available():
        versions["cudnn"] = str(torch.backends.cudnn.version())
    tell({"what": "versions", "versions": versions})


# ------------------------------------------------------------------------------------------------------------ processes


def in_child(work: Callable[[], None], limit: float) -> str | None:
    """Runs `work` in a forked process; why it did not end well, if it did not."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setsid()
            work()
            status = 0
        except BaseException as error:  # noqa: BLE001
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return None if status == 0 else f"its process ended with status {status}"
        time.sleep(0.02)
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return f"stopped after {limit:.0f} s"


def cases(way: str, shapes: list[tuple[int, int]], batch: int, large: int):
    for i, (channels, samples) in enumerate(shapes):
        for network in NETWORKS:
            if network == "deepconvnet" and peers.DeepConvNet.length(samples) < 1:
                continue
            yield Case(network, channels, samples, batch)
            if way != "eager" and i == 0 and network.startswith("ptsm-"):
                yield Case(network, channels, samples, large)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("ways", nargs="+", choices=list(LIMITS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--shapes", default="64x400,62x1000,20x1000")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--large", type=int, default=1024)
    options = parser.parse_args()
    shapes = [tuple(map(int, shape.split("x"))) for shape in options.shapes.split(",")]
    device, end = options.device, time.monotonic() + options.seconds
    if "ceilings" in options.ways:
        failure = in_child(lambda: ceilings(device), LIMITS["ceilings"][0])
        if failure:
            print(f"no ceilings: {failure}", file=sys.stderr)
    ways = [way for way in options.ways if way != "ceilings"]
    # Shape by shape, so that all ways of the most important one come first.
    listed = [(way, list(cases(way, shapes, options.batch, options.large))) for way in ways]
    order = [(case, way) for shape in shapes for way, all in listed for case in all if case[1:3] == shape]
    for case, way in order:
        longest, least = LIMITS[way]
        left = end - time.monotonic()
        if left < least:
            failure = "no time was left"
        else:
            failure = in_child(lambda: train(case, way, device), min(longest, left))
        if failure:
            tell(case.line(way, "failed", reason=failure))
    return 0


if __name__ == "__main__":
    sys.exit(main())
