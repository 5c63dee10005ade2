"""Nodes that read or make sizes that depend on data (docs/adr/0016-sizes-from-data.md).

The program has the largest sizes. Handlers of such nodes make operators that follow the sizes of a
run; all other nodes with such operands are refused, because a handler may take the largest sizes
for those of every run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from trimtab import schema
from trimtab.importers._graph import Array, Operand, Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops import condition, elementwise
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import movement
from trimtab.importers.vocabulary.elementwise import integer

MAX_COORDINATES = 1 << 24
"""The largest results whose size depends on data, in elements: 128 MB of indices."""

# Their operators infer all sizes from those of their operands: schemas tell of which nodes are one
# element-wise operator, movement or reduction; the others are composed without sizes.
_FOLLOWING = frozenset(
    (
        *(op.onnx for op in schema.operators().values() if op.kind and not op.is_added),
        *elementwise.VARIADIC,
        *elementwise.BITWISE,
        *condition.COMPARE,
        *("Clip", "Mod", "Where", "Not", "And", "Or", "Xor", "Reciprocal", "Identity"),
        *("Cast", "CastLike", "Split", "Transpose", "ArgMax", "Softmax", "NonZero", "Compress"),
        *("NonMaxSuppression", "MatMul", "Gemm", "Conv", "ConvTranspose", "RoiAlign"),
        *("ScatterND", "ScatterElements"),
    )
)


class SizeValues(NamedTuple):
    """Values that are computed from sizes, by name: at the largest sizes, and where all are 0."""

    largest: dict[str, Array]
    least: dict[str, Array]


def is_counted(operand: Operand | None) -> bool:
    """Whether the sizes of an operand depend on data."""
    return isinstance(operand, Value) and operand.counted


def added(
    node: OnnxNode, values: Mapping[str, Operand], sizes: SizeValues
) -> Callable[[OnnxNode], Results] | None:
    """The handler of a node that reads or makes a size that depends on data, and has one of its
    own; None: the usual one. `sizes`: the values that are computed from sizes.
    UnsupportedFormError if the usual handler takes the sizes for constant.
    """
    if node.type in _BRANCHES:
        return _BRANCHES[node.type]
    counted = any(name is not None and is_counted(values[str(name)]) for name in node.inputs)
    handler, places = _HANDLERS.get(node.type, (None, ()))
    computed = any(node.has(i) and node.key(i) in sizes.largest for i in places)
    computed |= node.type == "ConstantOfShape"  # a constant shape makes a constant
    if handler is not None and (counted or computed):
        return lambda node: handler(node, _SizeOperands(node, sizes))
    if counted and node.type not in _FOLLOWING:
        raise node.unsupported("it reads a value whose size depends on data")
    return None


class _SizeOperands:
    """The operands of a node that are sizes: constant, or computed."""

    def __init__(self, node: OnnxNode, sizes: SizeValues) -> None:
        self._node, self._sizes = node, sizes

    def at_most(self, i: int, what: str) -> Array:
        """An operand at the largest sizes."""
        value = self._node.operand(i)
        if isinstance(value, np.ndarray):
            return value
        if self._node.key(i) not in self._sizes.largest:
            raise self._node.unsupported(
                f"its {what} is computed from data, so that its result has no largest size"
            )
        return self._sizes.largest[str(self._node.key(i))]

    def at_ends(self, i: int, what: str) -> tuple[Array, Array]:
        """An operand at the largest sizes, and where all are 0."""
        most = self.at_most(i, what)
        return most, self._sizes.least.get(str(self._node.key(i)), most)

    def shape(self, i: int, what: str) -> tuple[int, ...]:
        """A shape at the largest sizes."""
        return tuple(int(n) for n in self.at_most(i, what).reshape(-1))


def _checked(node: OnnxNode, shape: tuple[int, ...]) -> tuple[int, ...]:
    node.check_elements(shape, 0)  # of a tensor of the program, for which no array is made
    return shape


def _reshaped(node: OnnxNode, x: Value, sizes: Value, shape: tuple[int, ...]) -> Value:
    """`sizes`: the shape in every run, as ONNX Reshape has it; `shape`: the same for the largest
    sizes.
    """
    rest = [i for i, n in enumerate(shape) if n == -1]
    product = int(np.prod([n for n in shape if n != -1]))
    if len(rest) > 1 or not shape:
        raise node.unsupported("its result has no dimension, or several of unknown size")
    most = tuple(x.count // max(1, product) if n == -1 else n for n in shape)
    return node.add("reshape", x, sizes, shape=_checked(node, most))


def _reshape(node: OnnxNode, sizes: _SizeOperands) -> Results:
    if node.integer("allowzero", 0):
        raise node.unsupported("its allowzero is set")
    shape = node.integers("shape") or sizes.shape(1, "shape")
    operand = node.x(1) if node.has(1) else node.value(np.array(shape, np.int64))
    x = node.x(0)
    if not shape:
        return node.add("free_view", x, dimensions=())
    return _reshaped(node, x, operand, tuple(movement.resolve_zeros(node, x, shape)))


def _flatten(node: OnnxNode, sizes: _SizeOperands) -> Results:
    x, rank = node.x(0), len(node.x(0).shape)
    axis = node.integer("axis", 1)
    cut = axis + rank if axis < 0 else axis
    if not 0 <= cut <= rank:
        raise node.invalid(f"axis {axis} is none of {rank} dimensions")
    # A -1 would not tell the sizes of an empty value.
    shape = shape_of(node, x)
    ends = [_product(node, shape, *ends) for ends in ((0, cut), (cut, rank))]
    most = (math.prod(x.shape[:cut]), math.prod(x.shape[cut:]))
    both = node.add("concat", *ends, axis=0)
    # A size of 0 stands for that of the operand's dimension: a vector has none of the second.
    whole = _checked(node, (math.prod(x.shape),))
    vector = node.add("reshape", x, node.value(np.array([-1])), shape=whole)
    return node.add("reshape", vector, both, shape=_checked(node, most))


def _product(node: OnnxNode, shape: Value, start: int, end: int) -> Value:
    """The product of the sizes from `start` on, a vector of one element."""
    result = node.value(np.ones(1, np.int64))
    for axis in range(start, end):
        size = node.add("slice", shape, starts=(axis,), ends=(axis + 1,), axes=(0,))
        result = size if axis == start else integer(node, "mul", result, size)
    return result


def _squeeze(node: OnnxNode, sizes: _SizeOperands) -> Results:
    axes = node.integers("axes") or node.optional_ints(1, "axes")
    if not axes:
        raise node.unsupported("its axes follow from sizes that depend on data")
    x = node.x(0)
    gone = {node.axis(axis) for axis in axes}
    dimensions = tuple(axis for axis in range(len(x.shape)) if axis not in gone)
    return node.add("free_view", x, dimensions=dimensions)


def _unsqueeze(node: OnnxNode, sizes: _SizeOperands) -> Results:
    x, axes = node.x(0), node.integers("axes") or node.ints(1, "axes")
    rank = len(x.shape) + len(axes)
    dimensions = list(range(len(x.shape)))
    for axis in sorted(node.axis(axis, rank) for axis in axes):
        dimensions.insert(axis, -1)
    return node.add("free_view", x, dimensions=tuple(dimensions))


def _slice(node: OnnxNode, sizes: _SizeOperands) -> Results:
    """The engine clamps bounds to the sizes of a run, as ONNX does."""
    ends: list[Operand]
    steps: tuple[int, ...] = ()
    if node.opset < 10:
        ends = [np.array(node.integers(name), np.int64) for name in ("starts", "ends")]
        axes = node.integers("axes")
    else:
        ends = [node.operand(1), node.operand(2)]
        axes, steps = node.optional_ints(3, "axes"), node.optional_ints(4, "steps")
    axes = tuple(node.axis(axis) for axis in axes or range(ends[0].shape[0]))
    steps = steps or (1,) * len(axes)
    constants = [
        np.clip(end, -movement.END, movement.END).tolist()
        for end in ends
        if isinstance(end, np.ndarray)
    ]
    if len(constants) == len(ends):
        starts, stops = constants
        return node.add("slice", node.x(0), starts=starts, ends=stops, axes=axes, steps=steps)
    bounds = [node.value(end) for end in ends]
    return node.add("slice", node.x(0), *bounds, axes=axes, steps=steps)


def _expand(node: OnnxNode, sizes: _SizeOperands) -> Results:
    x = node.x(0)
    most = np.broadcast_shapes(x.shape, sizes.shape(1, "shape"))
    return node.add("expand", x, node.x(1), shape=_checked(node, most))


def _pad(node: OnnxNode, sizes: _SizeOperands) -> Results:
    """Concatenations with constants whose lengths are computed. As a rule an amount grows as the
    operand shrinks, so that the result is longest at one end or the other.
    """
    if node.text("mode", "constant") != "constant" or node.opset < 11:
        raise node.unsupported("it reads a value whose size depends on data")
    x, (most, least) = node.x(0), sizes.at_ends(1, "amounts")
    axes = tuple(map(node.axis, node.optional_ints(3, "axes"))) or tuple(range(len(x.shape)))
    if most.size != 2 * len(axes):
        raise node.invalid(f"{most.size} pads for {len(axes)} dimensions")
    fill = node.reshape(node.x(2), ()) if node.has(2) else node.zero_of(x)
    shape, amounts, largest = list(x.shape), node.x(1), list(x.shape)

    def filled(y: Value, axis: int, place: int) -> Value:
        """A constant beside `y` along an axis."""
        parts = [shape_of(node, y)] * 3
        bounds = (0, axis), (place, place + 1), (axis + 1, len(shape))
        parts[1] = amounts
        pieces = [
            node.add("slice", part, starts=(begin,), ends=(end,), axes=(0,), steps=(1,))
            for part, (begin, end) in zip(parts, bounds, strict=True)
            if begin < end
        ]
        lengths = node.add("concat", *pieces, axis=0) if len(pieces) > 1 else pieces[0]
        at_most = (*shape[:axis], max(0, most[place], least[place]), *shape[axis + 1 :])
        sized = tuple(int(n) for n in at_most)
        return node.add("expand", fill, lengths, shape=_checked(node, sized))

    y = x
    for i, axis in enumerate(axes):
        places = i, len(axes) + i
        if node.is_known(1) and not most[[*places]].any():
            continue
        y = node.add("concat", filled(y, axis, places[0]), y, filled(y, axis, places[1]), axis=axis)
        shape[axis] = y.shape[axis]
        ends = (x.shape[axis] + int(most[[*places]].sum()), int(least[[*places]].sum()))
        largest[axis] = max(ends) if ends[0] >= 0 else ends[1]
    return node.add("reshape", y, shape_of(node, y), shape=_checked(node, (*largest,)))


def _constant_of_shape(node: OnnxNode, sizes: _SizeOperands) -> Results:
    value = node.parameters().get("value", np.zeros(1, np.float32))
    scalar = node.value(np.asarray(value).reshape(()))
    most = _checked(node, sizes.shape(0, "shape"))
    return node.add("expand", scalar, node.x(0), shape=most)


def _top_k(node: OnnxNode, sizes: _SizeOperands) -> Results:
    if node.opset < 10 or node.is_known(1):
        results: Results = condition.top_k(node)
        return results
    return node.add_many(
        "top_k",
        node.x(0),
        node.x(1),
        outputs=2,
        k=int(sizes.at_most(1, "k").reshape(())),
        axis=node.axis(node.integer("axis", -1)),
        largest=node.boolean("largest", True),
    )


def _range(node: OnnxNode, sizes: _SizeOperands) -> Results:
    ends = [sizes.at_most(i, "end").reshape(()) for i in range(3)]
    count = max(0, int(np.ceil((ends[1] - ends[0]) / ends[2]))) if ends[2] else 0
    operands = [node.x(i) for i in range(3)]
    return node.add("computed_range", *operands, largest=_checked(node, (count,)))


def _gather_nd(node: OnnxNode, sizes: _SizeOperands) -> Results:
    if node.integer("batch_dims", 0):
        raise node.unsupported("it gathers from batches, and a size depends on data")
    return node.add("gather_nd", node.x(0), node.x(1))


# With the places of operands that are sizes.
_HANDLERS: Mapping[str, tuple[Callable[[OnnxNode, _SizeOperands], Results], tuple[int, ...]]] = {
    "Reshape": (_reshape, (1,)),
    "Flatten": (_flatten, ()),
    "Squeeze": (_squeeze, ()),
    "Unsqueeze": (_unsqueeze, ()),
    "Slice": (_slice, (1, 2)),
    "Expand": (_expand, (1,)),
    "ConstantOfShape": (_constant_of_shape, (0,)),
    "Pad": (_pad, (1,)),
    "TopK": (_top_k, (1,)),
    "Range": (_range, (0, 1, 2)),
    "GatherND": (_gather_nd, ()),
}


def shape_of(node: OnnxNode, x: Value) -> Value:
    """The sizes of x in every run."""
    y = node.add("shape", x)
    y.counted = False
    return y


@handles("NonZero")
def non_zero(node: OnnxNode) -> Results:
    """The coordinates of elements that are not 0; their number is that of each run, at most that of
    the elements.
    """
    return coordinates(node, node.x())


def coordinates(node: OnnxNode, x: Value) -> Value:
    """The coordinates of the elements of x that are not 0; refuses more than fit memory."""
    if len(x.shape) * x.count > MAX_COORDINATES:
        raise node.unsupported(
            f"there may be {x.count:,} coordinates, for which memory would be planned; the limit is"
            f" {MAX_COORDINATES:,} numbers: load the network at a smaller size, or up to its raw"
            " results, and attach a head (docs/boxes.md)"
        )
    if not x.shape:
        raise node.unsupported("its operand is a scalar")
    return node.add("non_zero", x)


def _branch_input(node: OnnxNode) -> Results:
    """An operand of a branch of If; nothing if the other one runs."""
    return node.add("branch_input", node.x(0), node.x(1), when=node.boolean("when", True))


def _branch_result(node: OnnxNode) -> Results:
    """The result of the branch that runs."""
    first, second = node.x(0), node.x(1)
    if len(first.shape) != len(second.shape) or first.dtype != second.dtype:
        raise node.unsupported(
            "its condition is computed, and its branches have results of different types or ranks,"
            f" {first.dtype}{list(first.shape)} and {second.dtype}{list(second.shape)}"
        )
    return node.add("branch_result", first, second, node.x(2))


# The nodes that `control` writes for If.
_BRANCHES: Mapping[str, Callable[[OnnxNode], Results]] = {
    "trimtab.BranchInput": _branch_input,
    "trimtab.BranchResult": _branch_result,
}
