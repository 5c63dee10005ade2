"""Data movement: reshape, slice, concat, pad, lists of tensors and the like."""

from __future__ import annotations

import itertools
import math

import numpy as np

from trimtab.importers.pnnx_ops.operator import PnnxOperator, Results, handles
from trimtab.importers.vocabulary import movement
from trimtab.importers.vocabulary.movement import END
from trimtab.importers.vocabulary.reduction import at_least_a_vector


@handles("prim::TupleConstruct", "prim::ListConstruct")
def construct(op: PnnxOperator) -> Results:
    """The list of the operands."""
    return op.positional


@handles("prim::TupleUnpack", "prim::ListUnpack")
def unpack(op: PnnxOperator) -> Results:
    """The elements of a list."""
    parts = op.positional[0] if op.has(0) else None
    return tuple(parts) if isinstance(parts, list) else parts


@handles("torch.cat", "torch.concat", "Tensor.cat")
def cat(op: PnnxOperator) -> Results:
    """Concatenation along an axis."""
    xs = op.tensors()
    return movement.concat(op, xs, op.axis(op.integer("dim", 0), len(xs[0].shape)))


@handles("torch.stack")
def stack(op: PnnxOperator) -> Results:
    """Concatenation along a new axis."""
    return movement.stack(op, op.tensors(), op.integer("dim", 0))


@handles("torch.split", "torch.chunk", "torch.tensor_split", "Tensor.split", "Tensor.chunk")
def split(op: PnnxOperator) -> Results:
    """Splits by sizes, or into a number of nearly equal parts."""
    x = op.x(0, "input", "tensor", "self")
    axis = op.axis(op.integer("dim", 0), len(x.shape))
    length = x.shape[axis]
    sizes = _sizes(op, length)
    if min(sizes, default=0) < 1 or sum(sizes) != length or len(sizes) > 255:
        raise op.invalid(f"its parts {list(sizes)[:9]} do not fit {length}")
    parts = movement.split(op, x, axis, sizes)
    return parts if len(op.outputs) > 1 or len(parts) == 1 else list(parts)


