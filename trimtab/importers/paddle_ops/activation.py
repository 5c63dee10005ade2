"""Element-wise operators with one operand."""

from __future__ import annotations

import numpy as np

from trimtab.importers._layers import Value
from trimtab.importers.paddle_ops.node import Node, Results, handles

# Paddle's operator: that of the engine, {attribute: Paddle's attribute and its default}.
_UNARY: dict[str, tuple[str, dict[str, tuple[str, float]]]] = {
    "relu": ("relu", {}),
    "leaky_relu": ("leaky_relu", {"alpha": ("alpha", 0.02)}),
    "elu": ("elu", {"alpha": ("alpha", 1.0)}),
    "sigmoid": ("sigmoid", {}),
    "tanh": ("tanh", {}),
    "hard_sigmoid": ("hard_sigmoid", {"alpha": ("slope", 0.2), "beta": ("offset", 0.5)}),
    "swish": ("swish", {"alpha": ("beta", 1.0)}),
    "silu": ("swish", {}),
    "mish": ("mish", {}),
    "exp": ("exp", {}),
    "log": ("log", {}),
    "sqrt": ("sqrt", {}),
    "abs": ("abs", {}),
    "erf": ("erf", {}),
}


@handles(*_UNARY)
def unary(node: Node) -> Results:
    """y = f(x)."""
    op, attributes = _UNARY[node.type]
    values = {ours: node.real(*theirs) for ours, theirs in attributes.items()}
    return node.add(op, node.x(), **values)


def activate(node: Node, y: Value, name: str) -> Value:
    """What other operators call their activation: a name, empty for none."""
    if name in ("", "identity"):
        return y
    if name == "relu6":
        return node.add("clip", y, alpha=0.0, beta=6.0)
    if name in ("relu", "sigmoid", "tanh"):
        return node.add(name, y)
    raise node.unsupported(f"its activation is {name}")


@handles("relu6")
def relu6(node: Node) -> Results:
    """min(max(x, 0), threshold)."""
    return node.add("clip", node.x(), alpha=0.0, beta=node.real("threshold", 6.0))


@handles("brelu", "hard_tanh")
def bounded_relu(node: Node) -> Results:
    """min(max(x, t_min), t_max)."""
    return node.add("clip", node.x(), alpha=node.real("t_min", 0.0), beta=node.real("t_max", 24.0))


@handles("clip")
def clip(node: Node) -> Results:
    """Bounds are attributes, or constant inputs."""
    low, high = node.numbers("Min"), node.numbers("Max")
    return node.add(
        "clip",
        node.x(),
        alpha=low[0] if low else node.real("min"),
        beta=high[0] if high else node.real("max"),
    )


@handles("hard_swish")
def hard_swish(node: Node) -> Results:
    """x min(max(x + offset, 0), threshold) / scale."""
    x = node.x()
    parameters = node.real("threshold", 6.0), node.real("scale", 6.0), node.real("offset", 3.0)
    if parameters == (6.0, 6.0, 3.0):
        return node.add("hard_swish", x)
    threshold, scale, offset = parameters
    y = node.add("clip", node.scale_and_shift(x, 1.0, offset), alpha=0.0, beta=threshold)
    return node.scale_and_shift(node.add("mul", x, y), 1.0 / scale, 0.0)


@handles("gelu")
def gelu(node: Node) -> Results:
    """The engine's alpha selects the approximation."""
    return node.add("gelu", node.x(), alpha=1.0 if node.boolean("approximate", False) else 0.0)


@handles("softplus")
def softplus(node: Node) -> Results:
    """log(1 + exp(beta x)) / beta; from the threshold on, x, which is the same in float32."""
    beta = node.real("beta", 1.0)
    if node.real("threshold", 20.0) < 15 or beta == 0:
        raise node.unsupported("its threshold is so low that the result is another function")
    y = node.add("softplus", node.scale_and_shift(node.x(), beta, 0.0))
    return node.scale_and_shift(y, 1.0 / beta, 0.0)


@handles("logsigmoid")
def log_sigmoid(node: Node) -> Results:
    """-log(1 + exp(-x))."""
    return node.add("neg", node.add("softplus", node.add("neg", node.x())))


@handles("square")
def square(node: Node) -> Results:
    """x x."""
    return node.add("mul", node.x(), node.x())


@handles("rsqrt", "reciprocal")
def reciprocal(node: Node) -> Results:
    """1 / x, or of its square root."""
    x = node.x()
    below = node.add("sqrt", x) if node.type == "rsqrt" else x
    return node.add("div", node.constant(1.0, "one"), below)


@handles("pow")
def power(node: Node) -> Results:
    """x to a constant power."""
    factor = node.numbers("FactorTensor")
    exponent = factor[0] if factor else node.real("factor", 1.0)
    return node.add("pow", node.x(), node.constant(exponent, "exponent"))


@handles("prelu")
def prelu(node: Node) -> Results:
    """One slope for all, one per channel, or one per element."""
    x, slope, mode = node.x(), node.weights("Alpha"), node.text("mode", "all")
    if mode == "channel":
        last = node.text("data_format", "NCHW") == "NHWC" or len(x.shape) < 2
        slope = slope.reshape(-1) if last else slope.reshape(-1, *(1,) * (len(x.shape) - 2))
    elif mode == "element":
        slope = slope.reshape(x.shape[1:])
    return node.add("prelu", x, node.constant(np.ascontiguousarray(slope), "slope"))
