"""Element-wise functions of one operand."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._layers import Value
from trimtab.importers.pnnx_ops.operator import Operator, handles

# Module, function: the engine's operator, without parameters.
_PLAIN = {
    ("nn.ReLU", "F.relu", "torch.relu", "Tensor.relu"): "relu",
    ("nn.Sigmoid", "F.sigmoid", "torch.sigmoid", "F.logistic"): "sigmoid",
    ("nn.SiLU", "F.silu"): "swish",
    ("nn.Mish", "F.mish"): "mish",
    ("nn.Tanh", "F.tanh", "torch.tanh"): "tanh",
    ("nn.Hardswish", "F.hardswish"): "hard_swish",
}
PLAIN = {type: op for types, op in _PLAIN.items() for type in types}


@handles(*PLAIN)
def plain(op: Operator) -> Value:
    """y = f(x)."""
    return op.add(PLAIN[op.type], op.x(0, "input"))


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
def identity(op: Operator) -> Value:
    """Inference drops nothing."""
    return op.x(0, "input", "self")


@handles("Tensor.to")
def to(op: Operator) -> Value:
    """To another element type: real numbers are all the same to the engine."""
    dtype = op.text("dtype", "torch.float")
    if dtype not in ("torch.float", "torch.float32", "torch.half", "torch.float16"):
        raise op.unsupported(f"it makes elements of type {dtype}")
    x = op.x(0, "input", "self")
    return x if x.dtype == "f32" else op.add("cast", x, to="f32")


@handles("nn.ReLU6", "F.relu6")
def relu6(op: Operator) -> Value:
    """Between 0 and 6."""
    return op.add("clip", op.x(0, "input"), alpha=0.0, beta=6.0)


@handles("nn.LeakyReLU", "F.leaky_relu")
def leaky_relu(op: Operator) -> Value:
    """A slope below 0."""
    return op.add("leaky_relu", op.x(0, "input"), alpha=op.real("negative_slope", 0.01))


@handles("nn.RReLU", "F.rrelu")
def rrelu(op: Operator) -> Value:
    """Inference takes the mean of both slopes."""
    slope = (op.real("lower", 1 / 8) + op.real("upper", 1 / 3)) / 2
    return op.add("leaky_relu", op.x(0, "input"), alpha=slope)


@handles("nn.PReLU", "F.prelu")
def prelu(op: Operator) -> Value:
    """A slope per channel, or one."""
    x = op.x(0, "input")
    slope = op.constant_operand("weight", 1)
    if slope is None or slope.size not in (1, x.shape[1] if len(x.shape) > 1 else 1):
        raise op.invalid("it lacks a slope per channel")
    slope = op.spread(slope, max(len(x.shape), 2)) if slope.size > 1 else slope.reshape(1)
    return op.add("prelu", x, op.constant(slope, "slope"))


@handles("nn.ELU", "F.elu")
def elu(op: Operator) -> Value:
    """alpha (e^x - 1) below 0."""
    return op.add("elu", op.x(0, "input"), alpha=op.real("alpha", 1.0))


@handles("nn.CELU", "F.celu")
def celu(op: Operator) -> Value:
    """alpha (e^(x / alpha) - 1) below 0."""
    alpha = op.real("alpha", 1.0)
    if alpha <= 0:
        raise op.invalid(f"its alpha is {alpha}")
    return op.scaled(op.add("elu", op.scaled(op.x(0, "input"), 1 / alpha)), alpha)


@handles("nn.SELU", "F.selu")
def selu(op: Operator) -> Value:
    """An ELU, scaled."""
    return op.scaled(op.add("elu", op.x(0, "input"), alpha=1.6732632423543772), 1.0507009873554805)


@handles("nn.GELU", "F.gelu")
def gelu(op: Operator) -> Value:
    """Exactly, or by a hyperbolic tangent."""
    tanh = op.text("approximate", "none") == "tanh"
    return op.add("gelu", op.x(0, "input"), alpha=float(tanh))


@handles("nn.Hardsigmoid", "F.hardsigmoid")
def hard_sigmoid(op: Operator) -> Value:
    """clamp(x / 6 + 1 / 2, 0, 1)."""
    return op.add("hard_sigmoid", op.x(0, "input"), alpha=1 / 6, beta=0.5)


@handles("nn.Hardtanh", "F.hardtanh")
def hard_tanh(op: Operator) -> Value:
    """Between two bounds."""
    low, high = op.real("min_val", -1.0), op.real("max_val", 1.0)
    return op.add("clip", op.x(0, "input"), alpha=low, beta=high)


@handles("torch.clamp", "torch.clip", "Tensor.clamp")
def clamp(op: Operator) -> Value:
    """Between two bounds, each of which may be missing."""
    low = op.real("min") if op.has("min") else -math.inf
    high = op.real("max") if op.has("max") else math.inf
    return op.add("clip", op.x(0, "input"), alpha=low, beta=high)


@handles("nn.Softplus", "F.softplus")
def softplus(op: Operator) -> Value:
    """ln(1 + e^(beta x)) / beta."""
    beta = op.real("beta", 1.0)
    op.static("threshold")
    if beta <= 0:
        raise op.invalid(f"its beta is {beta}")
    return op.scaled(op.add("softplus", op.scaled(op.x(0, "input"), beta)), 1 / beta)


@handles("nn.LogSigmoid", "F.logsigmoid")
def log_sigmoid(op: Operator) -> Value:
    """-ln(1 + e^-x)."""
    return op.add("neg", op.add("softplus", op.add("neg", op.x(0, "input"))))


@handles("nn.Softsign", "F.softsign")
def softsign(op: Operator) -> Value:
    """x / (1 + |x|)."""
    x = op.x(0, "input")
    return op.add("div", x, op.add("add", op.add("abs", x), op.constant(1.0, "one")))


@handles("nn.Tanhshrink", "F.tanhshrink")
def tanhshrink(op: Operator) -> Value:
    """x - tanh(x)."""
    x = op.x(0, "input")
    return op.add("sub", x, op.add("tanh", x))


@handles("nn.GLU", "F.glu")
def glu(op: Operator) -> Value:
    """One half, gated by the other."""
    x = op.x(0, "input")
    axis = op.axis(op.integer("dim", -1), len(x.shape))
    half = x.shape[axis] // 2
    if x.shape[axis] % 2:
        raise op.invalid(f"dimension {axis} of {list(x.shape)} has no halves")
    a, b = op.add_many("split", x, outputs=2, axis=axis, sizes=(half, half))
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
def softmax(op: Operator) -> Value:
    """Along one dimension."""
    x = op.x(0, "input")
    rank = len(x.shape)
    # What PyTorch takes without being told.
    default = rank - 3 if op.type == "nn.Softmax2d" else 0 if rank in (0, 1, 3) else 1
    axis = op.axis(op.integer("dim", default), rank)
    if "min" in op.type:
        x = op.add("neg", x)
    return op.add("log_softmax" if "og" in op.type else "softmax", x, axis=axis)


@handles("nn.Threshold", "F.threshold")
def threshold(op: Operator) -> Value:
    """The one threshold that is a ReLU."""
    if op.real("threshold") != 0 or op.real("value") != 0:
        raise op.unsupported("its threshold and value are not 0")
    return op.add("relu", op.x(0, "input"))


@handles("torch.square")
def square(op: Operator) -> Value:
    """x x."""
    return op.add("mul", op.x(0, "input"), op.x(0, "input"))


@handles("pnnx.Attribute")
def attribute(op: Operator) -> Value:
    """A constant."""
    data = op.weight("data")
    if data is None:
        raise op.invalid("it has no data")
    return op.constant(np.ascontiguousarray(data) if data.ndim else data, "data")