def _sizes(op: PnnxOperator, length: int) -> list[int]:
    if op.type.endswith("chunk"):
        count = op.integer("chunks")
        step = -(-length // count) if count > 0 else 0
    elif op.type.endswith("tensor_split"):
        if op.has("sections"):
            count = op.integer("sections")
            if not 1 <= count <= length:
                return []
            return [length // count + (i < length % count) for i in range(count)]
        ends = op.integers("indices")
        bounds = [0, *(end + length if end < 0 else end for end in ends), length]
        return [end - begin for begin, end in itertools.pairwise(bounds)]
    else:
        name = "split_size_or_sections"
        name = name if op.has(name) else "split_size"
        sizes = op.integers(name)
        if len(sizes) > 1 or isinstance(op.static(name), list):
            return list(sizes)
        step = sizes[0]
    if step < 1 or length // step > 255:
        return []
    return [min(step, length - begin) for begin in range(0, length, step)]


@handles("torch.unbind", "Tensor.unbind")
def unbind(op: PnnxOperator) -> Results:
    """Splits along an axis into slices of one element, and drops the axis."""
    x, axis = op.x(0, "input", "self"), op.integer("dim", 0)
    count = x.shape[op.axis(axis, len(x.shape))]
    if count > 255:
        raise op.unsupported(f"it makes {count} tensors")
    parts = movement.unstack(op, x, axis)
    return parts if len(op.outputs) > 1 or count == 1 else list(parts)


@handles("Tensor.slice", "torch.narrow", "Tensor.select", "torch.select")
def slice_(op: PnnxOperator) -> Results:
    """Slices along several axes, or along one; selecting an element drops the axis."""
    x = op.x(0, "input", "self")
    rows: list[tuple[int, ...]]
    if op.type == "torch.narrow":
        begin = op.integer("start")
        rows = [(op.integer("dim"), begin, begin + op.integer("length"), 1, END)]
    elif op.type.endswith("select"):
        rows = [(op.integer("dim"), 0, END, 1, op.integer("index"))]
    elif op.has("dims"):
        dims = op.integers("dims")
        columns = [
            op.integers(name, len(dims), default)
            for name, default in (("starts", 0), ("ends", END), ("steps", 1), ("selects", END))
        ]
        rows = list(zip(dims, *columns, strict=True))
    else:
        row = (op.integer("start", 0), op.integer("end", END), op.integer("step", 1), END)
        rows = [(op.integer("dim", 0), *row)]
    dropped, slices = [], []
    for dim, start, end, step, select in rows:
        axis = op.axis(dim, len(x.shape))
        if select == END:
            slices.append((axis, start, end, step))
        else:
            index = op.axis(select, x.shape[axis])
            slices.append((axis, index, index + 1, 1))
            dropped.append(axis)
    y = movement.sliced(op, x, slices)
    return op.reshape(y, movement.drop_axes(y.shape, dropped) or (1,))


@handles("torch.index_select")
def index_select(op: PnnxOperator) -> Results:
    """Gathers along an axis at a vector of indices."""
    x, index = op.x(0, "input"), op.x(1, "index")
    return movement.gathered(op, x, index, op.integer("dim"))


@handles("Tensor.permute", "torch.permute")
def permute(op: PnnxOperator) -> Results:
    """Permutes the axes."""
    x = op.x(0, "input", "self")
    order = [op.axis(axis, len(x.shape)) for axis in op.integers("dims")]
    return op.transpose(x, order)


@handles("torch.transpose", "Tensor.transpose", "torch.t")
def transpose(op: PnnxOperator) -> Results:
    """Swaps two axes."""
    x = op.x(0, "input", "self")
    if len(x.shape) < 2:
        return x
    a, b = (0, 1) if op.type == "torch.t" else (op.integer("dim0"), op.integer("dim1"))
    return op.swap(x, a, b)


@handles("Tensor.reshape", "Tensor.view", "torch.reshape")
def reshape(op: PnnxOperator) -> Results:
    """Reshape; -1 takes the remaining elements."""
    x = op.x(0, "input", "self")
    return op.reshape(x, op.integers("shape" if op.has("shape") else "size"))


@handles("Tensor.reshape_as", "Tensor.view_as")
def reshape_as(op: PnnxOperator) -> Results:
    """Reshape to the shape of another tensor."""
    return op.reshape(op.x(0, "input", "self"), op.x(1, "other").shape)


@handles("torch.flatten", "nn.Flatten")
def flatten(op: PnnxOperator) -> Results:
    """Merges the axes from start_dim to end_dim."""
    first = op.integer("start_dim", 1 if op.type == "nn.Flatten" else 0)
    return movement.flattened(op, op.x(0, "input"), first, op.integer("end_dim", -1))


@handles("Tensor.unflatten", "nn.Unflatten")
def unflatten(op: PnnxOperator) -> Results:
    """Splits an axis into several."""
    x = op.x(0, "input", "self")
    axis = op.axis(op.integer("dim"), len(x.shape))
    sizes = list(op.integers("sizes" if op.has("sizes") else "unflattened_size"))
    if sizes.count(-1) == 1:
        product = math.prod(n for n in sizes if n != -1)
        sizes[sizes.index(-1)] = x.shape[axis] // product if product > 0 else 0
    return op.reshape(x, (*x.shape[:axis], *sizes, *x.shape[axis + 1 :]))


@handles("torch.squeeze", "Tensor.squeeze")
def squeeze(op: PnnxOperator) -> Results:
    """Drops dimensions of 1."""
    x = op.x(0, "input", "self")
    y = movement.squeezed(op, x, op.axes("dim", len(x.shape)))
    return at_least_a_vector(op, op.value(y))


@handles("torch.unsqueeze", "Tensor.unsqueeze")
def unsqueeze(op: PnnxOperator) -> Results:
    """Inserts a dimension of 1."""
    x = op.x(0, "input", "self")
    return movement.unsqueezed(op, x, op.integer("dim"))


@handles("Tensor.expand", "Tensor.expand_as")
def expand(op: PnnxOperator) -> Results:
    """Broadcasts dimensions of 1; -1 keeps a dimension."""
    x = op.x(0, "input", "self")
    if op.type.endswith("_as"):
        shape = op.x(1, "other").shape
    else:
        shape = op.integers("shape" if op.has("shape") else "sizes")
    return movement.expanded(op, x, shape)


@handles("Tensor.repeat", "torch.tile")
def repeat(op: PnnxOperator) -> Results:
    """Repeats the input along its axes."""
    x = op.x(0, "input", "self")
    counts = op.integers(next((n for n in ("sizes", "repeats", "dims") if op.has(n)), "sizes"))
    return movement.tiled(op, x, counts)


@handles("torch.flip")
def flip(op: PnnxOperator) -> Results:
    """Reverses the order of elements along some axes."""
    x = op.x(0, "input")
    slices = [(axis, -1, -END, -1) for axis in op.axes("dims", len(x.shape))]
    return movement.sliced(op, x, slices)


@handles("torch.roll")
def roll(op: PnnxOperator) -> Results:
    """Rotates elements along some axes."""
    x = op.x(0, "input")
    shifts, dims = op.integers("shifts"), op.integers("dims")
    if len(shifts) != len(dims):
        raise op.unsupported("it has no dims, so that it rolls the flattened tensor")
    for shift, dim in zip(shifts, dims, strict=True):
        axis = op.axis(dim, len(x.shape))
        length = x.shape[axis]
        cut = -shift % length
        if cut:
            a, b = movement.split(op, x, axis, (cut, length - cut))
            x = op.value(movement.concat(op, (b, a), axis))
    return x


_PADS = {"ZeroPad": "constant", "ConstantPad": "constant", "ReflectionPad": "reflect"}
_PADS["ReplicationPad"] = "replicate"


@handles("F.pad", *(f"nn.{name}{d}d" for name in _PADS for d in (1, 2)))
def pad(op: PnnxOperator) -> Results:
    """Pads the last axes; the amounts begin with those of the last axis."""
    x = op.x(0, "input")
    rank = len(x.shape)
    if op.type == "F.pad":
        amounts, mode = op.integers("pad"), op.text("mode", "constant")
    else:
        amounts = op.integers("padding", 2 * int(op.type[-2]))
        mode = _PADS[op.type[3:-2]]
    if len(amounts) % 2 or len(amounts) > 2 * rank or mode not in movement.PAD_MODES:
        raise op.unsupported(f"it pads {list(x.shape)} by {list(amounts)}, mode {mode}")
    pairs = zip(amounts[::2], amounts[1::2], strict=True)
    by_axis = {rank - 1 - i: pair for i, pair in enumerate(pairs)}
    return movement.padded(op, x, by_axis, mode, op.real("value", 0.0))


@handles("nn.PixelShuffle", "F.pixel_shuffle")
def pixel_shuffle(op: PnnxOperator) -> Results:
    """Moves channels into pixels."""
    factor = op.integer("upscale_factor")
    return op.add("depth_to_space", op.x(0, "input"), block_size=factor, mode="crd")


@handles("nn.PixelUnshuffle", "F.pixel_unshuffle")
def pixel_unshuffle(op: PnnxOperator) -> Results:
    """Moves pixels into channels, grouped by input channel."""
    return movement.pixel_unshuffle(op, op.x(0, "input"), op.integer("downscale_factor"))


@handles("nn.ChannelShuffle", "F.channel_shuffle")
def channel_shuffle(op: PnnxOperator) -> Results:
    """Interleaves groups of channels (ShuffleNet)."""
    return op.add("channel_shuffle", op.x(0, "input"), group=op.integer("groups"))


@handles("Tensor.size", "torch.size")
def size(op: PnnxOperator) -> Results:
    """The size of the tensor or of one dimension, a constant."""
    x = op.x(0, "input", "self")
    return x.shape[op.axis(op.integer("dim"), len(x.shape))] if op.has("dim") else list(x.shape)


@handles("torch.arange")
def arange(op: PnnxOperator) -> Results:
    """A constant sequence of numbers."""
    start, end, step = op.real("start", 0.0), op.real("end"), op.real("step", 1.0)
    if step == 0 or not 0 < (end - start) / step < 2**20:
        raise op.unsupported(f"its range is {start} to {end} in steps of {step}")
    return op.constant(np.arange(start, end, step).astype(np.float32), "numbers")
