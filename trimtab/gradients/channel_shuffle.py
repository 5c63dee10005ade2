"""Interleaved groups of channels: the inverse exchanges groups and channels."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    parts = [op.gradient_of(i) for i in range(len(op.outputs))]
    dy = parts[0] if len(parts) == 1 else op.add("concat", *parts, axis=1)
    return op.add("channel_shuffle", dy, group=op.shape(dy)[1] // op.attributes["group"])
