"""Binary element-wise operators, and linear functions."""

from __future__ import annotations

import numpy as np

from trimtab.importers._graph import Operand
from trimtab.importers.paddle_ops.activation import activate
from trimtab.importers.paddle_ops.node import PaddleNode, Results, handles
from trimtab.importers.vocabulary import elementwise

_BINARY = {
    "elementwise_add": "add",
    "elementwise_sub": "sub",
    "elementwise_mul": "mul",
    "elementwise_div": "div",
    "elementwise_max": "max",
    "elementwise_min": "min",
    "elementwise_pow": "pow",
    "elementwise_floordiv": "floor_div",
    "elementwise_mod": "floor_mod",
}


@handles(*_BINARY)
def binary(node: PaddleNode) -> Results:
    """A binary operator; the smaller operand is aligned with `axis` of the other, -1: its end."""
    operands = _aligned(node, node.operand("X"), node.operand("Y"))
    y = elementwise.binary(node, _BINARY[node.type], *operands)
    if isinstance(y, np.ndarray):
        return y
    return activate(node, y, node.text("fuse_activation", ""))


def _aligned(node: PaddleNode, x: Operand, y: Operand) -> tuple[Operand, Operand]:
    """Both operands in shapes that numpy broadcasts."""
    axis = node.integer("axis", -1)
    difference = len(x.shape) - len(y.shape)
    if axis == -1 or not difference:
        return x, y
    if difference < 0:
        return _placed(node, x, y, axis), y
    return x, _placed(node, y, x, axis)


def _placed(node: PaddleNode, small: Operand, large: Operand, axis: int) -> Operand:
    """Reshapes `small` so that it broadcasts to `large` from `axis` on; last 1s are dropped."""
    dims = list(small.shape)
    while dims and axis + len(dims) > len(large.shape) and dims[-1] == 1:
        dims.pop()
    trailing = len(large.shape) - axis - len(dims)
    if axis < 0 or trailing < 0:
        raise node.invalid(f"axis {axis} does not fit {list(large.shape)} and {list(small.shape)}")
    shape = (*dims, *(1,) * trailing)
    return node.reshape(small, shape)


@handles("sum")
def sum_(node: PaddleNode) -> Results:
    """The sum of any number of operands."""
    return node.combined("add", node.xs())


@handles("scale")
def scale(node: PaddleNode) -> Results:
    """scale * x + bias, or scale * (x + bias)."""
    values = node.numbers("ScaleTensor")
    factor = values[0] if values else node.real("scale", 1.0)
    shift = node.real("bias", 0.0)
    if not node.boolean("bias_after_scale", True):
        shift *= factor
    x = node.operand()
    if isinstance(x, np.ndarray):
        return (x * factor + shift).astype(x.dtype, copy=False)
    return node.scale_and_shift(x, factor, shift)


@handles("dropout")
def dropout(node: PaddleNode) -> Results:
    """The input itself, or scaled by 1 - dropout_prob (downgrade_in_infer)."""
    factor = 1.0 - node.real("dropout_prob", 0.5)
    scales = node.text("dropout_implementation", "downgrade_in_infer") == "downgrade_in_infer"
    return node.scaled(node.x(), factor if scales else 1.0)


@handles("affine_channel")
def affine_channel(node: PaddleNode) -> Results:
    """scale * x + bias per channel."""
    x = node.image()
    shape = (1, 1, -1) if node.text("data_layout", "NCHW") == "NHWC" else (-1, 1, 1)
    y = node.add("mul", x, node.constant(node.weights("Scale").reshape(shape), "scale"))
    return node.add("add", y, node.constant(node.weights("Bias").reshape(shape), "bias"))
