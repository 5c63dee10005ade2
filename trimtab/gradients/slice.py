"""Slice: its gradient lies at the elements that the slice took, between zeros."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of the input."""
    shape, values, dy = op.shape(op.x()), op.attributes, op.dy
    rank = len(shape)
    before, after = [0] * rank, [0] * rank
    steps = values["steps"] or (1,) * len(values["axes"])
    bounds = zip(values["axes"], values["starts"], values["ends"], steps, strict=True)
    for any_axis, start, end, stride in bounds:
        if stride < 0:
            raise op.refused("a negative step")
        axis = any_axis % rank
        places = range(*slice(start, end, stride).indices(shape[axis]))
        dy = _spread(op, dy, axis, stride)
        span = (len(places) - 1) * stride + 1
        before[axis], after[axis] = places.start, shape[axis] - places.start - span
    return op.add("pad", dy, pads=(*before, *after))


def _spread(op: DifferentiatedOp, dy: str, axis: int, stride: int) -> str:
    """Puts stride - 1 zeros between neighbors along an axis."""
    if stride == 1:
        return dy
    *outer, count = op.shape(dy)[: axis + 1]
    inner = op.shape(dy)[axis + 1 :]
    pads = [0] * (2 * len((*outer, count, 1, *inner)))
    pads[len(pads) // 2 + axis + 1] = stride - 1
    spread = op.add("pad", op.reshape(dy, *outer, count, 1, *inner), pads=pads)
    spread = op.reshape(spread, *outer, count * stride, *inner)
    end = (count - 1) * stride + 1
    return op.add("slice", spread, starts=[0], ends=[end], axes=[axis])
