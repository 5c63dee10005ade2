"""Transpose."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    permutation = op.attributes["permutation"]
    inverse = sorted(range(len(permutation)), key=permutation.__getitem__)
    return op.add("transpose", op.dy, permutation=inverse)
