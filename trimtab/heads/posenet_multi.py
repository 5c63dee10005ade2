"""PoseNet and PersonLab, several persons: reads logits of heat maps [n, 17, h, w], offsets
[n, 34, h, w], and displacements along the 16 edges between keypoints, forward and backward,
[n, 32, h, w] each or [n, 64, h, w] together, all y before x, in pixels, or each as [n, h, w, c]. A
box is the extent of a person's keypoints, which are the output `points`; they are decoded from the
best one on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._reading import Reading
from trimtab.heads.posenet import stride
from trimtab.program import Program, Var

_POINTS, _EDGES = 17, 16
_EXPECTED = (
    f"heat maps of {_POINTS} channels, offsets of {2 * _POINTS}, and displacements of {2 * _EDGES} "
    f"twice or of {4 * _EDGES}, of an image with whole steps between places"
)
_CHANNELS = ([_POINTS, 2 * _POINTS, 4 * _EDGES], [_POINTS, 2 * _POINTS, 2 * _EDGES, 2 * _EDGES])


def tensors(program: Program) -> Sequence[str]:
    """The outputs, with the logits of heat maps in place of their probabilities."""
    producers = {name: op for op in program.ops for name in op.outputs}
    names = []
    for name in program.outputs:
        op = producers.get(name)
        names.append(op.inputs[0] if op is not None and op.type == "sigmoid" else name)
    return names


def append(builder: HeadBuilder) -> None:
    """The persons in each image."""
    r, axis = builder.request, _axis(builder)
    maps = [_first(builder, var, axis) for var in builder.tensors]
    if len(maps) > 3:
        maps[2:] = builder.add("concat", maps[2:], axis=1)
    images, _, *sizes = builder.program.vars[maps[0]].shape
    steps = {stride(size, n) for size, n in zip(builder.image_size(), sizes, strict=True)}
    if steps == {0} or len(steps) > 1:
        raise builder.invalid(_EXPECTED)
    builder.reads(Reading())
    boxes, count, points = builder.add(
        "decode_poses",
        maps,
        3,
        stride=float(steps.pop()),
        threshold=r.score,
        max_persons=r.max_boxes,
    )
    boxes = builder.mapped(boxes, [*r.scale * 2, 1, 1], [*r.offset * 2, 0, 0])
    rows = np.tile(np.arange(r.max_boxes, dtype=np.int32), (images, 1))
    builder.suppressed(boxes, count, builder.constant(rows, "rows"), iou=1.0)
    builder.add_points(points)


def _axis(builder: HeadBuilder) -> int:
    """The dimension of channels: 1, or 3. UsageError if the tensors are others."""
    shapes = [var.shape for var in builder.tensors]
    for axis in (1, 3):
        sizes = {(*shape[:axis], *shape[axis + 1 :]) for shape in shapes if len(shape) == 4}
        channels = [shape[axis] if len(shape) == 4 else 0 for shape in shapes]
        if len(sizes) == 1 and channels in _CHANNELS:
            return axis
    raise builder.invalid(_EXPECTED)


def _first(builder: HeadBuilder, var: Var, axis: int) -> str:
    """A map as [n, c, h, w]."""
    if axis == 1:
        return var.name
    return builder.add("transpose", [var.name], permutation=(0, 3, 1, 2))[0]
