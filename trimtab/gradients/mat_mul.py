"""GEMM of computed operands."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    a, b, dy = _matrices(op)
    transposed = op.attributes["transpose_b"]
    if index == 0:
        dx = op.add("mat_mul", dy, b, transpose_b=not transposed)
    elif transposed:
        dx = op.add("mat_mul", op.swap_last(dy), a)
    else:
        dx = op.add("mat_mul", op.swap_last(a), dy)
    shape = op.shape(op.x(index))
    return op.reshape(op.sum_to(dx, op.shape((a, b)[index])), *shape)


def _matrices(op: DifferentiatedOp) -> tuple[str, str, str]:
    """The operands and the gradient of the result; a vector is a row (left) or a column (right)."""
    a, b, shape = op.x(0), op.x(1), op.shape(op.y)
    if len(op.shape(b)) == 1:
        b, shape = op.reshape(b, *op.shape(b), 1), (*shape, 1)
    if len(op.shape(a)) == 1:
        a, shape = op.reshape(a, 1, *op.shape(a)), (*shape[:-1], 1, shape[-1])
    return a, b, op.reshape(op.dy, *shape)
