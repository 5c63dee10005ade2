"""Maximum or minimum along dimensions: equal extremes share the gradient, as in PyTorch's amax."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of the input."""
    shape = op.shape(op.x())
    axes = {axis % len(shape) for axis in op.attributes["axes"]}
    sizes = [1 if axis in axes else size for axis, size in enumerate(shape)]
    is_extreme = op.add("compare", op.x(), op.reshape(op.y, *sizes), relation="equal")
    count = op.sum(op.add("cast", is_extreme, to="f32"), *axes)
    share = op.add("div", op.reshape(op.dy, *sizes), count)
    return op.add("where", is_extreme, share, op.constant([0.0]))
