"""Data movement: reshape, slice, concat, pad, gather and the like."""

from __future__ import annotations

import numpy as np
from onnx import helper

from trimtab.importers._graph import Array
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops.node import COMPUTED, OnnxNode, handles
from trimtab.importers.vocabulary import movement
from trimtab.program.block import NUMPY_DTYPES


@handles("Identity")
def identity(node: OnnxNode) -> Results:
    """The input itself."""
    return node.x()


@handles("Dropout")
def dropout(node: OnnxNode) -> Results:
    """The input itself; the mask is all ones."""
    x = node.x()
    if node.has(2) and node.number(2, "training mode"):
        ratio = node.number(1, "ratio") if node.has(1) else 0.5
        if ratio:
            raise node.unsupported("it is in training mode")
    if not node.uses_output(1):
        return x
    # Before opset 10 the mask has the type of x.
    node.check_elements(x.shape)
    mask: Array = np.ones(x.shape, np.bool_ if node.opset >= 10 else np.float32)
    return x, node.constant(mask, "mask")


@handles("Cast")
def cast(node: OnnxNode) -> Results:
    """Conversion to the type in which the result is computed: float32 for all floats, wider ones
    for small integers, which are wrapped to their range.
    """
    to = helper.tensor_dtype_to_np_dtype(node.integer("to"))
    return movement.cast(node, node.x(), COMPUTED.get(to.name, to))


@handles("BitCast")
def bit_cast(node: OnnxNode) -> Results:
    """The bits of the elements as another type of the same size: of constants, and of integers."""
    to = helper.tensor_dtype_to_np_dtype(node.integer("to"))
    return movement.bit_cast(node, node.operand(), to)


@handles("CastLike")
def cast_like(node: OnnxNode) -> Results:
    """Conversion to the dtype of another operand, whose values do not matter."""
    return movement.cast(node, node.operand(), NUMPY_DTYPES[node.dtype(1)])


@handles("Concat")
def concat(node: OnnxNode) -> Results:
    """Concatenation along an axis; empty operands are dropped unless all are empty."""
    operands = range(len(node.inputs))
    xs = [node.x(i) for i in [i for i in operands if 0 not in node.shape(i)] or operands]
    return movement.concat(node, xs, node.axis(node.integer("axis")))


@handles("Split")
def split(node: OnnxNode) -> Results:
    """Sizes from an attribute or an input; otherwise equal parts, the last possibly smaller."""
    x = node.x()
    axis = node.axis(node.integer("axis", 0))
    sizes = node.integers("split") or node.optional_ints(1, "sizes")
    if not sizes:
        count = node.integer("num_outputs", len(node.outputs))
        size = -(-x.shape[axis] // count)
        sizes = (*[size] * (count - 1), x.shape[axis] - size * (count - 1))
    return movement.split(node, x, axis, sizes)


@handles("Slice")
def slice_(node: OnnxNode) -> Results:
    """Bounds are attributes before opset 10, later constant inputs."""
    if node.opset < 10:
        starts, ends, axes = node.integers("starts"), node.integers("ends"), node.integers("axes")
        steps: tuple[int, ...] = ()
    else:
        starts, ends = node.ints(1, "starts"), node.ints(2, "ends")
        axes, steps = node.optional_ints(3, "axes"), node.optional_ints(4, "steps")
    axes = tuple(node.axis(axis) for axis in axes or range(len(starts)))
    slices = zip(axes, starts, ends, steps or (1,) * len(starts), strict=True)
    return movement.sliced(node, node.x(), slices)


@handles("Reshape")
def reshape(node: OnnxNode) -> Results:
    """0 copies a dimension (unless allowzero), -1 takes the remaining elements."""
    shape = node.integers("shape") or node.ints(1, "shape")
    if node.integer("allowzero", 0):
        return node.reshape(node.x(), shape)
    return node.reshape(node.x(), movement.resolve_zeros(node, node.x(), shape))


@handles("Flatten")
def flatten(node: OnnxNode) -> Results:
    """Reshape to a matrix, split at the axis."""
    axis = node.integer("axis", 1)
    first_column = axis + len(node.shape()) if axis < 0 else axis
    return movement.flatten_to_matrix(node, node.x(), first_column)


@handles("Squeeze")
def squeeze(node: OnnxNode) -> Results:
    """Drops the given axes, or all dimensions of 1."""
    axes = node.integers("axes") or node.optional_ints(1, "axes")
    if any(node.shape()[node.axis(axis)] != 1 for axis in axes):
        raise node.invalid(f"axes {axes} of {node.shape()} are not all 1")
    return movement.squeezed(node, node.x(), axes)


@handles("Unsqueeze")
def unsqueeze(node: OnnxNode) -> Results:
    """Inserts dimensions of 1 at axes of the result."""
    return movement.unsqueezed(node, node.x(), *(node.integers("axes") or node.ints(1, "axes")))


@handles("Transpose")
def transpose(node: OnnxNode) -> Results:
    """Permutes the axes; the default reverses them."""
    return node.transpose(node.x(), node.integers("perm") or range(len(node.shape()))[::-1])


@handles("Pad", "com.microsoft.Pad")
def pad(node: OnnxNode) -> Results:
    """Amounts are an attribute before opset 11, later a constant input with optional axes."""
    x, axes = node.x(), tuple(range(len(node.shape())))
    if node.opset < 11:
        pads, value = node.integers("pads"), node.real("value", 0.0)
    else:
        pads = node.ints(1, "pads")
        value = node.number(2, "value") if node.has(2) else 0.0
        axes = tuple(map(node.axis, node.optional_ints(3, "axes"))) or axes
    if len(pads) != 2 * len(axes):
        raise node.invalid(f"{len(pads)} pads for {len(axes)} dimensions")
    amounts = dict(zip(axes, zip(pads, pads[len(axes) :], strict=False), strict=True))
    return movement.padded(node, x, amounts, node.text("mode", "constant"), value)


@handles("Gather")
def gather(node: OnnxNode) -> Results:
    """Gathers along an axis at indices of any shape, constant or computed."""
    return movement.gathered(node, node.x(0), node.x(1), node.integer("axis", 0))


@handles("Expand")
def expand(node: OnnxNode) -> Results:
    """Broadcasts x to the broadcast of both shapes."""
    x = node.x()
    return movement.expanded(node, x, np.broadcast_shapes(x.shape, node.ints(1, "shape")))


@handles("Tile")
def tile(node: OnnxNode) -> Results:
    """Repeats x along each axis."""
    return movement.tiled(node, node.x(), node.ints(1, "repeats"))


@handles("DepthToSpace")
def depth_to_space(node: OnnxNode) -> Results:
    """Moves channels into pixels; x: [n, c, h, w]."""
    mode = node.text("mode", "DCR").lower()
    return node.add("depth_to_space", node.x(), block_size=node.integer("blocksize"), mode=mode)


@handles("SpaceToDepth")
def space_to_depth(node: OnnxNode) -> Results:
    """Moves pixels into channels; x: [n, c, h, w]. In mode DCR the block is the outer index."""
    block = node.integer("blocksize")
    if node.text("mode", "DCR") == "DCR":
        return node.add("space_to_depth", node.x(), block_size=block)
    return movement.pixel_unshuffle(node, node.image(), block)
