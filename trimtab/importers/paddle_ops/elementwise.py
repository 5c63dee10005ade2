"""Element-wise operators with two operands, and linear ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trimtab.importers._layers import Array, Value
from trimtab.importers._nodes import Operand
from trimtab.importers.paddle_ops.activation import activate
from trimtab.importers.paddle_ops.node import Node, Results, handles

# Paddle's operator: that of the engine, and numpy's for what is known; floordiv and mod occur where
# shapes are computed.
_BINARY: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "elementwise_add": ("add", np.add),
    "elementwise_sub": ("sub", np.subtract),
    "elementwise_mul": ("mul", np.multiply),
    "elementwise_div": ("div", np.true_divide),
    "elementwise_max": ("max", np.maximum),
    "elementwise_min": ("min", np.minimum),
    "elementwise_pow": ("pow", np.power),
    "elementwise_floordiv": ("", np.floor_divide),
    "elementwise_mod": ("", np.mod),
}


@handles(*_BINARY)
def binary(node: Node) -> Results:
    """The operand of fewer dimensions stands at `axis` of the other; -1: at its end."""
    op, compute = _BINARY[node.type]
    x, y = _aligned(node, node.operand("X"), node.operand("Y"))
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        node.check_elements(np.broadcast_shapes(x.shape, y.shape))
        if node.type == "elementwise_div" and x.dtype.kind != "f":
            return _as(np.floor_divide(x, y), x)
        return _as(compute(x, y), x)
    if not op:
        raise node.unsupported("its operands must be constant")
    operands = [_operand(node, v, s) for v, s in ((x, "X"), (y, "Y"))]
    return activate(node, node.add(op, *operands), node.text("fuse_activation", ""))


def _as(result: Array, like: Array) -> Array:
    return np.asarray(result).astype(like.dtype, copy=False)


def _operand(node: Node, operand: Operand, slot: str) -> Value:
    if isinstance(operand, Value):
        return operand
    return node.constant_of(operand, slot)


def _aligned(node: Node, x: Operand, y: Operand) -> tuple[Operand, Operand]:
    """Both operands in shapes that numpy's rule of broadcasting fits together."""
    axis = node.integer("axis", -1)
    lack = len(x.shape) - len(y.shape)
    if axis == -1 or not lack:
        return x, y
    if lack < 0:
        return _placed(node, x, y, axis), y
    return x, _placed(node, y, x, axis)


def _placed(node: Node, small: Operand, large: Operand, axis: int) -> Operand:
    """`small` in the rank of `large`, from dimension `axis` on; 1 at its end may be too much."""
    dims = list(small.shape)
    while dims and axis + len(dims) > len(large.shape) and dims[-1] == 1:
        dims.pop()
    behind = len(large.shape) - axis - len(dims)
    if axis < 0 or behind < 0:
        raise node.invalid(f"axis {axis} does not fit {list(large.shape)} and {list(small.shape)}")
    shape = (*dims, *(1,) * behind)
    return small.reshape(shape) if isinstance(small, np.ndarray) else node.reshape(small, shape)


@handles("sum")
def sum_(node: Node) -> Results:
    """Any number of operands."""
    y = node.x("X", 0)
    for i in range(1, len(node.names("X"))):
        y = node.add("add", y, node.x("X", i))
    return y


@handles("scale")
def scale(node: Node) -> Results:
    """scale x + bias, or scale (x + bias)."""
    given = node.numbers("ScaleTensor")
    factor = given[0] if given else node.real("scale", 1.0)
    shift = node.real("bias", 0.0)
    if not node.boolean("bias_after_scale", True):
        shift *= factor
    x = node.operand()
    if isinstance(x, np.ndarray):
        return _as(x * factor + shift, x)
    return node.scale_and_shift(x, factor, shift)


@handles("dropout")
def dropout(node: Node) -> Results:
    """What is dropped in training is made up for then, or by a factor now."""
    kept = 1.0 - node.real("dropout_prob", 0.5)
    later = node.text("dropout_implementation", "downgrade_in_infer") == "downgrade_in_infer"
    return node.scale_and_shift(node.x(), kept if later else 1.0, 0.0)


@handles("affine_channel")
def affine_channel(node: Node) -> Results:
    """scale x + bias, by channel."""
    x = node.image()
    shape = (1, 1, -1) if node.text("data_layout", "NCHW") == "NHWC" else (-1, 1, 1)
    y = node.add("mul", x, node.constant(node.weights("Scale").reshape(shape), "scale"))
    return node.add("add", y, node.constant(node.weights("Bias").reshape(shape), "bias"))
