"""A test case of one Caffe layer: text, weights, inputs, or a formula in place of OpenCV."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tests.importers.caffe_writer import Blobs, layer, random
from tests.ops.cases.case import Array

IMAGE = (2, 6, 7, 9)


@dataclass(frozen=True)
class Case:
    """`text`: layers that make "y" of "x0", "x1", ..., which `inputs` are the values of. `formula`:
    what y is, in float64; None: OpenCV knows.
    """

    id: str
    text: str
    inputs: dict[str, Array]
    blobs: Blobs = field(default_factory=dict)
    formula: Callable[..., Array] | None = None


def case_of(
    id: str,
    type: str,
    param: str = "",
    *,
    shapes: tuple[tuple[int, ...], ...] = (IMAGE,),
    blobs: tuple[Array, ...] = (),
    formula: Callable[..., Array] | None = None,
    low: float = -1.0,
) -> Case:
    """A case of one layer with random inputs of these shapes in [3 * low, 3]."""
    inputs = {
        f"x{i}": random(*shape, seed=10 + i, low=low) * np.float32(3)
        for i, shape in enumerate(shapes)
    }
    text = layer(type, " ".join(inputs), "y", param)
    return Case(f"{type}-{id}", text, inputs, {"y": blobs} if blobs else {}, formula)
