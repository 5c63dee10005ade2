"""Operators that move, cut or join elements: of tensors, and of shapes that are known already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.importers._layers import Value
from trimtab.importers._nodes import Operand
from trimtab.importers.paddle_ops.node import Node, Results, handles

# Slice bounds mean "to the very end" long before they need 64 bits.
FAR = 2**31 - 1


def _viewed(node: Node, shape: Sequence[int]) -> Operand:
    x = node.operand()
    shape = node.fitted_shape(x.shape, shape)
    return x.reshape(shape) if isinstance(x, np.ndarray) else node.reshape(x, shape)


@handles("reshape", "reshape2")
def reshape(node: Node) -> Results:
    """0 copies a dimension, -1 takes what is left."""
    x = node.operand()
    wanted = node.int_list("shape", "Shape", "ShapeTensor")
    if any(n == 0 and i >= len(x.shape) for i, n in enumerate(wanted)):
        raise node.invalid(f"{list(wanted)} copies a dimension that {list(x.shape)} lacks")
    return _viewed(node, [x.shape[i] if n == 0 else n for i, n in enumerate(wanted)])


@handles("flatten", "flatten2")
def flatten(node: Node) -> Results:
    """To two dimensions, cut at the axis."""
    shape = node.operand().shape
    axis = node.integer("axis", 1)
    if not 0 <= axis <= len(shape):
        raise node.invalid(f"axis {axis} is outside {len(shape)} dimensions")
    return _viewed(node, (int(np.prod(shape[:axis])), int(np.prod(shape[axis:]))))


@handles("flatten_contiguous_range")
def flatten_range(node: Node) -> Results:
    """Dimensions from one to another, inclusive, become one."""
    shape = node.operand().shape
    start = node.axis(node.integer("start_axis", 1), len(shape))
    stop = node.axis(node.integer("stop_axis", 1), len(shape))
    if stop < start:
        raise node.invalid(f"its axes are {start} to {stop}")
    joined = int(np.prod(shape[start : stop + 1]))
    return _viewed(node, (*shape[:start], joined, *shape[stop + 1 :]))


@handles("squeeze", "squeeze2")
def squeeze(node: Node) -> Results:
    """Drops the given dimensions, or all, as far as they are 1."""
    shape = node.operand().shape
    axes = node.integers("axes")
    dropped = {node.axis(a, len(shape)) for a in axes} if axes else set(range(len(shape)))
    return _viewed(node, [n for i, n in enumerate(shape) if n != 1 or i not in dropped])


@handles("unsqueeze", "unsqueeze2")
def unsqueeze(node: Node) -> Results:
    """One after the other: each axis counts in what those before it made."""
    shape = list(node.operand().shape)
    for axis in node.int_list("axes", "AxesTensor", "AxesTensorList"):
        shape.insert(node.axis(axis, len(shape) + 1), 1)
    return _viewed(node, shape)


@handles("transpose", "transpose2")
def transpose(node: Node) -> Results:
    """A permutation of the dimensions."""
    x, axes = node.operand(), node.integers("axis")
    axes = tuple(node.axis(a, len(x.shape)) for a in axes)
    if sorted(axes) != list(range(len(x.shape))):
        raise node.invalid(f"{list(axes)} is no permutation of {len(x.shape)} dimensions")
    return x.transpose(axes) if isinstance(x, np.ndarray) else node.transpose(x, axes)


@handles("concat")
def concat(node: Node) -> Results:
    """Along an axis, which an input may hold."""
    operands = [node.operand("X", i) for i in range(len(node.names("X")))]
    given = node.numbers("AxisTensor")
    axis = int(given[0]) if given else node.integer("axis", 0)
    axis = node.axis(axis, len(operands[0].shape) if operands else 0)
    known = [v for v in operands if isinstance(v, np.ndarray)]
    if len(known) == len(operands):
        return np.concatenate(known, axis)
    values = [node.x("X", i) for i in range(len(operands))]
    return values[0] if len(values) == 1 else node.add("concat", *values, axis=axis)


@handles("stack")
def stack(node: Node) -> Results:
    """Along a new axis."""
    operands = [node.operand("X", i) for i in range(len(node.names("X")))]
    axis = node.axis(node.integer("axis", 0), len(operands[0].shape) + 1 if operands else 0)
    known = [v for v in operands if isinstance(v, np.ndarray)]
    if len(known) == len(operands):
        return {"Y": np.stack(known, axis)}
    shape = (*operands[0].shape[:axis], 1, *operands[0].shape[axis:])
    values = [node.reshape(node.x("X", i), shape) for i in range(len(operands))]
    return {"Y": values[0] if len(values) == 1 else node.add("concat", *values, axis=axis)}


@handles("split")
def split(node: Node) -> Results:
    """Into equal parts, or parts of given sizes, of which one may be -1."""
    x = node.x()
    given = node.numbers("AxisTensor")
    axis = node.axis(int(given[0]) if given else node.integer("axis", 0), len(x.shape))
    count = node.output_count("Out")
    sizes = list(node.int_list("sections", "", "SectionsTensorList"))
    if not sizes:
        if count < 1 or x.shape[axis] % count:
            raise node.invalid(f"{x.shape[axis]} cannot be cut into {count} equal parts")
        sizes = [x.shape[axis] // count] * count
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = x.shape[axis] - sum(sizes) - 1
    if len(sizes) != count:
        raise node.invalid(f"it has {count} outputs, and {len(sizes)} sections")
    return {
        "Out": [x]
        if count == 1
        else node.add_many("split", x, outputs=count, axis=axis, sizes=sizes)
    }


@handles("unstack", "unbind")
def unstack(node: Node) -> Results:
    """Into parts of one, without their dimension."""
    x = node.x()
    axis = node.axis(node.integer("axis", 0), len(x.shape))
    slot = "Y" if node.type == "unstack" else "Out"
    count, shape = node.output_count(slot), (*x.shape[:axis], *x.shape[axis + 1 :])
    if count != x.shape[axis]:
        raise node.invalid(f"it has {count} outputs for {x.shape[axis]} parts")
    sizes = (1,) * count
    parts = (x,) if count == 1 else node.add_many("split", x, outputs=count, axis=axis, sizes=sizes)
    return {slot: [node.reshape(part, shape) for part in parts]}


@handles("slice", "strided_slice")
def slice_(node: Node) -> Results:
    """Bounds that inputs may hold; then some dimensions of 1 are dropped."""
    x = node.operand("Input")
    rank = len(x.shape)
    axes = [node.axis(a, rank) for a in node.integers("axes")]
    starts = node.int_list("starts", "StartsTensor", "StartsTensorList")
    ends = node.int_list("ends", "EndsTensor", "EndsTensorList")
    steps: Sequence[int] = (1,) * len(axes)
    if node.type == "strided_slice":
        steps = node.int_list("strides", "StridesTensor", "StridesTensorList")
    if not len(axes) == len(starts) == len(ends) == len(steps) or 0 in steps:
        raise node.invalid(f"its bounds are {list(starts)}, {list(ends)}, {list(steps)}")
    dropped = {node.axis(a, rank) for a in node.integers("decrease_axis")}
    if isinstance(x, np.ndarray):
        places = [slice(None)] * rank
        for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
            places[axis] = slice(*_bounds(start, end, step, x.shape[axis]), step)
        y = x[tuple(places)]
        return y.reshape([n for i, n in enumerate(y.shape) if i not in dropped])
    cut = node.add(
        "slice",
        x,
        starts=tuple(max(-FAR, min(FAR, v)) for v in starts),
        ends=tuple(max(-FAR, min(FAR, v)) for v in ends),
        axes=tuple(axes),
        steps=tuple(max(-FAR, min(FAR, v)) for v in steps),
    )
    return node.reshape(cut, [n for i, n in enumerate(cut.shape) if i not in dropped])


def _bounds(start: int, end: int, step: int, size: int) -> tuple[int, int | None]:
    """As numpy takes them: an end before the front is no end."""
    return start, None if step < 0 and end < -size else end


@handles("pad", "pad2d", "pad3d")
def pad(node: Node) -> Results:
    """pad2d: top, bottom, left, right; pad3d: left, right, top, bottom, front, back."""
    x = node.x()
    amounts = node.int_list("paddings", "Paddings")
    mode, value = node.text("mode", "constant"), node.real("value", 0.0)
    last = node.text("data_format", "NCHW")[-1:] == "C"
    if node.type == "pad":
        pairs, mode, value = list(range(len(x.shape))), "constant", node.real("pad_value", 0.0)
    elif node.type == "pad2d":
        value = node.real("pad_value", 0.0)
        pairs = [1, 2] if last else [2, 3]
    else:
        pairs = [3, 2, 1] if last else [4, 3, 2]
    if max(pairs) >= len(x.shape) or len(amounts) != 2 * len(pairs):
        raise node.invalid(f"{len(amounts)} paddings for {list(x.shape)}")
    pads = [0] * (2 * len(x.shape))
    for i, axis in enumerate(pairs):
        pads[axis], pads[len(x.shape) + axis] = amounts[2 * i], amounts[2 * i + 1]
    mode = {"replicate": "edge", "circular": "wrap"}.get(mode, mode)
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise node.unsupported(f"its mode is {mode}")
    return node.add("pad", x, pads=pads, mode=mode, value=value)


@handles("gather", "index_select")
def gather(node: Node) -> Results:
    """Along an axis, at indices that are a vector."""
    x = node.operand()
    given = node.numbers("Axis")
    name = "dim" if node.type == "index_select" else "axis"
    axis = node.axis(int(given[0]) if given else node.integer(name, 0), len(x.shape))
    if isinstance(x, np.ndarray) and node.is_known("Index"):
        return x.take(node.known("Index").reshape(-1), axis)
    indices = node.x("Index")
    return node.add("gather", node.x(), node.reshape(indices, (indices.count,)), axis=axis)


@handles("expand_v2", "expand_as_v2", "broadcast_to")
def expand(node: Node) -> Results:
    """To a shape, in which -1 keeps a dimension."""
    x = node.operand()
    wanted = node.integers("target_shape") if node.has_attribute("target_shape") else ()
    wanted = wanted or node.int_list("shape", "Shape", "expand_shapes_tensor")
    lift = len(wanted) - len(x.shape)
    if lift < 0:
        raise node.invalid(f"{list(x.shape)} cannot be expanded to {list(wanted)}")
    shape = tuple(x.shape[i - lift] if n == -1 and i >= lift else n for i, n in enumerate(wanted))
    if isinstance(x, np.ndarray):
        node.check_elements(shape)
        return np.ascontiguousarray(np.broadcast_to(x, shape))
    return x if shape == x.shape else node.add("expand", x, shape=shape)


@handles("expand", "tile")
def tile(node: Node) -> Results:
    """Repeats dimensions; of fewer counts, the first dimensions are not repeated."""
    if node.type == "expand":
        counts = node.int_list("expand_times", "ExpandTimes", "expand_times_tensor")
    else:
        counts = node.int_list("repeat_times", "RepeatTimes", "repeat_times_tensor")
    x = node.operand()
    rank = max(len(counts), len(x.shape))
    counts = (1,) * (rank - len(counts)) + tuple(counts)
    shape = (1,) * (rank - len(x.shape)) + x.shape
    if isinstance(x, np.ndarray):
        node.check_elements([n * c for n, c in zip(shape, counts, strict=True)])
        return np.tile(x, counts)
    return node.add("tile", node.reshape(x, shape), repeats=counts)


@handles("pixel_shuffle")
def pixel_shuffle(node: Node) -> Results:
    """Channels become pixels."""
    return node.add(
        "depth_to_space", node.image(), block_size=node.integer("upscale_factor", 1), mode="crd"
    )


@handles("space_to_depth", "pixel_unshuffle")
def pixel_unshuffle(node: Node) -> Results:
    """Pixels become channels: next to those of the same channel, or behind all (space_to_depth)."""
    x = node.image()
    behind = node.type == "space_to_depth"
    block = node.integer("blocksize" if behind else "downscale_factor")
    n, c, h, w = x.shape
    if block < 1 or h % block or w % block:
        raise node.invalid(f"blocks of {block} do not divide {h} x {w}")
    if behind:
        raise node.unsupported("it orders pixels as Darknet does")
    parts = node.reshape(x, (n, c, h // block, block, w // block, block))
    moved = node.transpose(parts, (0, 1, 3, 5, 2, 4))
    return node.reshape(moved, (n, c * block * block, h // block, w // block))


@handles("shuffle_channel")
def shuffle_channel(node: Node) -> Results:
    """x: [n, c, h, w]."""
    return node.add("channel_shuffle", node.image(), group=node.integer("group", 1))


@handles("assign", "share_data", "memcpy", "cast")
def identity(node: Node) -> Results:
    """The same, or in another element type; float64 is float32."""
    x = node.operand()
    if node.type != "cast":
        return x
    code = node.dtype("out_dtype", -1)
    if isinstance(x, np.ndarray):
        return x.astype(code)
    names = {"<f8": "f32", "<f4": "f32", "<f2": "f16", "<i4": "i32", "<i8": "i64"}
    to = {**names, "u1": "u8", "i1": "i8", "?": "bool"}.get(code)
    if to is None:
        raise node.unsupported(f"it casts to {np.dtype(code).name}")
    return x if _is(x, to) else node.add("cast", x, to=to)


def _is(x: Value, dtype: str) -> bool:
    return x.dtype == dtype
