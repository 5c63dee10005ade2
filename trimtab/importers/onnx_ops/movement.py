"""Operators that move, cut, join or repeat elements and compute nothing."""

from __future__ import annotations

import math

import numpy as np
from onnx import helper

from trimtab.errors import ImportModelError
from trimtab.importers.onnx_ops.node import DTYPE_NAMES, Array, Node, Values, handles

# Slice bounds mean "to the very end" long before they need 64 bits.
FAR = 2**31 - 1


@handles("Identity")
def identity(node: Node) -> Values:
    """Another name."""
    return node.x(0)


@handles("Dropout")
def dropout(node: Node) -> Values:
    """Inference drops nothing, and says so in the mask."""
    x = node.x(0)
    if node.has(2) and node.number(2, "training mode"):
        ratio = node.number(1, "ratio") if node.has(1) else 0.5
        if ratio:
            raise node.unsupported("it is in training mode")
    if not node.uses_output(1):
        return x
    # Before opset 10 the mask has the type of x.
    mask: Array = np.ones(x.shape, np.bool_ if node.opset >= 10 else np.float32)
    return x, node.new_constant(mask, "mask")


@handles("Cast")
def cast(node: Node) -> Values:
    """To one of the engine's element types."""
    to = DTYPE_NAMES.get(helper.tensor_dtype_to_np_dtype(node.integer("to")).name)
    if to is None:
        raise node.unsupported(f"it casts to {helper.tensor_dtype_to_string(node.integer('to'))}")
    return node.x(0) if node.x(0).dtype == to else node.add("cast", node.x(0), to=to)


@handles("CastLike")
def cast_like(node: Node) -> Values:
    """To the type of another operand, whose values do not matter."""
    x, to = node.x(0), node.dtype(1)
    return x if x.dtype == to else node.add("cast", x, to=to)


@handles("Concat")
def concat(node: Node) -> Values:
    """Empty operands add nothing."""
    xs = [node.x(i) for i in range(node.input_count) if 0 not in node.shape(i)]
    axis = node.axis(node.integer("axis"), len(node.shape(0)))
    return xs[0] if len(xs) == 1 else node.add("concat", *xs, axis=axis)


