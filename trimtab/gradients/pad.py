"""Padding with a constant."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    op.attribute("mode", "constant")
    shape, pads = op.shape(op.x()), op.attributes["pads"]
    begins = pads[: len(shape)]
    if min(pads, default=0) < 0:
        raise op.refused("a negative padding")
    ends = [begin + size for begin, size in zip(begins, shape, strict=True)]
    return op.add("slice", op.dy, starts=begins, ends=ends, axes=range(len(shape)))
