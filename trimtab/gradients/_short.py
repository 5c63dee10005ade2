"""Gradient rules of a few lines: of an operator with the function's name, less its underscore.

Each returns the gradient of operand `index`, as `trimtab.gradients` describes.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

from trimtab.gradients._differentiated import DifferentiatedOp

RULES: dict[str, SimpleNamespace] = {}
"""The rules of this module, by the name of the operator."""


def _rule(gradient: Callable[[DifferentiatedOp, int], str]) -> Callable[..., str]:
    RULES[gradient.__name__.rstrip("_")] = SimpleNamespace(gradient=gradient)
    return gradient


@_rule
def abs_(op: DifferentiatedOp, index: int) -> str:
    """Absolute value."""
    positive = op.add("clip_gradient", op.dy, op.x(), alpha=0)
    negative = op.add("clip_gradient", op.dy, op.x(), beta=0)
    return op.add("sub", positive, negative)


@_rule
def add_(op: DifferentiatedOp, index: int) -> str:
    """Addition."""
    return op.sum_to(op.dy, op.shape(op.x(index)))


@_rule
def cast_(op: DifferentiatedOp, index: int) -> str:
    """Conversion between float types."""
    return op.add("cast", op.dy, to=op.block.vars[op.x()].dtype)


@_rule
def celu_(op: DifferentiatedOp, index: int) -> str:
    """y = x where x is positive, else alpha (exp(x / alpha) - 1), with the slope y / alpha + 1."""
    return _exponential(op, op.times(op.add("clip", op.y, beta=0), 1 / op.attributes["alpha"]), 1)


@_rule
def channel_shuffle_(op: DifferentiatedOp, index: int) -> str:
    """Interleaved groups of channels: the inverse exchanges groups and channels."""
    parts = [op.gradient_of(i) for i in range(len(op.outputs))]
    dy = parts[0] if len(parts) == 1 else op.add("concat", *parts, axis=1)
    return op.add("channel_shuffle", dy, group=op.shape(dy)[1] // op.attributes["group"])


@_rule
def clip_(op: DifferentiatedOp, index: int) -> str:
    """Clip: the result tells where it is inside of the bounds."""
    low, high = op.attributes["alpha"], op.attributes["beta"]
    return op.add("clip_gradient", op.dy, op.y, alpha=low, beta=high)


@_rule
def col2im_(op: DifferentiatedOp, index: int) -> str:
    """Windows added up to an image."""
    names = ("kernel_shape", "strides", "pads", "dilations", "group")
    rows = op.add("im2col", op.dy, **{name: op.attributes[name] for name in names})
    if not op.attributes["planes"]:
        return rows
    images, taps, windows = op.shape(op.x())
    return op.add("transpose", op.reshape(rows, images, windows, taps), permutation=(0, 2, 1))


@_rule
def concat_(op: DifferentiatedOp, index: int) -> str:
    """Concatenation."""
    axis = op.attributes["axis"] % len(op.shape(op.y))
    sizes = [op.shape(name)[axis] for name in op.inputs]
    begin = sum(sizes[:index])
    return op.add("slice", op.dy, starts=[begin], ends=[begin + sizes[index]], axes=[axis])


@_rule
def cos_(op: DifferentiatedOp, index: int) -> str:
    """Cosine."""
    return op.add("neg", op.add("mul", op.dy, op.add("sin", op.x())))


@_rule
def depth_to_space_(op: DifferentiatedOp, index: int) -> str:
    """Depth to space, in the order of space to depth."""
    op.attribute("mode", "dcr")
    return op.add("space_to_depth", op.dy, block_size=op.attributes["block_size"])


@_rule
def div_(op: DifferentiatedOp, index: int) -> str:
    """Division."""
    quotient = op.add("div", op.dy, op.x(1))
    if index == 1:
        quotient = op.add("neg", op.add("mul", quotient, op.y))
    return op.sum_to(quotient, op.shape(op.x(index)))


@_rule
def elu_(op: DifferentiatedOp, index: int) -> str:
    """y = x where x is positive, else alpha (exp(x) - 1)."""
    return _exponential(op, op.add("clip", op.y, beta=0), op.attributes["alpha"])


def _exponential(op: DifferentiatedOp, negative: str, offset: float) -> str:
    """The gradient of x itself where x is positive, else with the slope `negative` + offset."""
    positive = op.add("clip_gradient", op.dy, op.x(), alpha=0)
    rest = op.add("mul", op.add("sub", op.dy, positive), op.plus(negative, offset))
    return op.add("add", positive, rest)


@_rule
def exp_(op: DifferentiatedOp, index: int) -> str:
    """Exponential function."""
    return op.add("mul", op.dy, op.y)


@_rule
def expand_(op: DifferentiatedOp, index: int) -> str:
    """Broadcast to a shape."""
    return op.sum_to(op.dy, op.shape(op.x()))


@_rule
def hard_shrink_(op: DifferentiatedOp, index: int) -> str:
    """A shift of what is outside of the bounds, where inside is 0."""
    bound = op.attributes["alpha"]
    return op.add("sub", op.dy, op.add("clip_gradient", op.dy, op.x(), alpha=-bound, beta=bound))


@_rule
def hard_sigmoid_(op: DifferentiatedOp, index: int) -> str:
    """y = clip(alpha x + beta, 0, 1)."""
    inside = op.add("clip_gradient", op.dy, op.y, alpha=0, beta=1)
    return op.times(inside, op.attributes["alpha"])


@_rule
def hard_swish_(op: DifferentiatedOp, index: int) -> str:
    """y = x clip(x / 6 + 1 / 2, 0, 1)."""
    gate = op.add("hard_sigmoid", op.x(), alpha=1 / 6, beta=0.5)
    rest = op.add("mul", op.dy, op.times(op.x(), 1 / 6))
    inside = op.add("clip_gradient", rest, op.x(), alpha=-3, beta=3)
    return op.add("add", op.add("mul", op.dy, gate), inside)


@_rule
def im2col_(op: DifferentiatedOp, index: int) -> str:
    """Windows as rows of a matrix."""
    names = ("kernel_shape", "strides", "pads", "dilations", "group")
    same = {name: op.attributes[name] for name in names}
    return op.add("col2im", op.dy, image_shape=op.shape(op.x())[2:], **same)


@_rule
def leaky_relu_(op: DifferentiatedOp, index: int) -> str:
    """Leaky rectifier."""
    slope = op.attributes["alpha"]
    positive = op.add("clip_gradient", op.dy, op.x(), alpha=0)
    return op.add("add", op.times(op.dy, slope), op.times(positive, 1 - slope))


@_rule
def log_(op: DifferentiatedOp, index: int) -> str:
    """Natural logarithm."""
    return op.add("div", op.dy, op.x())


@_rule
def log_softmax_(op: DifferentiatedOp, index: int) -> str:
    """Logarithm of softmax."""
    total = op.sum(op.dy, op.attributes["axis"])
    return op.add("sub", op.dy, op.add("mul", op.add("exp", op.y), total))


@_rule
def max_(op: DifferentiatedOp, index: int) -> str:
    """Maximum of two operands; at equal ones the second takes the gradient."""
    first = op.add("clip_gradient", op.dy, op.add("sub", op.x(0), op.x(1)), alpha=0)
    dx = first if index == 0 else op.add("sub", op.dy, first)
    return op.sum_to(dx, op.shape(op.x(index)))


@_rule
def min_(op: DifferentiatedOp, index: int) -> str:
    """Minimum of two operands; at equal ones the second takes the gradient."""
    first = op.add("clip_gradient", op.dy, op.add("sub", op.x(1), op.x(0)), alpha=0)
    dx = first if index == 0 else op.add("sub", op.dy, first)
    return op.sum_to(dx, op.shape(op.x(index)))


@_rule
def mul_(op: DifferentiatedOp, index: int) -> str:
    """Multiplication."""
    return op.sum_to(op.add("mul", op.dy, op.x(1 - index)), op.shape(op.x(index)))


@_rule
def neg_(op: DifferentiatedOp, index: int) -> str:
    """Negation."""
    return op.add("neg", op.dy)


@_rule
def reduce_sum_(op: DifferentiatedOp, index: int) -> str:
    """Sum along dimensions."""
    shape = op.shape(op.x())
    reduced = {axis % len(shape) for axis in op.attributes["axes"]}
    sizes = (1 if axis in reduced else size for axis, size in enumerate(shape))
    return op.add("expand", op.reshape(op.dy, *sizes), shape=shape)


@_rule
def relu_(op: DifferentiatedOp, index: int) -> str:
    """Rectifier."""
    return op.add("clip_gradient", op.dy, op.y, alpha=0)


@_rule
def reshape_(op: DifferentiatedOp, index: int) -> str:
    """Reshape."""
    return op.reshape(op.dy, *op.shape(op.x()))


@_rule
def sigmoid_(op: DifferentiatedOp, index: int) -> str:
    """Logistic function."""
    slope = op.add("sub", op.y, op.add("mul", op.y, op.y))
    return op.add("mul", op.dy, slope)


@_rule
def sin_(op: DifferentiatedOp, index: int) -> str:
    """Sine."""
    return op.add("mul", op.dy, op.add("cos", op.x()))


@_rule
def softmax_(op: DifferentiatedOp, index: int) -> str:
    """Softmax."""
    axis = op.attributes["axis"]
    product = op.add("mul", op.dy, op.y)
    return op.add("sub", product, op.add("mul", op.y, op.sum(product, axis)))


@_rule
def softplus_(op: DifferentiatedOp, index: int) -> str:
    """y = log(1 + exp(x))."""
    return op.add("mul", op.dy, op.add("sigmoid", op.x()))


@_rule
def softsign_(op: DifferentiatedOp, index: int) -> str:
    """y = x / (1 + |x|), whose slope is (1 - |y|)²."""
    rest = op.plus(op.add("neg", op.add("abs", op.y)), 1)
    return op.add("mul", op.dy, op.add("mul", rest, rest))


@_rule
def space_to_depth_(op: DifferentiatedOp, index: int) -> str:
    """Space to depth."""
    return op.add("depth_to_space", op.dy, block_size=op.attributes["block_size"])


@_rule
def split_(op: DifferentiatedOp, index: int) -> str:
    """Split into parts."""
    parts = [op.gradient_of(i) for i in range(len(op.outputs))]
    return op.add("concat", *parts, axis=op.attributes["axis"])


@_rule
def sqrt_(op: DifferentiatedOp, index: int) -> str:
    """Square root."""
    return op.add("div", op.times(op.dy, 0.5), op.y)


@_rule
def sub_(op: DifferentiatedOp, index: int) -> str:
    """Subtraction."""
    dy = op.dy if index == 0 else op.add("neg", op.dy)
    return op.sum_to(dy, op.shape(op.x(index)))


@_rule
def swish_(op: DifferentiatedOp, index: int) -> str:
    """y = x sigmoid(alpha x)."""
    alpha = op.attributes["alpha"]
    gate = op.add("sigmoid", op.times(op.x(), alpha))
    rest = op.add("sub", op.y, op.add("mul", op.y, gate))
    return op.add("mul", op.dy, op.add("add", gate, op.times(rest, alpha)))


@_rule
def tanh_(op: DifferentiatedOp, index: int) -> str:
    """Hyperbolic tangent."""
    square = op.add("mul", op.y, op.y)
    return op.add("sub", op.dy, op.add("mul", op.dy, square))


@_rule
def transpose_(op: DifferentiatedOp, index: int) -> str:
    """Transpose."""
    permutation = op.attributes["permutation"]
    inverse = sorted(range(len(permutation)), key=permutation.__getitem__)
    return op.add("transpose", op.dy, permutation=inverse)


@_rule
def where_(op: DifferentiatedOp, index: int) -> str:
    """Selection."""
    zeros = op.constant([0.0])
    chosen = (op.dy, zeros) if index == 1 else (zeros, op.dy)
    return op.sum_to(op.add("where", op.x(0), *chosen), op.shape(op.x(index)))
