"""Element-wise operators with one or two operands."""

from __future__ import annotations

import math

import numpy as np

from trimtab.exporters.ncnn_ops.graph import NcnnOp, emits, raw

# Layers, and the attribute of each of their parameters.
_LAYERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "abs": ("AbsVal", ()),
    "celu": ("CELU", ("alpha",)),
    "clip": ("Clip", ("alpha", "beta")),
    "elu": ("ELU", ("alpha",)),
    "erf": ("Erf", ()),
    "hard_shrink": ("Shrink", ("beta", "alpha")),
    "hard_sigmoid": ("HardSigmoid", ("alpha", "beta")),
    "leaky_relu": ("ReLU", ("alpha",)),
    "mish": ("Mish", ()),
    "relu": ("ReLU", ()),
    "sigmoid": ("Sigmoid", ()),
    "softplus": ("Softplus", ()),
    "tanh": ("TanH", ()),
}
# UnaryOp and BinaryOp: their op_type.
_UNARY = {"neg": 1, "floor": 2, "ceil": 3, "sqrt": 5, "exp": 7, "log": 8, "sin": 9, "cos": 10}
_UNARY |= {"round": 18}
_BINARY = {"add": 0, "sub": 1, "mul": 2, "div": 3, "max": 4, "min": 5, "pow": 6}
# With exchanged operands.
_SWAPPED = {"sub": 7, "div": 8, "pow": 9}


@emits(*_LAYERS)
def activation(op: NcnnOp) -> str:
    """A layer of its own; infinite bounds are those by default."""
    type, attributes = _LAYERS[op.op.type]
    values = {i: float(op[name]) for i, name in enumerate(attributes)}
    return op.add(type, op.x(), {i: v for i, v in values.items() if math.isfinite(v)})


@emits(*_UNARY)
def unary(op: NcnnOp) -> str:
    """UnaryOp."""
    return op.add("UnaryOp", op.x(), {0: _UNARY[op.op.type]})


@emits("hard_swish")
def hard_swish(op: NcnnOp) -> str:
    """HardSwish."""
    return op.add("HardSwish", op.x(), {0: 1 / 6, 1: 0.5})


@emits("gelu")
def gelu(op: NcnnOp) -> str:
    """GELU, exact or by tanh."""
    return op.add("GELU", op.x(), {0: int(op["alpha"])})


@emits("swish")
def swish(op: NcnnOp) -> str:
    """Swish, or a sigmoid of the scaled operand times the operand."""
    x, factor = op.x(), op["alpha"]
    if factor == 1.0:
        return op.add("Swish", x)
    inner = op.add("BinaryOp", x, {0: _BINARY["mul"], 1: 1, 2: float(factor)})
    return op.add("BinaryOp", [x, op.add("Sigmoid", inner)], {0: _BINARY["mul"]})


@emits("softsign")
def softsign(op: NcnnOp) -> str:
    """The operand divided by 1 plus its absolute value."""
    length = op.add("BinaryOp", op.add("AbsVal", op.x()), {0: _BINARY["add"], 1: 1, 2: 1.0})
    return op.add("BinaryOp", [op.x(), length], {0: _BINARY["div"]})


@emits("prelu")
def prelu(op: NcnnOp) -> str:
    """PReLU with a slope, or one per channel."""
    slope = op.per_channel("slope")
    if slope is None:
        raise op.refusal(f"its slope has the shape {list(op.shape('slope'))}")
    return op.add("PReLU", op.x(), {0: slope.size}, [raw(slope)])


@emits(*_BINARY)
def binary(op: NcnnOp) -> str:
    """BinaryOp of two blobs of the same rank, or of a blob and a number."""
    for number, x, kinds in ((1, 0, _BINARY), (0, 1, _BINARY | _SWAPPED)):
        var = op.var(number)
        if var.data is not None and var.count == 1 and len(var.shape) <= len(op.shape(x)):
            value = float(op.constant(number).reshape(-1)[0])
            return op.add("BinaryOp", op.x(x), {0: kinds[op.op.type], 1: 1, 2: value})
    return op.add("BinaryOp", [_aligned(op, i) for i in (0, 1)], {0: _BINARY[op.op.type]})


def _aligned(op: NcnnOp, i: int) -> str:
    """An operand with the rank of the result: numpy aligns the last axes, ncnn the first."""
    var, rank = op.var(i), len(op.result.shape)
    if len(var.shape) == rank and var.shape[:1] == (1,):
        return op.x(i)
    shape = (*[1] * (rank - len(var.shape)), *var.shape)
    if shape[0] != 1:
        raise op.refusal(f"its operand has the shape {list(var.shape)}, without a batch of 1")
    if var.data is not None:
        values = np.ascontiguousarray(op.constant(i))
        return op.graph.memory(var.name, values, shape[1:])
    return op.reshape(op.x(i), shape)
