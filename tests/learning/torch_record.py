"""Recorded losses of PyTorch for LeNet and a residual block, without PyTorch as a dependency.

`python -m tests.learning.torch_record` writes losses.json beside this file, in an environment
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

RECORD = Path(__file__).with_name("losses.json")
BATCH, STEPS = 16, 50
RATE, DECAY = 0.01, 0.0005


def batches() -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """The digits and labels of each step."""
    images, labels = draw(BATCH * STEPS, seed=5)
    for i in range(0, len(images), BATCH):
        yield images[i : i + BATCH], labels[i : i + BATCH]


# Shapes of the weights of a residual block with batch normalization, behind a first convolution.
BLOCK = {
    "first": (8, 3, 3, 3),
    "expand": (12, 8, 1, 1),
    "depthwise": (12, 1, 3, 3),
    "project": (8, 12, 1, 1),
    "classes": (5, 8),
}
EPSILON, BLOCK_STEPS = 1e-3, 20


def block_weights() -> dict[str, np.ndarray[Any, Any]]:
    """Random weights of the block; each convolution has scale, bias, mean and variance."""
    rng = np.random.default_rng(8)
    values = {}
    for name, shape in BLOCK.items():
        spread = np.sqrt(2 / np.prod(shape[1:]))
        values[name] = rng.normal(0, spread, shape).astype(np.float32)
        values[f"{name}.scale"] = rng.uniform(0.5, 1.5, shape[0]).astype(np.float32)
        for kind in ("bias", "mean"):
            values[f"{name}.{kind}"] = rng.normal(0, 0.2, shape[0]).astype(np.float32)
        values[f"{name}.variance"] = rng.uniform(0.5, 1.5, shape[0]).astype(np.float32)
    return values


def block_batches() -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Random images and labels of each step; a bright channel tells the label."""
    rng = np.random.default_rng(9)
    for _ in range(BLOCK_STEPS):
        labels = rng.integers(0, 5, 6)
        images = rng.normal(0, 1, (6, 3, 9, 11))
        images[np.arange(6), labels % 3] += labels[:, None, None] - 2
        yield images.astype(np.float32), labels.astype(np.int32)


def recorded_losses() -> dict[str, list[float]]:
    """The losses of all steps, by network."""
    losses: dict[str, list[float]] = json.loads(RECORD.read_text())
    return losses


def _lenet(torch: Any) -> list[float]:
    f, losses = torch.nn.functional, []
    w = {k: torch.tensor(v, requires_grad=True) for k, v in weights(seed=5).items()}
    solver = torch.optim.SGD(list(w.values()), lr=RATE, momentum=0.9, weight_decay=DECAY)
    for images, labels in batches():
        x = torch.tensor(images)
        for conv in ("conv1", "conv2"):
            x = f.max_pool2d(f.conv2d(x, w[f"{conv}.weight"], w[f"{conv}.bias"]), 2)
        x = f.relu(f.linear(x.flatten(1), w["ip1.weight"], w["ip1.bias"]))
        x = f.linear(x, w["ip2.weight"], w["ip2.bias"])
        losses.append(_step(torch, solver, x, labels))
    return losses


def _step(torch: Any, solver: Any, scores: Any, labels: np.ndarray[Any, Any]) -> float:
    """Updates the weights and returns the loss."""
    loss = torch.nn.functional.cross_entropy(scores, torch.tensor(labels).long())
    solver.zero_grad()
    loss.backward()
    solver.step()
    return round(float(loss), 6)


def _block(torch: Any, is_batch: bool) -> tuple[list[float], list[float]]:
    """The losses, and the running variance of the last batch normalization."""
    f, losses = torch.nn.functional, []
    w = {k: torch.tensor(v) for k, v in block_weights().items()}
    trained = [v for k, v in w.items() if not k.endswith((".mean", ".variance"))]
    for value in trained:
        value.requires_grad_()
    solver = torch.optim.SGD(trained, lr=0.05, momentum=0.9)

    def conv_bn(x: Any, layer: str, stride: int, pad: int, group: int = 1) -> Any:
        x = f.conv2d(x, w[layer], None, stride, pad, 1, group)
        names = (f"{layer}.{kind}" for kind in ("mean", "variance", "scale", "bias"))
        return f.batch_norm(x, *(w[n] for n in names), is_batch, 0.1, EPSILON)

    for images, labels in block_batches():
        x = torch.relu(conv_bn(torch.tensor(images), "first", 2, 1))
        y = f.relu6(conv_bn(x, "expand", 1, 0))
        y = f.relu6(conv_bn(y, "depthwise", 1, 1, 12))
        y = conv_bn(y, "project", 1, 0) + x
        scores = f.linear(y.mean((2, 3)), w["classes"], w["classes.bias"])
        losses.append(_step(torch, solver, scores, labels))
    return losses, [round(float(v), 5) for v in w["project.variance"]]


def _record() -> None:
    torch = importlib.import_module("torch")
    batch, running = _block(torch, True)
    losses = {
        "lenet": _lenet(torch),
        "fixed statistics": _block(torch, False)[0],
        "batch statistics": batch,
        "running": running,
    }
    RECORD.write_text(json.dumps(losses, indent=1) + "\n")


if __name__ == "__main__":
    _record()
