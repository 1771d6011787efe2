"""One benchmark case of a PyTorch or onnxruntime peer, driven by JSON lines.

The first line on stdin describes the case:

    {"framework": "eager"|"compile"|"onnx", "model": "ptsm"|"eegnet"|"deepconvnet3", "pool": "last"|"each", "batch": 64,
     "channels": 64, "time": 640, "subjects": 84, "classes": 2, "threads": 2, "mode": "train"|"infer"}

    optional: "malloc": "default"|"keep"   "keep" makes glibc hold on to freed memory instead of returning big blocks
              "channels_last": true|false  memory format; by default the faster one (true for deepconvnet3)
              "equivariant": true|false    sees each trial from both sides; in mode `infer` only
              "dropout": p                 replaces the usual rate (0.5, EEGNet 0.25)

Answers, one line each on stdout, nothing else is written there:

    (prepared)        {"ready": true, "parameters": n, "prepare_seconds": s, "import_seconds": s, "details": {..}}
    {"steps": n}      {"ms": [n wall-clock values]}
    {"memory": true}  {"peak_rss_mib": m, "after_import_rss_mib": m, "rss_mib": m}
    {"quit": true}    (ends)
    any failure       {"error": "..."}, exit status 1

A training step gathers a batch from 256 resident trials by an index tensor, then forward in train mode, full loss,
backward, gradient clipping, Adam (and max-norm for EEGNet). An inference step is the forward pass of one resident batch
to task logits in eval mode. For onnxruntime a child process exports the model and computes the eager logits to check it
against, so this process, whose memory is measured, never loads PyTorch. `parameters` counts those of the model that
runs (no subject branch in `infer`). Memory of the C++ compiler behind `compile` is not counted; its time is part of
`prepare_seconds` unless the kernels are cached (TORCHINDUCTOR_FORCE_DISABLE_CACHES=1 forces a cold start).
"""

from __future__ import annotations

import copy
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, NamedTuple

TRIALS = 256
WARM_UP = 3
TOLERANCE = 1e-4


class Prepared(NamedTuple):
    step: Callable[[], object]
    parameters: int
    details: dict


