"""Operators that move, cut, join or repeat elements and compute nothing."""

from __future__ import annotations

import numpy as np
from onnx import helper

from trimtab.importers._graph import Array
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import movement


@handles("Identity")
def identity(node: OnnxNode) -> Results:
    """Another name."""
    return node.x()


@handles("Dropout")
def dropout(node: OnnxNode) -> Results:
    """Inference drops nothing, and says so in the mask."""
    x = node.x()
    if node.has(2) and node.number(2, "training mode"):
        ratio = node.number(1, "ratio") if node.has(1) else 0.5
        if ratio:
            raise node.unsupported("it is in training mode")
    if not node.uses_output(1):
        return x
    # Before opset 10 the mask has the type of x.
    mask: Array = np.ones(x.shape, np.bool_ if node.opset >= 10 else np.float32)
    return x, node.constant(mask, "mask")


@handles("Cast")
def cast(node: OnnxNode) -> Results:
    """To one of the engine's element types."""
    return movement.cast(node, node.x(), helper.tensor_dtype_to_np_dtype(node.integer("to")))


@handles("CastLike")
def cast_like(node: OnnxNode) -> Results:
    """To the type of another operand, whose values do not matter."""
    x, to = node.x(), node.dtype(1)
    return x if x.dtype == to else node.add("cast", x, to=to)


@handles("Concat")
def concat(node: OnnxNode) -> Results:
    """Empty operands add nothing, but there is a result where all of them are empty."""
    operands = range(len(node.inputs))
    xs = [node.x(i) for i in [i for i in operands if 0 not in node.shape(i)] or operands]
    return movement.concat(node, xs, node.axis(node.integer("axis")))


@handles("Split")
def split(node: OnnxNode) -> Results:
    """Sizes are an attribute, an input, or equal parts (the last one may be smaller)."""
    x = node.x()
    axis = node.axis(node.integer("axis", 0))
    sizes = node.integers("split") or node.optional_ints(1, "sizes")
    if not sizes:
        count = node.integer("num_outputs", len(node.outputs))
        part = -(-x.shape[axis] // count)
        sizes = (*[part] * (count - 1), x.shape[axis] - part * (count - 1))
    return movement.split(node, x, axis, sizes)


@handles("Slice")
def slice_(node: OnnxNode) -> Results:
    """Bounds are attributes before opset 10, then inputs."""
    if node.opset < 10:
        starts, ends, axes = node.integers("starts"), node.integers("ends"), node.integers("axes")
        steps: tuple[int, ...] = ()
    else:
        starts, ends = node.ints(1, "starts"), node.ints(2, "ends")
        axes, steps = node.optional_ints(3, "axes"), node.optional_ints(4, "steps")
    places = [node.axis(axis) for axis in axes or range(len(starts))]
    cuts = zip(places, starts, ends, steps or (1,) * len(starts), strict=True)
    return movement.sliced(node, node.x(), cuts)


@handles("Reshape")
def reshape(node: OnnxNode) -> Results:
    """0 copies a dimension (unless allowzero), -1 takes what is left."""
    wanted = node.integers("shape") or node.ints(1, "shape")
    if node.integer("allowzero", 0):
        return node.reshape(node.x(), wanted)
    return node.reshape(node.x(), movement.copied(node, node.x(), wanted))


@handles("Flatten")
def flatten(node: OnnxNode) -> Results:
    """To two dimensions, cut at the axis."""
    axis = node.integer("axis", 1)
    return movement.matrix(node, node.x(), axis + len(node.shape()) if axis < 0 else axis)


@handles("Squeeze")
def squeeze(node: OnnxNode) -> Results:
    """Drops the given dimensions, or all that are 1."""
    axes = node.integers("axes") or node.optional_ints(1, "axes")
    if any(node.shape()[node.axis(axis)] != 1 for axis in axes):
        raise node.invalid(f"axes {axes} of {node.shape()} are not all 1")
    return movement.squeezed(node, node.x(), axes)


@handles("Unsqueeze")
def unsqueeze(node: OnnxNode) -> Results:
    """The axes count in the result."""
    return movement.unsqueezed(node, node.x(), *(node.integers("axes") or node.ints(1, "axes")))


@handles("Transpose")
def transpose(node: OnnxNode) -> Results:
    """Reverses the dimensions by default."""
    return node.transpose(node.x(), node.integers("perm") or range(len(node.shape()))[::-1])


@handles("Pad")
def pad(node: OnnxNode) -> Results:
    """Amounts are an attribute before opset 11, then an input; later they may name their axes."""
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
    """Indices of any shape, constant or computed."""
    return movement.gathered(node, node.x(0), node.x(1), node.integer("axis", 0))


@handles("Expand")
def expand(node: OnnxNode) -> Results:
    """Both shapes broadcast."""
    x = node.x()
    return movement.expanded(node, x, np.broadcast_shapes(x.shape, node.ints(1, "shape")))


@handles("Tile")
def tile(node: OnnxNode) -> Results:
    """One count per dimension."""
    return movement.tiled(node, node.x(), node.ints(1, "repeats"))


@handles("DepthToSpace")
def depth_to_space(node: OnnxNode) -> Results:
    """x: [n, c, h, w]."""
    mode = node.text("mode", "DCR").lower()
    return node.add("depth_to_space", node.x(), block_size=node.integer("blocksize"), mode=mode)


@handles("SpaceToDepth")
def space_to_depth(node: OnnxNode) -> Results:
    """x: [n, c, h, w]; the mode says whether pixels of a block (DCR) or channels lie apart."""
    block = node.integer("blocksize")
    if node.text("mode", "DCR") == "DCR":
        return node.add("space_to_depth", node.x(), block_size=block)
    return movement.pixel_unshuffle(node, node.image(), block)
