"""PyTorch's steps of a training; a script that `measure` runs with an interpreter that has PyTorch.

    python peer.py JOB

JOB is a JSON file: `operators` (type, inputs, outputs, attributes) of the network, the names of its
`trained` constants, `output` and `rate`, and `arrays`, an .npz file of constants and of a
batch. Each line of the input, `MEMORY_FORMAT COUNT`, is answered by a line of JSON: the nanoseconds
of each of COUNT steps, and the losses. The first line of the output is the version of PyTorch.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FORMATS = ("contiguous", "channels_last")


def apply(torch: Any, type: str, attributes: Mapping[str, Any], x: Sequence[Any]) -> Any:
    """The result of an operator of trimtab in terms of PyTorch's functions."""
    f, values = torch.nn.functional, attributes
    match type:
        case "conv":
            top, left, bottom, right = values["pads"]
            bias = x[2] if len(x) > 2 else None
            pads, source = (top, left), x[0]
            if pads != (bottom, right):
                pads, source = (0, 0), f.pad(source, (left, right, top, bottom))
            return f.conv2d(
                source, x[1], bias, values["strides"], pads, values["dilations"], values["group"]
            )
        case "batch_normalization":
            return f.batch_norm(x[0], x[3], x[4], x[1], x[2], False, 0.0, values["epsilon"])
        case "gemm":
            return f.linear(*x)
        case "relu":
            return f.relu(x[0])
        case "clip":
            return f.hardtanh(x[0], values["alpha"], values["beta"])
        case "add":
            return x[0] + x[1]
        case "concat":
            return torch.cat(list(x), values["axis"])
        case "max_pool":
            top, left, bottom, right = values["pads"]
            source = x[0]
            if any(values["pads"]):
                source = f.pad(source, (left, right, top, bottom), value=-float("inf"))
            ceil = values["ceil_mode"]
            return f.max_pool2d(source, values["kernel_shape"], values["strides"], 0, 1, ceil)
        case "global_average_pool":
            return x[0].mean((2, 3), keepdim=True)
        case "reduce_mean":
            return x[0].mean(values["axes"], keepdim=values["keep_dims"])
        case "reshape":
            return x[0].reshape(values["shape"])
    raise ValueError(f"there is no function of PyTorch here for the operator {type}")


class PeerTraining:
    """A training in one memory format."""

    def __init__(self, torch: Any, job: Mapping[str, Any], arrays: Any, format: str) -> None:
        self.torch, self.operators = torch, job["operators"]
        self.output = job["output"]
        self.tensors = {name: torch.from_numpy(arrays[name].copy()) for name in arrays.files}
        if format == "channels_last":
            for name, tensor in self.tensors.items():
                if tensor.ndim == 4:
                    self.tensors[name] = tensor.contiguous(memory_format=torch.channels_last)
        self.labels = self.tensors["label"].long()
        trained = [self.tensors[name].requires_grad_() for name in job["trained"]]
        self.solver = torch.optim.SGD(trained, lr=job["rate"], momentum=0.9)

    def step(self) -> float:
        """One step; the loss before the update. Nothing is recorded for what does not learn."""
        tensors = dict(self.tensors)
        for type, inputs, outputs, attributes in self.operators:
            operands = [tensors[name] for name in inputs if name]
            tensors[outputs[0]] = apply(self.torch, type, attributes, operands)
        loss = self.torch.nn.functional.cross_entropy(tensors[self.output], self.labels)
        self.solver.zero_grad()
        loss.backward()
        self.solver.step()
        return float(loss.detach())


def main(path: str) -> None:
    """Answers the lines of the input."""
    import numpy as np

    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    job = json.loads(Path(path).read_text(encoding="utf-8"))
    with np.load(job["arrays"]) as arrays:
        steps = {format: PeerTraining(torch, job, arrays, format) for format in FORMATS}
    print(json.dumps(torch.__version__), flush=True)
    for line in sys.stdin:
        format, count = line.split()
        durations, losses = [], []
        for _ in range(int(count)):
            start = time.perf_counter_ns()
            losses.append(steps[format].step())
            durations.append(time.perf_counter_ns() - start)
        print(json.dumps({"ns": durations, "losses": losses}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
