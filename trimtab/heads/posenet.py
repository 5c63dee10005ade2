"""PoseNet, one person: reads heat maps [n, points, h, w] and offsets [n, 2 * points, h, w], y
before x, in pixels, or both as [n, h, w, c]; further outputs are not computed. Each keypoint is
where its heat map is highest, moved by the offsets there; they are the output `points`. The sigmoid
of a score is computed if the network does not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.heads._builder import COUNT, HeadBuilder
from trimtab.heads._reading import Reading
from trimtab.program import Program, Var

_EXPECTED = "heat maps [n, points, h, w] and offsets [n, 2 * points, h, w]"


def tensors(program: Program) -> Sequence[str]:
    """The heat maps and the offsets, if they are among the outputs."""
    outputs = [program.vars[name] for name in program.outputs]
    if any(len(var.shape) != 4 for var in outputs):
        return program.outputs
    for axis in (1, 3):
        for heat in outputs:
            others = [var for var in outputs if _are_offsets(var, heat, axis)]
            if len(others) == 1:
                return heat.name, others[0].name
    return program.outputs


def _are_offsets(var: Var, heat: Var, axis: int) -> bool:
    expected = list(heat.shape)
    expected[axis] *= 2
    return list(var.shape) == expected


def append(builder: HeadBuilder) -> None:
    """The keypoints of the person in each image."""
    if len(builder.tensors) != 2 or any(len(var.shape) != 4 for var in builder.tensors):
        raise builder.invalid(_EXPECTED)
    heat, offsets = builder.tensors
    axis = next((axis for axis in (1, 3) if _are_offsets(offsets, heat, axis)), 0)
    sizes = heat.shape[2:] if axis == 1 else heat.shape[1:3]
    steps = [stride(size, count) for size, count in zip(builder.image_size(), sizes, strict=True)]
    if not axis or not all(steps):
        raise builder.invalid(f"{_EXPECTED}, of an image with whole steps between places")
    builder.reads(Reading())  # logits, or probabilities, of any value
    images, points, places = heat.shape[0], heat.shape[axis], sizes[0] * sizes[1]
    maps, moves = (_flat(builder, var, axis, places) for var in (heat, offsets))
    (index,) = builder.add("arg_max", [maps], axis=2, keep_dims=True)
    (score,) = builder.add("gather_elements", [maps, index], axis=2)
    producers = {name: op.type for op in builder.program.ops for name in op.outputs}
    if producers.get(heat.name) != "sigmoid":
        (score,) = builder.add("sigmoid", [score])
    grid = np.mgrid[: sizes[0], : sizes[1]].reshape(2, -1) * np.reshape(steps, (2, 1))
    (flat,) = builder.add("reshape", [index], shape=(images * points,))
    values = []
    for which, start in ((1, points), (0, 0)):  # x, then y
        ends = (start + points,)
        (move,) = builder.add("slice", [moves], starts=(start,), ends=ends, axes=(1,))
        (move,) = builder.add("gather_elements", [move, index], axis=2)
        cells = builder.constant(grid[which].astype(np.float32), "cells")
        (cell,) = builder.add("gather", [cells, flat], axis=0)
        (cell,) = builder.add("reshape", [cell], shape=(images, points, 1))
        values += builder.add("add", [cell, move])
    (joined,) = builder.add("concat", [*values, score], axis=2)
    (joined,) = builder.add("reshape", [joined], shape=(images, 1, 3 * points))
    count = builder.constant(np.ones(images, np.int32), COUNT)
    builder.program.outputs = [builder.points_in_frame(joined, count)]


def stride(size: int, count: int) -> int:
    """Pixels between places of a map whose first and last place are the corners of the image."""
    return 0 if count < 2 or (size - 1) % (count - 1) else (size - 1) // (count - 1)


def _flat(builder: HeadBuilder, var: Var, axis: int, locations: int) -> str:
    """A map as [n, c, places]."""
    name = var.name
    if axis == 3:
        (name,) = builder.add("transpose", [name], permutation=(0, 3, 1, 2))
    shape = (var.shape[0], var.shape[axis], locations)
    return builder.add("reshape", [name], shape=shape)[0]
