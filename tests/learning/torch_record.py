"""Recorded losses of PyTorch for LeNet; PyTorch is too large to be a dependency.

`python -m tests.learning.torch_record` writes lenet_losses.json beside this file, in an environment
with PyTorch (1.13 was used). Digits and first weights are the same in every run.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from examples.digits.digits import draw, weights

RECORD = Path(__file__).with_name("lenet_losses.json")
BATCH, STEPS = 16, 50
RATE, DECAY = 0.01, 0.0005

# Optimizers by name: the class in PyTorch, and its arguments.
OPTIMIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {"momentum": 0.9}),
    "nesterov": ("SGD", {"momentum": 0.9, "nesterov": True}),
}


def batches() -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """The digits and labels of each step."""
    images, labels = draw(BATCH * STEPS, seed=5)
    for i in range(0, len(images), BATCH):
        yield images[i : i + BATCH], labels[i : i + BATCH]


def recorded_losses() -> dict[str, list[float]]:
    """The losses of all steps, by optimizer."""
    losses: dict[str, list[float]] = json.loads(RECORD.read_text())
    return losses


def _record() -> None:
    torch = importlib.import_module("torch")
    f = torch.nn.functional
    losses: dict[str, list[float]] = {}
    for name, (optimizer, arguments) in OPTIMIZERS.items():
        w = {k: torch.tensor(v, requires_grad=True) for k, v in weights(seed=5).items()}
        solver = getattr(torch.optim, optimizer)(
            list(w.values()), lr=RATE, weight_decay=DECAY, **arguments
        )
        losses[name] = []
        for images, labels in batches():
            x = torch.tensor(images)
            for conv in ("conv1", "conv2"):
                x = f.max_pool2d(f.conv2d(x, w[f"{conv}.weight"], w[f"{conv}.bias"]), 2)
            x = f.relu(f.linear(x.flatten(1), w["ip1.weight"], w["ip1.bias"]))
            x = f.linear(x, w["ip2.weight"], w["ip2.bias"])
            loss = f.cross_entropy(x, torch.tensor(labels).long())
            solver.zero_grad()
            loss.backward()
            solver.step()
            losses[name].append(round(float(loss), 6))
    RECORD.write_text(json.dumps(losses, indent=1) + "\n")


if __name__ == "__main__":
    _record()
