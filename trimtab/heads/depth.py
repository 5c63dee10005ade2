"""Depth: the distance of each pixel of [n, 1, h, w] or [n, h, w], as the output `depth`, f32[n, h,
w].
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._reading import Reading
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """The values as the network computes them."""
    shapes = [var.shape for var in builder.tensors]
    if len(shapes) != 1 or len(shapes[0]) < 3 or len(shapes[0]) - (shapes[0][1] == 1) != 3:
        raise builder.invalid("[n, 1, h, w] or [n, h, w]")
    builder.reads(Reading())
    (x,), (images, *_, height, width) = builder.tensors, shapes[0]
    shape = (images, height, width)
    builder.program.outputs = builder.add("reshape", [x.name], ["depth"], shape=shape)