def status_mib(key: str) -> float:
    """A memory entry of this process; VmHWM (peak) is used since ru_maxrss may show the parent's peak."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"no {key} in /proc/self/status")


def keep_freed_memory() -> None:
    """Serves big blocks from the heap and never trims it, which spares the page faults of every step."""
    libc = ctypes.CDLL(None)
    trim_threshold, mmap_max = -1, -4
    if not (libc.mallopt(mmap_max, 0) and libc.mallopt(trim_threshold, 2**31 - 1)):
        raise RuntimeError("mallopt refused the settings")


def trials(cfg: dict, n: int):
    """`n` random trials, labels and subjects, as NumPy arrays."""
    import numpy as np

    rng = np.random.default_rng(7)
    x = rng.standard_normal((n, cfg["channels"], cfg["time"]), dtype=np.float32)
    return x, rng.integers(cfg["classes"], size=n), rng.integers(cfg["subjects"], size=n)


# ------------------------------------------------------------------------------------------------------------- PyTorch


def build_model(cfg: dict):
    import torch

    import peers

    torch.manual_seed(7)
    size = cfg["channels"], cfg["time"], cfg["classes"]
    rate = {"dropout": cfg["dropout"]} if "dropout" in cfg else {}
    if cfg["model"] == "ptsm":
        return peers.Ptsm(peers.PtsmConfig(*size, cfg["subjects"], pool=cfg["pool"], **rate))
    model = {"eegnet": peers.EegNet, "deepconvnet3": peers.DeepConvNet3}[cfg["model"]](*size, **rate)
    last = cfg.get("channels_last", cfg["model"] == "deepconvnet3") and cfg["framework"] != "onnx"
    return model.to(memory_format=torch.channels_last if last else torch.contiguous_format)


def task_path(cfg: dict):
    """The model as it would be released: eval mode, task logits only.

    Where the output is compared with eager, running statistics are first taken from a few trials: fresh ones leave the
    logits of PTSM almost the same for every input, and the comparison would say little.
    """
    import torch

    import peers

    model = build_model(cfg | {"dropout": 0.0})
    if cfg["framework"] != "eager":
        for layer in model.modules():
            if isinstance(layer, (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d)):
                layer.momentum = 1.0
        with torch.no_grad():
            model(torch.from_numpy(trials(cfg, 8)[0]))
    model = peers.PtsmTask(model) if cfg["model"] == "ptsm" else model
    return (peers.Equivariant(model, cfg["channels"]) if cfg.get("equivariant") else model).eval()


def set_threads(n: int) -> None:
    import torch

    torch.set_num_threads(n)
    torch.set_num_interop_threads(1)


def fastest_adam(model, gradients) -> tuple[dict, dict[str, float]]:
    """Settings of the fastest Adam for this model, found by a trial on a copy, and the milliseconds of each."""
    import torch

    times = {}
    for name in ("fused", "foreach"):
        trial = copy.deepcopy(model)
        for p, g in zip(trial.parameters(), gradients):
            p.grad = g.clone()
        optimizer = torch.optim.Adam(trial.parameters(), lr=1e-3, weight_decay=1e-4, **{name: True})
        samples = []
        for _ in range(15):
            start = time.perf_counter()
            optimizer.step()
            samples.append(time.perf_counter() - start)
        times[name] = round(1e3 * sorted(samples)[len(samples) // 2], 4)
    return {min(times, key=times.get): True}, times


def prepare_train(cfg: dict) -> Prepared:
    if cfg.get("equivariant"):
        raise ValueError("`equivariant` is for mode `infer`")
    import torch

    import peers

    set_threads(cfg["threads"])
    x, y, subject = map(torch.from_numpy, trials(cfg, TRIALS))
    model = build_model(cfg).train()
    loss = torch.compile(model.loss) if cfg["framework"] == "compile" else model.loss
    if cfg["batch"] > TRIALS:
        raise ValueError(f"batch must be at most {TRIALS}")
    generator = torch.Generator().manual_seed(7)
    indices = [torch.randperm(TRIALS, generator=generator)[: cfg["batch"]] for _ in range(32)]
    parameters = list(model.parameters())

    index = indices[0]
    loss(x[index], y[index], subject[index]).backward()
    adam, trial_ms = fastest_adam(model, [p.grad for p in parameters])
    optimizer = torch.optim.Adam(parameters, lr=1e-3, weight_decay=1e-4, **adam)
    constrain = model.constrain_ if cfg["model"] == "eegnet" else lambda: None
    turn = 0

    def step() -> None:
        nonlocal turn
        index = indices[turn % len(indices)]
        turn += 1
        optimizer.zero_grad(set_to_none=True)
        loss(x[index], y[index], subject[index]).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 5.0)
        optimizer.step()
        constrain()

    return Prepared(step, peers.count(model), {"torch": torch.__version__, "adam": adam, "adam_trial_ms": trial_ms})


def prepare_infer(cfg: dict) -> Prepared:
    import torch

    import peers

    set_threads(cfg["threads"])
    model = task_path(cfg)
    forward = torch.compile(model) if cfg["framework"] == "compile" else model
    x = torch.from_numpy(trials(cfg, cfg["batch"])[0])
    with torch.inference_mode():
        error = float((forward(x) - model(x)).abs().max())
    if error > TOLERANCE:
        raise RuntimeError(f"output differs from eager by {error}")

    def step() -> None:
        with torch.inference_mode():
            forward(x)

    return Prepared(step, peers.count(model), {"torch": torch.__version__, "max_error": error})


# --------------------------------------------------------------------------------------------------------- onnxruntime


def export(cfg: dict, folder: Path) -> None:
    """Child process: writes `model.onnx` for the batch of the case, the eager logits, and the number of parameters."""
    import warnings

    import numpy as np
    import torch

    import peers

    warnings.filterwarnings("ignore")
    model = task_path(cfg)
    x = torch.from_numpy(trials(cfg, cfg["batch"])[0])
    with torch.no_grad():
        np.save(folder / "logits.npy", model(x).numpy())
        program = torch.onnx.export(model, (x,), dynamo=True, input_names=["x"], output_names=["logits"], verbose=False)
    program.optimize()
    program.save(folder / "model.onnx")
    opset = program.model.opset_imports[""]
    info = {"parameters": peers.count(model), "details": {"torch": torch.__version__, "opset": opset}}
    (folder / "info.json").write_text(json.dumps(info))


def prepare_onnx(cfg: dict) -> Prepared:
    import numpy as np
    import onnxruntime as ort

    if cfg["mode"] != "infer":
        raise ValueError("onnx only runs in mode `infer`")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        child = [sys.executable, __file__, "--export", name]
        done = subprocess.run(child, input=json.dumps(cfg), text=True, capture_output=True)
        if done.returncode:
            raise RuntimeError("export failed: " + done.stderr[-2000:])
        info = json.loads((folder / "info.json").read_text())
        want = np.load(folder / "logits.npy")
        options = ort.SessionOptions()
        options.intra_op_num_threads = cfg["threads"]
        options.inter_op_num_threads = 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        session = ort.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    feed = {"x": trials(cfg, cfg["batch"])[0]}
    error = float(np.abs(session.run(None, feed)[0] - want).max())
    if not error <= TOLERANCE:
        raise RuntimeError(f"exported model differs from eager by {error}")
    details = {"onnxruntime": ort.__version__, "max_error": error, **info["details"]}
    return Prepared(lambda: session.run(None, feed), info["parameters"], details)


# ------------------------------------------------------------------------------------------------------------ protocol


def load_libraries(cfg: dict) -> None:
    """Imports what the case needs, so that memory and time of the imports can be told apart."""
    if cfg["framework"] == "onnx":
        import numpy  # noqa: F401
        import onnxruntime  # noqa: F401
    else:
        import peers  # noqa: F401


def serve(read, write) -> None:
    cfg = json.loads(read())
    if cfg["framework"] not in ("eager", "compile", "onnx") or cfg["mode"] not in ("train", "infer"):
        raise ValueError("framework must be eager, compile or onnx, and mode train or infer")
    if cfg.get("malloc", "default") == "keep":
        keep_freed_memory()
    start = time.perf_counter()
    load_libraries(cfg)
    import_seconds, after_import = time.perf_counter() - start, status_mib("VmRSS")

    start = time.perf_counter()
    torch_mode = prepare_train if cfg["mode"] == "train" else prepare_infer
    prepare = prepare_onnx if cfg["framework"] == "onnx" else torch_mode
    step, parameters, details = prepare(cfg)
    for _ in range(WARM_UP):
        step()
    seconds = time.perf_counter() - start
    write(
        {
            "ready": True,
            "parameters": parameters,
            "prepare_seconds": round(seconds, 3),
            "import_seconds": round(import_seconds, 3),
            "details": details,
        }
    )
    while line := read():
        command = json.loads(line)
        if command.get("quit"):
            return
        if command.get("memory"):
            peak, now = status_mib("VmHWM"), status_mib("VmRSS")
            memory = {"peak_rss_mib": peak, "after_import_rss_mib": after_import, "rss_mib": now}
            write({key: round(value, 1) for key, value in memory.items()})
        elif "steps" in command:
            ms = []
            for _ in range(command["steps"]):
                begin = time.perf_counter()
                step()
                ms.append(round(1e3 * (time.perf_counter() - begin), 4))
            write({"ms": ms})
        else:
            raise ValueError(f"unknown command {line.strip()}")


def main() -> int:
    if sys.argv[1:2] == ["--export"]:
        export(json.load(sys.stdin), Path(sys.argv[2]))
        return 0
    # answers keep the real stdout; whatever libraries print goes to stderr
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def write(message: dict) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    try:
        serve(sys.stdin.readline, write)
    except Exception as error:  # noqa: BLE001
        write({"error": f"{type(error).__name__}: {error}"})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