@handles("Split")
def split(node: Node) -> Values:
    """Sizes are an attribute, an input, or equal parts (the last one may be smaller)."""
    x = node.x(0)
    axis = node.axis(node.integer("axis", 0), len(x.shape))
    sizes = node.integers("split") or node.optional_ints(1, "sizes")
    if not sizes:
        count = node.integer("num_outputs", node.output_count)
        part = -(-x.shape[axis] // count)
        sizes = (*[part] * (count - 1), x.shape[axis] - part * (count - 1))
    if len(sizes) == 1:
        return x
    return node.add_many("split", x, outputs=len(sizes), axis=axis, sizes=sizes)


@handles("Slice")
def slice_(node: Node) -> Values:
    """Bounds are attributes before opset 10, then inputs."""
    x = node.x(0)
    if node.opset < 10:
        starts, ends, axes = node.integers("starts"), node.integers("ends"), node.integers("axes")
        steps: tuple[int, ...] = ()
    else:
        starts, ends = node.constant_ints(1, "starts"), node.constant_ints(2, "ends")
        axes, steps = node.optional_ints(3, "axes"), node.optional_ints(4, "steps")
    axes = tuple(node.axis(a, len(x.shape)) for a in axes or range(len(starts)))
    return node.add(
        "slice",
        x,
        starts=tuple(max(-FAR, min(FAR, v)) for v in starts),
        ends=tuple(max(-FAR, min(FAR, v)) for v in ends),
        axes=axes,
        steps=tuple(max(-FAR, min(FAR, v)) for v in steps) or (1,) * len(starts),
    )


@handles("Reshape")
def reshape(node: Node) -> Values:
    """0 copies a dimension (unless allowzero), -1 takes what is left."""
    x = node.x(0)
    wanted = node.integers("shape") or node.constant_ints(1, "shape")
    copies = not node.integer("allowzero", 0)
    if copies and any(n == 0 and i >= len(x.shape) for i, n in enumerate(wanted)):
        raise ImportModelError(
            f"{wanted} copies a dimension that {x.shape} lacks", where=node.where
        )
    shape = [x.shape[i] if n == 0 and copies else n for i, n in enumerate(wanted)]
    if -1 in shape:
        known = math.prod(n for n in shape if n != -1)
        shape[shape.index(-1)] = math.prod(x.shape) // known if known else 0
    if math.prod(shape) != math.prod(x.shape) or min(shape, default=1) < 0:
        raise ImportModelError(f"{x.shape} cannot be reshaped to {wanted}", where=node.where)
    return node.reshape(node.x(0), tuple(shape))


@handles("Flatten")
def flatten(node: Node) -> Values:
    """To two dimensions, cut at the axis."""
    shape = node.x(0).shape
    axis = node.integer("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    return node.reshape(node.x(0), (math.prod(shape[:axis]), math.prod(shape[axis:])))


@handles("Squeeze")
def squeeze(node: Node) -> Values:
    """Drops the given dimensions, or all that are 1."""
    shape = node.x(0).shape
    axes = node.integers("axes") or node.optional_ints(1, "axes")
    dropped = {node.axis(a, len(shape)) for a in axes}
    if any(shape[i] != 1 for i in dropped):
        raise ImportModelError(f"axes {axes} of {shape} are not all 1", where=node.where)
    dropped = dropped or {i for i, n in enumerate(shape) if n == 1}
    return node.reshape(node.x(0), tuple(n for i, n in enumerate(shape) if i not in dropped))


@handles("Unsqueeze")
def unsqueeze(node: Node) -> Values:
    """The axes count in the result."""
    shape = list(node.x(0).shape)
    axes = node.integers("axes") or node.constant_ints(1, "axes")
    for axis in sorted(node.axis(a, len(shape) + len(axes)) for a in axes):
        shape.insert(axis, 1)
    return node.reshape(node.x(0), tuple(shape))


@handles("Transpose")
def transpose(node: Node) -> Values:
    """Reverses the dimensions by default."""
    x = node.x(0)
    return node.add(
        "transpose", x, permutation=node.integers("perm") or tuple(reversed(range(len(x.shape))))
    )


@handles("Pad")
def pad(node: Node) -> Values:
    """Amounts are an attribute before opset 11, then an input; later they may name their axes."""
    x = node.x(0)
    rank = len(x.shape)
    if node.opset < 11:
        pads, value = node.integers("pads"), node.real("value", 0.0)
    else:
        pads = node.constant_ints(1, "pads")
        value = node.number(2, "value") if node.has(2) else 0.0
        if axes := node.optional_ints(3, "axes"):
            full = np.zeros(2 * rank, np.int64)
            places = [node.axis(a, rank) for a in axes]
            full[[*places, *(rank + p for p in places)]] = pads
            pads = tuple(full.tolist())
    if len(pads) != 2 * rank:
        raise ImportModelError(f"{len(pads)} pads for {rank} dimensions", where=node.where)
    return node.add("pad", x, pads=pads, mode=node.text("mode", "constant"), value=value)


@handles("Gather")
def gather(node: Node) -> Values:
    """Indices of any shape, constant or computed."""
    axis = node.axis(node.integer("axis", 0), len(node.shape(0)))
    return node.add("gather", node.x(0), node.x(1), axis=axis)


@handles("Expand")
def expand(node: Node) -> Values:
    """Both shapes broadcast."""
    x = node.x(0)
    shape = np.broadcast_shapes(x.shape, node.constant_ints(1, "shape"))
    return x if shape == x.shape else node.add("expand", x, shape=shape)


@handles("Tile")
def tile(node: Node) -> Values:
    """One count per dimension."""
    return node.add("tile", node.x(0), repeats=node.constant_ints(1, "repeats"))


@handles("DepthToSpace")
def depth_to_space(node: Node) -> Values:
    """x: [n, c, h, w]."""
    return node.add(
        "depth_to_space",
        node.x(0),
        block_size=node.integer("blocksize"),
        mode=node.text("mode", "DCR").lower(),
    )


@handles("SpaceToDepth")
def space_to_depth(node: Node) -> Values:
    """x: [n, c, h, w]; the mode says whether pixels of a block (DCR) or channels lie apart."""
    x, block = node.x(0), node.integer("blocksize")
    y = node.add("space_to_depth", x, block_size=block)
    if node.text("mode", "DCR") == "DCR":
        return y
    n, c, h, w = y.shape
    apart = node.reshape(y, (n, block * block, x.shape[1], h * w))
    return node.reshape(node.add("transpose", apart, permutation=(0, 2, 1, 3)), (n, c, h, w))
