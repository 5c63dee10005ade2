"""Unary element-wise operators."""

from __future__ import annotations

from trimtab.importers._graph import Value
from trimtab.importers.paddle_ops.node import HANDLERS, PaddleNode, Results, handles
from trimtab.importers.vocabulary import activation
from trimtab.importers.vocabulary.functions import Function, handle_functions

handle_functions(
    HANDLERS,
    __name__,
    {
        "relu": Function("relu"),
        "leaky_relu": Function("leaky_relu", ("alpha", 0.02)),
        "elu": Function("elu", ("alpha", 1.0)),
        "sigmoid": Function("sigmoid"),
        "tanh": Function("tanh"),
        "hard_sigmoid": Function("hard_sigmoid", ("slope", 0.2), ("offset", 0.5)),
        "swish": Function("swish", ("beta", 1.0)),
        "silu": Function("swish"),
        "mish": Function("mish"),
        "exp": Function("exp"),
        "log": Function("log"),
        "sqrt": Function("sqrt"),
        "abs": Function("abs"),
        "erf": Function("erf"),
        "relu6": Function("clip", 0.0, ("threshold", 6.0)),
        ("brelu", "hard_tanh"): Function("clip", ("t_min", 0.0), ("t_max", 24.0)),
        "gelu": Function(activation.gelu, ("approximate", 0.0)),
        "logsigmoid": Function(activation.log_sigmoid),
        "square": Function(activation.square),
        "rsqrt": Function(activation.rsqrt),
        "reciprocal": Function(activation.reciprocal),
    },
)

_FUSED = {
    "relu": Function("relu"),
    "relu6": Function("clip", 0.0, 6.0),
    "sigmoid": Function("sigmoid"),
    "tanh": Function("tanh"),
}


def activate(node: PaddleNode, y: Value, name: str) -> Value:
    """Applies the activation of another operator by its name, which may be empty."""
    if name in ("", "identity"):
        return y
    if name not in _FUSED:
        raise node.unsupported(f"its activation is {name}")
    return _FUSED[name](node, y)


@handles("clip")
def clip(node: PaddleNode) -> Results:
    """Clamps to bounds, which are attributes or constant inputs."""
    low, high = node.numbers("Min"), node.numbers("Max")
    return node.add(
        "clip",
        node.x(),
        alpha=low[0] if low else node.real("min"),
        beta=high[0] if high else node.real("max"),
    )


@handles("hard_swish")
def hard_swish(node: PaddleNode) -> Results:
    """x * min(max(x + offset, 0), threshold) / scale."""
    x = node.x()
    parameters = node.real("threshold", 6.0), node.real("scale", 6.0), node.real("offset", 3.0)
    if parameters == (6.0, 6.0, 3.0):
        return node.add("hard_swish", x)
    threshold, scale, offset = parameters
    y = node.add("clip", node.shifted(x, offset), alpha=0.0, beta=threshold)
    return node.scaled(node.add("mul", x, y), 1.0 / scale)


@handles("softplus")
def softplus(node: PaddleNode) -> Results:
    """ln(1 + e^(beta * x)) / beta; above the threshold x, which is equal in float32."""
    if node.real("threshold", 20.0) < 15:
        raise node.unsupported("its threshold is below 15, where softplus differs from x")
    return activation.softplus(node, node.x(), node.real("beta", 1.0))


@handles("pow")
def power(node: PaddleNode) -> Results:
    """x to a constant power, an attribute or a constant input."""
    factor = node.numbers("FactorTensor")
    exponent = factor[0] if factor else node.real("factor", 1.0)
    return activation.power(node, node.x(), exponent)


@handles("prelu")
def prelu(node: PaddleNode) -> Results:
    """Leaky ReLU with one slope, one per channel, or one per element."""
    x, slope, mode = node.x(), node.weights("Alpha"), node.text("mode", "all")
    if mode == "element":
        return node.add("prelu", x, node.constant(slope.reshape(x.shape[1:]), "slope"))
    if mode == "channel" and node.text("data_format", "NCHW") == "NHWC":
        return node.add("prelu", x, node.constant(slope.reshape(-1), "slope"))
    return activation.prelu(node, x, slope.reshape(-1))
