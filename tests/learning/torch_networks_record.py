"""Recorded losses of PyTorch for networks of the zoo.

`python -m tests.learning.torch_networks_record` writes network_losses.json beside this file, in an
environment with PyTorch (1.13 was used) and trimtab. Images and labels are the same in every run.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import trimtab
from lab.training import peer
from trimtab.program import Program
from trimtab.zoo import networks
from trimtab.zoo.builder import INPUT, Net

RECORD = Path(__file__).with_name("network_losses.json")
STEPS = 50
SHAPE = (2, 3, 48, 48)
# Networks, and learning rates at which rounding errors do not grow from step to step: with random
# weights and statistics, larger ones make the training chaotic.
RATES = {"squeezenet": 1e-4, "mobilenet_v2": 1e-3, "resnet18": 3e-5}
STATISTICS = (3, 4)  # operands of a batch normalization that are fixed


def network(name: str) -> Program:
    """A network of the zoo for small images."""
    module = importlib.import_module(f"{networks.__name__}.{name}")
    net = Net(name, SHAPE)
    module.build(net, INPUT)
    return trimtab.load(net.model(""))


def batches() -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """The images and labels of each step."""
    rng = np.random.default_rng(4)
    for _ in range(STEPS):
        labels = rng.integers(0, 10, SHAPE[0]).astype(np.int32)
        images = rng.standard_normal(SHAPE) + labels[:, None, None, None] / 5
        yield images.astype(np.float32), labels


def recorded_losses() -> dict[str, list[float]]:
    """The losses of all steps, by network."""
    losses: dict[str, list[float]] = json.loads(RECORD.read_text())
    return losses


def _tensor(torch: Any, values: np.ndarray[Any, Any]) -> Any:
    """A tensor, without numpy inside of PyTorch: it needs another version of it."""
    flat = torch.frombuffer(bytearray(values.tobytes()), dtype=getattr(torch, str(values.dtype)))
    return flat.reshape(values.shape).clone()


def _losses(torch: Any, program: Program, rate: float) -> list[float]:
    torch.set_num_threads(1)
    constants = {var.name: _tensor(torch, np.asarray(var.data)) for var in program.constants()}
    fixed = {
        op.inputs[i] for op in program.ops if op.type == "batch_normalization" for i in STATISTICS
    }
    trained = [value.requires_grad_() for name, value in constants.items() if name not in fixed]
    solver = torch.optim.SGD(trained, lr=rate, momentum=0.9)
    ops = [op for op in program.ops if op.type != "softmax"]  # a part of the loss
    losses = []
    for images, labels in batches():
        tensors = {**constants, program.inputs[0]: _tensor(torch, images)}
        for op in ops:
            operands = [tensors[name] for name in op.inputs if name]
            tensors[op.outputs[0]] = peer.apply(torch, op.type, op.attributes, operands)
        scores = tensors[ops[-1].outputs[0]]
        loss = torch.nn.functional.cross_entropy(scores, _tensor(torch, labels).long())
        solver.zero_grad()
        loss.backward()
        solver.step()
        losses.append(round(float(loss), 6))
    return losses


def _record() -> None:
    torch = importlib.import_module("torch")
    losses = {name: _losses(torch, network(name), rate) for name, rate in RATES.items()}
    RECORD.write_text(json.dumps(losses, indent=1) + "\n")


if __name__ == "__main__":
    _record()
