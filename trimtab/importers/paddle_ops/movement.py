"""Data movement: reshape, slice, concat, pad and the like, of tensors and constants."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.importers.paddle_ops.node import PaddleNode, Results, handles
from trimtab.importers.vocabulary import movement


@handles("reshape", "reshape2")
def reshape(node: PaddleNode) -> Results:
    """0 copies a dimension, -1 takes the remaining elements."""
    shape = node.int_list("shape", "Shape", "ShapeTensor")
    return node.reshape(node.operand(), movement.resolve_zeros(node, node.operand(), shape))


@handles("flatten", "flatten2")
def flatten(node: PaddleNode) -> Results:
    """Reshape to a matrix, split at the axis."""
    return movement.flatten_to_matrix(node, node.operand(), node.integer("axis", 1))


@handles("flatten_contiguous_range")
def flatten_range(node: PaddleNode) -> Results:
    """Merges the axes from start_axis to stop_axis, inclusive."""
    start, stop = node.integer("start_axis", 1), node.integer("stop_axis", 1)
    return movement.flattened(node, node.operand(), start, stop)


@handles("squeeze", "squeeze2")
def squeeze(node: PaddleNode) -> Results:
    """Drops those of the given axes, by default of all, that are 1."""
    return movement.squeezed(node, node.operand(), node.integers("axes"))


@handles("unsqueeze", "unsqueeze2")
def unsqueeze(node: PaddleNode) -> Results:
    """Inserts dimensions of 1 one after the other; each axis counts the previous insertions."""
    shape = list(node.shape())
    for axis in node.int_list("axes", "AxesTensor", "AxesTensorList"):
        shape.insert(node.axis(axis, len(shape) + 1), 1)
    return node.reshape(node.operand(), shape)


@handles("transpose", "transpose2")
def transpose(node: PaddleNode) -> Results:
    """Permutes the axes."""
    return node.transpose(node.operand(), [node.axis(axis) for axis in node.integers("axis")])


def _axis(node: PaddleNode) -> int:
    """The axis, a constant input or an attribute."""
    values = node.numbers("AxisTensor")
    return int(values[0]) if values else node.integer("axis", 0)


@handles("concat")
def concat(node: PaddleNode) -> Results:
    """Concatenation along an axis, an attribute or a constant input."""
    return movement.concat(node, node.operands(), node.axis(_axis(node)))


@handles("stack")
def stack(node: PaddleNode) -> Results:
    """Concatenation along a new axis."""
    return {"Y": movement.stack(node, node.operands(), node.integer("axis", 0))}


@handles("split")
def split(node: PaddleNode) -> Results:
    """Splits into equal parts, or into given sizes, one of which may be -1."""
    x, axis = node.x(), node.axis(_axis(node))
    count = node.output_count("Out")
    sections = node.int_list("sections", "", "SectionsTensorList")
    sizes = sections or movement.equal_parts(node, x.shape[axis], count)
    if len(sizes) != count:
        raise node.invalid(f"it has {count} outputs, and {len(sizes)} sections")
    return {"Out": movement.split(node, x, axis, sizes)}


@handles("unstack", "unbind")
def unstack(node: PaddleNode) -> Results:
    """Splits along an axis into slices of one element, and drops the axis."""
    slot = "Y" if node.type == "unstack" else "Out"
    count, axis = node.output_count(slot), node.axis(node.integer("axis", 0))
    if count != node.shape()[axis]:
        raise node.invalid(f"it has {count} outputs for {node.shape()[axis]} parts")
    return {slot: movement.unstack(node, node.x(), axis)}


@handles("slice", "strided_slice")
def slice_(node: PaddleNode) -> Results:
    """Slices with bounds from attributes or constant inputs, then drops some axes."""
    x = node.operand("Input")
    rank = len(x.shape)
    axes = [node.axis(a, rank) for a in node.integers("axes")]
    starts = node.int_list("starts", "StartsTensor", "StartsTensorList")
    ends = node.int_list("ends", "EndsTensor", "EndsTensorList")
    steps: Sequence[int] = (1,) * len(axes)
    if node.type == "strided_slice":
        steps = node.int_list("strides", "StridesTensor", "StridesTensorList")
    if not len(axes) == len(starts) == len(ends) == len(steps):
        raise node.invalid(f"its bounds are {list(starts)}, {list(ends)}, {list(steps)}")
    y = movement.sliced(node, x, zip(axes, starts, ends, steps, strict=True))
    dropped = {node.axis(a, rank) for a in node.integers("decrease_axis")}
    return node.reshape(y, movement.drop_axes(y.shape, dropped))


@handles("pad", "pad2d", "pad3d")
def pad(node: PaddleNode) -> Results:
    """Padding; pad2d: top, bottom, left, right; pad3d: left, right, top, bottom, front, back."""
    x = node.x()
    amounts = node.int_list("paddings", "Paddings")
    mode, value = node.text("mode", "constant"), node.real("value", 0.0)
    last = node.text("data_format", "NCHW")[-1:] == "C"
    if node.type == "pad":
        axes, mode, value = list(range(len(x.shape))), "constant", node.real("pad_value", 0.0)
    elif node.type == "pad2d":
        value = node.real("pad_value", 0.0)
        axes = [1, 2] if last else [2, 3]
    else:
        axes = [3, 2, 1] if last else [4, 3, 2]
    if max(axes) >= len(x.shape) or len(amounts) != 2 * len(axes):
        raise node.invalid(f"{len(amounts)} paddings for {list(x.shape)}")
    pairs = zip(amounts[::2], amounts[1::2], strict=True)
    return movement.padded(node, x, dict(zip(axes, pairs, strict=True)), mode, value)


@handles("gather", "index_select")
def gather(node: PaddleNode) -> Results:
    """Gathers along an axis at a vector of indices."""
    values = node.numbers("Axis")
    name = "dim" if node.type == "index_select" else "axis"
    axis = int(values[0]) if values else node.integer(name, 0)
    indices = node.operand("Index")
    return movement.gathered(node, node.operand(), node.reshape(indices, (-1,)), axis)


@handles("expand_v2", "expand_as_v2", "broadcast_to")
def expand(node: PaddleNode) -> Results:
    """Broadcasts to a shape, in which -1 keeps a dimension."""
    shape = node.integers("target_shape") if node.has_attribute("target_shape") else ()
    shape = shape or node.int_list("shape", "Shape", "expand_shapes_tensor")
    return movement.expanded(node, node.operand(), shape)


@handles("expand", "tile")
def tile(node: PaddleNode) -> Results:
    """Repeats the input along its axes; the counts are aligned with the last axes."""
    if node.type == "expand":
        counts = node.int_list("expand_times", "ExpandTimes", "expand_times_tensor")
    else:
        counts = node.int_list("repeat_times", "RepeatTimes", "repeat_times_tensor")
    return movement.tiled(node, node.operand(), counts)


@handles("pixel_shuffle")
def pixel_shuffle(node: PaddleNode) -> Results:
    """Moves channels into pixels."""
    factor = node.integer("upscale_factor", 1)
    return node.add("depth_to_space", node.image(), block_size=factor, mode="crd")


@handles("space_to_depth", "pixel_unshuffle")
def pixel_unshuffle(node: PaddleNode) -> Results:
    """Moves pixels into channels, grouped by input channel."""
    if node.type == "space_to_depth":
        raise node.unsupported("it has Darknet's order of pixels")
    return movement.pixel_unshuffle(node, node.image(), node.integer("downscale_factor"))


@handles("shuffle_channel")
def shuffle_channel(node: PaddleNode) -> Results:
    """Interleaves groups of channels (ShuffleNet); x: [n, c, h, w]."""
    return node.add("channel_shuffle", node.image(), group=node.integer("group", 1))


@handles("assign", "share_data", "memcpy", "cast")
def identity(node: PaddleNode) -> Results:
    """The input itself, or converted to another element type; float64 becomes float32."""
    x = node.operand()
    if node.type != "cast":
        return x
    code = node.dtype("out_dtype", -1)
    return movement.cast(node, x, code if isinstance(x, np.ndarray) else code.replace("f8", "f4"))
