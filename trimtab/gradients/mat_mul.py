"""GEMM of computed operands."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    a, b = op.x(0), op.x(1)
    if min(len(op.shape(a)), len(op.shape(b))) < 2:
        raise op.refused("a vector; reshape it to a matrix")
    transposed = op.attributes["transpose_b"]
    if index == 0:
        dx = op.add("mat_mul", op.dy, b, transpose_b=not transposed)
    elif transposed:
        dx = op.add("mat_mul", op.swap_last(op.dy), a)
    else:
        dx = op.add("mat_mul", op.swap_last(a), op.dy)
    return op.sum_to(dx, op.shape(op.x(index)))
