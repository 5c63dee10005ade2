"""Element-wise operators with one or two operands."""

from __future__ import annotations

import math

import numpy as np

from trimtab.exporters.ncnn_ops.graph import NcnnOp, emits, raw
from trimtab.importers.ncnn_ops.elementwise import FUNCTIONS

_LAYERS = {function.operator: type for type, function in FUNCTIONS.items() if function.operator}
_LAYERS["relu"] = "ReLU"
del _LAYERS["swish"]  # with a factor it takes several layers


@emits(*_LAYERS)
def activation(op: NcnnOp) -> str:
    """A layer of its own; infinite bounds are those by default."""
    type = _LAYERS[op.op.type]
    values = {name: float(op[a]) for name, a in FUNCTIONS[type].parameters.items()}
    return op.add(type, op.x(), {name: v for name, v in values.items() if math.isfinite(v)})


@emits("leaky_relu")
def leaky_relu(op: NcnnOp) -> str:
    """ReLU with a slope."""
    return op.add("ReLU", op.x(), {"slope": float(op["alpha"])})


@emits("neg", "floor", "ceil", "sqrt", "exp", "log", "sin", "cos", "round")
def unary(op: NcnnOp) -> str:
    """UnaryOp."""
    return op.add("UnaryOp", op.x(), {"op_type": op.op.type})


@emits("hard_swish")
def hard_swish(op: NcnnOp) -> str:
    """HardSwish."""
    return op.add("HardSwish", op.x(), {"alpha": 1 / 6, "beta": 0.5})


@emits("gelu")
def gelu(op: NcnnOp) -> str:
    """GELU, exact or by tanh."""
    return op.add("GELU", op.x(), {"fast_gelu": int(op["alpha"])})


@emits("swish")
def swish(op: NcnnOp) -> str:
    """Swish, or a sigmoid of the scaled operand times the operand."""
    x, factor = op.x(), op["alpha"]
    if factor == 1.0:
        return op.add("Swish", x)
    return op.binary("mul", x, op.add("Sigmoid", op.binary("mul", x, float(factor))))


@emits("softsign")
def softsign(op: NcnnOp) -> str:
    """The operand divided by 1 plus its absolute value."""
    return op.binary("div", op.x(), op.binary("add", op.add("AbsVal", op.x()), 1.0))


@emits("prelu")
def prelu(op: NcnnOp) -> str:
    """PReLU with a slope, or one per channel."""
    slope = op.per_channel("slope")
    if slope is None:
        raise op.refusal(f"its slope has the shape {list(op.shape('slope'))}")
    return op.add("PReLU", op.x(), {"num_slope": slope.size}, [raw(slope)])


@emits("add", "sub", "mul", "div", "max", "min", "pow")
def binary(op: NcnnOp) -> str:
    """BinaryOp of two blobs of the same rank, or of a blob and a number."""
    type = op.op.type
    for number, x in ((1, 0), (0, 1)):
        var = op.var(number)
        if var.data is not None and var.count == 1 and len(var.shape) <= len(op.shape(x)):
            exchanged = number == 0 and not op.op.schema.commutative
            value = float(op.constant(number).reshape(-1)[0])
            return op.binary(f"r{type}" if exchanged else type, op.x(x), value)
    return op.binary(type, _aligned(op, 0), _aligned(op, 1))


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
