"""Unary element-wise operators, softmax, and constants."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._graph import Value
from trimtab.importers.pnnx_ops.operator import HANDLERS, PnnxOperator, handles
from trimtab.importers.vocabulary import activation, movement
from trimtab.importers.vocabulary.functions import Function, handle_functions

handle_functions(
    HANDLERS,
    __name__,
    {
        ("nn.ReLU", "F.relu", "torch.relu", "Tensor.relu"): Function("relu"),
        ("nn.Sigmoid", "F.sigmoid", "torch.sigmoid", "F.logistic"): Function("sigmoid"),
        ("nn.SiLU", "F.silu"): Function("swish"),
        ("nn.Mish", "F.mish"): Function("mish"),
        ("nn.Tanh", "F.tanh", "torch.tanh"): Function("tanh"),
        ("nn.Hardswish", "F.hardswish"): Function("hard_swish"),
        ("nn.ReLU6", "F.relu6"): Function("clip", 0.0, 6.0),
        ("nn.LeakyReLU", "F.leaky_relu"): Function("leaky_relu", ("negative_slope", 0.01)),
        ("nn.ELU", "F.elu"): Function("elu", ("alpha", 1.0)),
        ("nn.CELU", "F.celu"): Function("celu", ("alpha", 1.0)),
        ("nn.SELU", "F.selu"): Function(activation.selu),
        ("nn.Hardsigmoid", "F.hardsigmoid"): Function("hard_sigmoid", 1 / 6, 0.5),
        ("nn.Hardtanh", "F.hardtanh"): Function("clip", ("min_val", -1.0), ("max_val", 1.0)),
        ("torch.clamp", "torch.clip", "Tensor.clamp"): Function(
            "clip", ("min", -math.inf), ("max", math.inf)
        ),
        ("nn.LogSigmoid", "F.logsigmoid"): Function(activation.log_sigmoid),
        ("nn.Softsign", "F.softsign"): Function("softsign"),
        "torch.square": Function(activation.square),
    },
    lambda op, function: function(op, op.x(0, "input")),
)


@handles(
    "nn.Identity",
    "nn.Dropout",
    "nn.Dropout2d",
    "nn.Dropout3d",
    "nn.AlphaDropout",
    "F.dropout",
    "F.dropout2d",
    "F.dropout3d",
    "F.alpha_dropout",
    "F.feature_alpha_dropout",
    "Tensor.contiguous",
    "Tensor.detach",
    "Tensor.type_as",
    "torch.clone",
    "torch.positive",
)
def identity(op: PnnxOperator) -> Value:
    """The input itself."""
    return op.x(0, "input", "self")


@handles("Tensor.to")
def to(op: PnnxOperator) -> Value:
    """Conversion to a float type, which is always float32 here."""
    dtype = op.text("dtype", "torch.float")
    if dtype not in ("torch.float", "torch.float32", "torch.half", "torch.float16"):
        raise op.unsupported(f"it converts to {dtype}")
    x = op.x(0, "input", "self")
    return x if x.dtype == "f32" else op.add("cast", x, to="f32")


@handles("nn.RReLU", "F.rrelu")
def rrelu(op: PnnxOperator) -> Value:
    """Leaky ReLU with the mean of both slopes."""
    slope = (op.real("lower", 1 / 8) + op.real("upper", 1 / 3)) / 2
    return op.add("leaky_relu", op.x(0, "input"), alpha=slope)


@handles("nn.PReLU", "F.prelu")
def prelu(op: PnnxOperator) -> Value:
    """Leaky ReLU with a learned slope, per channel or shared."""
    x = op.x(0, "input")
    slope = op.constant_operand("weight", 1)
    if slope is None or slope.size not in (1, x.shape[1] if len(x.shape) > 1 else 1):
        raise op.invalid("it lacks a slope per channel")
    return activation.prelu(op, x, slope.reshape(-1))


@handles("nn.GELU", "F.gelu")
def gelu(op: PnnxOperator) -> Value:
    """x / 2 * (1 + erf(x / sqrt 2)), or its approximation with tanh."""
    return activation.gelu(op, op.x(0, "input"), op.text("approximate", "none") == "tanh")


@handles("nn.Softplus", "F.softplus")
def softplus(op: PnnxOperator) -> Value:
    """ln(1 + e^(beta * x)) / beta."""
    op.static("threshold")
    return activation.softplus(op, op.x(0, "input"), op.real("beta", 1.0))


@handles("nn.Tanhshrink", "F.tanhshrink")
def tanhshrink(op: PnnxOperator) -> Value:
    """x - tanh(x)."""
    x = op.x(0, "input")
    return op.add("sub", x, op.add("tanh", x))


@handles("nn.GLU", "F.glu")
def glu(op: PnnxOperator) -> Value:
    """The first half times the sigmoid of the second half."""
    x = op.x(0, "input")
    axis = op.axis(op.integer("dim", -1), len(x.shape))
    a, b = movement.split(op, x, axis, movement.equal_parts(op, x.shape[axis], 2))
    return op.add("mul", a, op.add("sigmoid", b))


@handles(
    "nn.Softmax",
    "F.softmax",
    "torch.softmax",
    "nn.Softmin",
    "F.softmin",
    "nn.LogSoftmax",
    "F.log_softmax",
    "torch.log_softmax",
    "nn.Softmax2d",
)
def softmax(op: PnnxOperator) -> Value:
    """Softmax, its logarithm, or the softmax of -x, along one axis."""
    x = op.x(0, "input")
    rank = len(x.shape)
    # PyTorch's default.
    default = rank - 3 if op.type == "nn.Softmax2d" else 0 if rank in (0, 1, 3) else 1
    axis = op.axis(op.integer("dim", default), rank)
    if "min" in op.type:
        x = op.add("neg", x)
    return op.add("log_softmax" if "og" in op.type else "softmax", x, axis=axis)


@handles("nn.Threshold", "F.threshold")
def threshold(op: PnnxOperator) -> Value:
    """ReLU: only a threshold and a value of 0 are supported."""
    if op.real("threshold") != 0 or op.real("value") != 0:
        raise op.unsupported("its threshold and value are not 0")
    return op.add("relu", op.x(0, "input"))


@handles("pnnx.Attribute")
def attribute(op: PnnxOperator) -> Value:
    """A constant tensor."""
    data = op.weight("data")
    if data is None:
        raise op.invalid("it has no data")
    return op.constant(np.ascontiguousarray(data) if data.ndim else data, "data")
