"""The trainings that are measured: networks, their trained parameters, and a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import trimtab
from examples.digits import digits
from trimtab.learning.training_program import TrainingProgram
from trimtab.program import Program
from trimtab.zoo import builder
from trimtab.zoo.networks import mobilenet_v2

IMAGE = 224
RATE = 1e-4


@dataclass(frozen=True)
class Training:
    """A network with a fixed batch size, the patterns of its trained parameters (None: all), and
    the inputs of a step.
    """

    network: Program
    trainable: tuple[str, ...] | None
    batch: Mapping[str, NDArray[Any]]

    def built(self) -> TrainingProgram:
        """Its program, with SGD and momentum."""
        solver = trimtab.Solver("sgd", rate=RATE)
        return trimtab.training(self.network, trainable=self.trainable, optimizer=solver)


def _lenet(batch: int) -> Training:
    network = trimtab.load(digits.lenet(batch, digits.weights(seed=1)))
    images, labels = digits.draw(batch, seed=1)
    return Training(network, None, {"data": images, "label": labels})


def _mobilenet(batch: int, blocks: int) -> Training:
    """MobileNet v2 that learns its classes and `blocks` inverted residuals before them."""
    net = builder.Net("mobilenet_v2", (batch, 3, IMAGE, IMAGE))
    mobilenet_v2.build(net, builder.INPUT)
    network = trimtab.load(net.model(""))
    learning = [op for op in network.ops if op.type in ("conv", "batch_normalization", "gemm")]
    # Expansion, depthwise, projection and the last convolution, each with its normalization.
    chosen = learning[-1 - 8 * blocks :]
    rng = np.random.default_rng(1)
    images = rng.standard_normal((batch, 3, IMAGE, IMAGE), np.float32)
    labels = rng.integers(0, 1000, batch).astype(np.int32)
    return Training(
        network, tuple(op.name for op in chosen), {network.inputs[0]: images, "label": labels}
    )


TRAININGS: Mapping[str, Callable[[int], Training]] = {
    "LeNet": _lenet,
    "MobileNet v2, last layer": lambda batch: _mobilenet(batch, 0),
    "MobileNet v2, last block": lambda batch: _mobilenet(batch, 1),
}
"""The maker of each training by its name; it takes the size of the batch."""
