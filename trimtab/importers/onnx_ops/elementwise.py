"""Element-wise operators, with one operand and with several."""

from __future__ import annotations

import numpy as np

from trimtab.importers.onnx_ops.node import Node, Value, Values, handles

# ONNX operator: engine operator, attributes that both have by the same name and default.
UNARY: dict[str, tuple[str, tuple[str, ...]]] = {
    "Relu": ("relu", ()),
    "LeakyRelu": ("leaky_relu", ("alpha",)),
    "Elu": ("elu", ("alpha",)),
    "Sigmoid": ("sigmoid", ()),
    "Tanh": ("tanh", ()),
    "HardSigmoid": ("hard_sigmoid", ("alpha", "beta")),
    "HardSwish": ("hard_swish", ()),
    "Swish": ("swish", ("alpha",)),
    "Mish": ("mish", ()),
    "Softplus": ("softplus", ()),
    "Exp": ("exp", ()),
    "Log": ("log", ()),
    "Sqrt": ("sqrt", ()),
    "Abs": ("abs", ()),
    "Neg": ("neg", ()),
    "Erf": ("erf", ()),
}

BINARY = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Pow": "pow"}

VARIADIC = {"Max": "max", "Min": "min", "Sum": "add", "Mean": "add"}


@handles(*UNARY)
def unary(node: Node) -> Values:
    """y = f(x)."""
    op, attributes = UNARY[node.op_type]
    return node.add(op, node.x(0), **node.given(*attributes))


@handles("Gelu")
def gelu(node: Node) -> Values:
    """The engine's alpha selects the approximation."""
    approximate = node.text("approximate", "none")
    return node.add("gelu", node.x(0), alpha=1.0 if approximate == "tanh" else 0.0)


@handles("Reciprocal")
def reciprocal(node: Node) -> Values:
    """1 / x."""
    return node.add("div", node.scalar(1, "one"), node.x(0))


@handles("Selu")
def selu(node: Node) -> Values:
    """gamma elu(x); the defaults are those of the paper, in float32."""
    alpha, gamma = node.real("alpha", 1.67326319), node.real("gamma", 1.05070102)
    return node.add("mul", node.add("elu", node.x(0), alpha=alpha), node.scalar(gamma, "gamma"))


@handles("Celu")
def celu(node: Node) -> Values:
    """alpha elu(x / alpha)."""
    alpha = node.scalar(node.real("alpha", 1.0), "alpha")
    return node.add("mul", node.add("elu", node.add("div", node.x(0), alpha)), alpha)


@handles("Softsign")
def softsign(node: Node) -> Values:
    """x / (1 + |x|)."""
    x = node.x(0)
    return node.add("div", x, node.add("add", node.add("abs", x), node.scalar(1, "one")))


@handles("Clip")
def clip(node: Node) -> Values:
    """Bounds are attributes before opset 11, then inputs, which may be computed."""
    x = node.x(0)
    if node.opset < 11:
        bounds = {"alpha": node.given("min").get("min"), "beta": node.given("max").get("max")}
        return node.add("clip", x, **{k: v for k, v in bounds.items() if v is not None})
    given = [i for i in (1, 2) if node.has(i)]
    if x.dtype == "f32" and all(node.is_constant(i) for i in given):
        names = {1: "alpha", 2: "beta"}
        return node.add("clip", x, **{names[i]: node.number(i, "bound") for i in given})
    for i in given:
        x = _combine(node, "max" if i == 1 else "min", x, node.x(i))
    return x


def _combine(node: Node, op: str, a: Value, b: Value) -> Value:
    """a op b; the larger or smaller of integers is chosen by comparison."""
    if op not in ("max", "min") or a.dtype == "f32":
        return node.add(op, a, b)
    first, second = (a, b) if op == "min" else (b, a)
    return node.add("where", node.add("compare", first, second, relation="less"), a, b)


@handles("PRelu")
def prelu(node: Node) -> Values:
    """The slope broadcasts to x only; before opset 7 a vector has one per channel."""
    x, slope = node.x(0), node.constant(1, "slope")
    if node.opset < 7:
        slope = slope.reshape(-1, *[1] * (len(x.shape) - 2))
    return node.add("prelu", x, node.new_constant(slope, "slope"))


@handles(*BINARY)
def binary(node: Node) -> Values:
    """y = a op b; an integer exponent is computed as a float one."""
    a, b = node.x(0), _as_type_of(node, 1)
    if node.opset < 7 and node.integer("broadcast", 0) and len(b.shape) < len(a.shape):
        # The dimensions of b meet those of a from `axis` on, by default the last ones.
        end = node.integer("axis", len(a.shape) - len(b.shape)) + len(b.shape)
        b = node.reshape(b, (*b.shape, *[1] * (len(a.shape) - end)))
    return node.add(BINARY[node.op_type], a, b)


def _as_type_of(node: Node, i: int) -> Value:
    if node.op_type != "Pow" or node.x(0).dtype != "f32" or node.dtype(i) == "f32":
        return node.x(i)
    if node.is_constant(i):
        return node.new_constant(node.constant(i, "exponent").astype(np.float32), "exponent")
    return node.add("cast", node.x(i), to="f32")


@handles(*VARIADIC)
def variadic(node: Node) -> Values:
    """Any number of operands, taken two by two."""
    y = node.x(0)
    for i in range(1, node.input_count):
        y = _combine(node, VARIADIC[node.op_type], y, node.x(i))
    if node.op_type == "Mean" and node.input_count > 1:
        y = node.add("mul", y, node.scalar(1 / node.input_count, "share"))
    return y
