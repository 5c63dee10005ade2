"""Operators that move, cut, join or repeat elements and compute nothing."""

from __future__ import annotations

import itertools
import math

import numpy as np

from trimtab.importers._layers import Value
from trimtab.importers.pnnx_ops.operator import Operand, Operator, handles

# Bounds mean "to the very end" long before they need 64 bits.
_FAR = 2**31 - 1


@handles("torch.cat", "torch.concat", "Tensor.cat")
def cat(op: Operator) -> Value:
    """Along one dimension."""
    xs = op.tensors()
    axis = op.axis(op.integer("dim", 0), len(xs[0].shape))
    return xs[0] if len(xs) == 1 else op.add("concat", *xs, axis=axis)


@handles("torch.stack")
def stack(op: Operator) -> Value:
    """Along a new dimension."""
    xs = op.tensors()
    axis = op.axis(op.integer("dim", 0), len(xs[0].shape) + 1)
    lifted = [op.reshape(x, (*x.shape[:axis], 1, *x.shape[axis:])) for x in xs]
    return lifted[0] if len(lifted) == 1 else op.add("concat", *lifted, axis=axis)


@handles("torch.split", "torch.chunk", "torch.tensor_split", "Tensor.split", "Tensor.chunk")
def split(op: Operator) -> tuple[Value, ...] | list[Value]:
    """Parts of given sizes, or a number of parts as equal as can be."""
    x = op.x(0, "input", "tensor", "self")
    axis = op.axis(op.integer("dim", 0), len(x.shape))
    length = x.shape[axis]
    sizes = _parts(op, length)
    if min(sizes, default=0) < 1 or sum(sizes) != length or len(sizes) > 255:
        raise op.invalid(f"its parts {list(sizes)[:9]} do not fit {length}")
    parts = (
        op.add_many("split", x, outputs=len(sizes), axis=axis, sizes=sizes)
        if len(sizes) > 1
        else (x,)
    )
    return parts if op.outputs > 1 or len(parts) == 1 else list(parts)


def _parts(op: Operator, length: int) -> list[int]:
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
        given = op.integers(name)
        if len(given) > 1 or isinstance(op.static(name), list):
            return list(given)
        step = given[0]
    if step < 1 or length // step > 255:
        return []
    return [min(step, length - begin) for begin in range(0, length, step)]


@handles("torch.unbind", "Tensor.unbind")
def unbind(op: Operator) -> tuple[Value, ...] | list[Value]:
    """The slices along a dimension, without it."""
    x = op.x(0, "input", "self")
    axis = op.axis(op.integer("dim", 0), len(x.shape))
    count = x.shape[axis]
    if count > 255:
        raise op.unsupported(f"it makes {count} tensors")
    shape = (*x.shape[:axis], *x.shape[axis + 1 :]) or (1,)
    parts = (
        op.add_many("split", x, outputs=count, axis=axis, sizes=(1,) * count) if count > 1 else (x,)
    )
    results = tuple(op.reshape(part, shape) for part in parts)
    return results if op.outputs > 1 or count == 1 else list(results)


def _bound(value: int) -> int:
    return max(-_FAR, min(_FAR, value))


@handles("Tensor.slice", "torch.narrow")
def slice_(op: Operator) -> Value:
    """Several dimensions at once (some may be single elements, which drop them), or one."""
    x = op.x(0, "input", "self")
    rank = len(x.shape)
    if op.type == "torch.narrow":
        begin = op.integer("start")
        rows = [(op.integer("dim"), begin, begin + op.integer("length"), 1, _FAR)]
    elif op.has("dims"):
        dims = op.integers("dims")
        columns = [
            op.integers(name, len(dims), default)
            for name, default in (("starts", 0), ("ends", _FAR), ("steps", 1), ("selects", _FAR))
        ]
        rows = list(zip(dims, *columns, strict=True))
    else:
        row = (op.integer("start", 0), op.integer("end", _FAR), op.integer("step", 1), _FAR)
        rows = [(op.integer("dim", 0), *row)]
    dropped = []
    cuts = []
    for dim, start, end, step, select in rows:
        axis = op.axis(dim, rank)
        if select != _FAR:
            index = op.axis(select, x.shape[axis])
            cuts.append((axis, index, index + 1, 1))
            dropped.append(axis)
        elif (start, step) != (0, 1) or _bound(end) < x.shape[axis]:
            cuts.append((axis, _bound(start), _bound(end), step))
    y = x
    if cuts:
        axes, starts, ends, steps = zip(*cuts, strict=True)
        y = op.add("slice", x, starts=starts, ends=ends, axes=axes, steps=steps)
    return op.reshape(y, [n for i, n in enumerate(y.shape) if i not in dropped] or (1,))


@handles("Tensor.select", "torch.select")
def select(op: Operator) -> Value:
    """One element of a dimension, which disappears."""
    x = op.x(0, "input", "self")
    axis = op.axis(op.integer("dim"), len(x.shape))
    index = op.axis(op.integer("index"), x.shape[axis])
    y = op.add("slice", x, starts=(index,), ends=(index + 1,), axes=(axis,), steps=(1,))
    return op.reshape(y, (*x.shape[:axis], *x.shape[axis + 1 :]) or (1,))


@handles("torch.index_select")
def index_select(op: Operator) -> Value:
    """Elements of a dimension, by a list of places."""
    x, index = op.x(0, "input"), op.x(1, "index")
    return op.add("gather", x, index, axis=op.axis(op.integer("dim"), len(x.shape)))


@handles("Tensor.permute", "torch.permute")
def permute(op: Operator) -> Value:
    """Dimensions in another order."""
    x = op.x(0, "input", "self")
    order = [op.axis(axis, len(x.shape)) for axis in op.integers("dims")]
    return op.add("transpose", x, permutation=tuple(order))


@handles("torch.transpose", "Tensor.transpose", "torch.t")
def transpose(op: Operator) -> Value:
    """Two dimensions exchanged."""
    x = op.x(0, "input", "self")
    if len(x.shape) < 2:
        return x
    a, b = (0, 1) if op.type == "torch.t" else (op.integer("dim0"), op.integer("dim1"))
    return op.swap(x, a, b)


@handles("Tensor.reshape", "Tensor.view", "torch.reshape")
def reshape(op: Operator) -> Value:
    """-1 takes what is left."""
    x = op.x(0, "input", "self")
    return op.reshape(x, op.integers("shape" if op.has("shape") else "size"))


@handles("Tensor.reshape_as", "Tensor.view_as")
def reshape_as(op: Operator) -> Value:
    """The shape of another tensor."""
    return op.reshape(op.x(0, "input", "self"), op.x(1, "other").shape)


@handles("torch.flatten", "nn.Flatten")
def flatten(op: Operator) -> Value:
    """Some dimensions become one."""
    x = op.x(0, "input")
    shape = x.shape
    first = op.axis(op.integer("start_dim", 1 if op.type == "nn.Flatten" else 0), len(shape))
    last = op.axis(op.integer("end_dim", -1), len(shape))
    middle = math.prod(shape[first : last + 1])
    return op.reshape(x, (*shape[:first], middle, *shape[last + 1 :]))


@handles("Tensor.unflatten", "nn.Unflatten")
def unflatten(op: Operator) -> Value:
    """One dimension becomes several."""
    x = op.x(0, "input", "self")
    axis = op.axis(op.integer("dim"), len(x.shape))
    sizes = list(op.integers("sizes" if op.has("sizes") else "unflattened_size"))
    if sizes.count(-1) == 1:
        known = math.prod(n for n in sizes if n != -1)
        sizes[sizes.index(-1)] = x.shape[axis] // known if known > 0 else 0
    return op.reshape(x, (*x.shape[:axis], *sizes, *x.shape[axis + 1 :]))


@handles("torch.squeeze", "Tensor.squeeze")
def squeeze(op: Operator) -> Value:
    """Drops dimensions that are 1."""
    x = op.x(0, "input", "self")
    axes = op.axes("dim", len(x.shape))
    shape = [n for i, n in enumerate(x.shape) if n != 1 or i not in axes]
    return op.reshape(x, shape or (1,))


@handles("torch.unsqueeze", "Tensor.unsqueeze")
def unsqueeze(op: Operator) -> Value:
    """A new dimension."""
    x = op.x(0, "input", "self")
    axis = op.axis(op.integer("dim"), len(x.shape) + 1)
    return op.reshape(x, (*x.shape[:axis], 1, *x.shape[axis:]))


@handles("Tensor.expand", "Tensor.expand_as")
def expand(op: Operator) -> Value:
    """Dimensions of 1 are repeated; -1 keeps one as it is."""
    x = op.x(0, "input", "self")
    if op.type.endswith("_as"):
        shape = list(op.x(1, "other").shape)
    else:
        shape = list(op.integers("shape" if op.has("shape") else "sizes"))
    lead = len(shape) - len(x.shape)
    if lead < 0:
        raise op.invalid(f"{list(x.shape)} cannot be expanded to {shape}")
    for i, size in enumerate(x.shape, lead):
        shape[i] = size if shape[i] == -1 else shape[i]
    return x if tuple(shape) == x.shape else op.add("expand", x, shape=tuple(shape))


@handles("Tensor.repeat", "torch.tile")
def repeat(op: Operator) -> Value:
    """Repeats every dimension."""
    x = op.x(0, "input", "self")
    counts = op.integers(next((n for n in ("sizes", "repeats", "dims") if op.has(n)), "sizes"))
    lead = len(counts) - len(x.shape)
    x = op.reshape(x, (*[1] * max(lead, 0), *x.shape))
    return op.add("tile", x, repeats=(*[1] * max(-lead, 0), *counts))


@handles("torch.flip")
def flip(op: Operator) -> Value:
    """Dimensions in reverse."""
    x = op.x(0, "input")
    axes = op.axes("dims", len(x.shape))
    count = len(axes)
    starts, ends, steps = (-1,) * count, (-_FAR,) * count, (-1,) * count
    return op.add("slice", x, starts=starts, ends=ends, axes=axes, steps=steps)


@handles("torch.roll")
def roll(op: Operator) -> Value:
    """Elements move along dimensions; what falls off comes in at the other end."""
    x = op.x(0, "input")
    shifts, dims = op.integers("shifts"), op.integers("dims")
    if len(shifts) != len(dims):
        raise op.unsupported("it rolls all elements as one")
    for shift, dim in zip(shifts, dims, strict=True):
        axis = op.axis(dim, len(x.shape))
        length = x.shape[axis]
        cut = -shift % length
        if cut:
            sizes = (cut, length - cut)
            a, b = op.add_many("split", x, outputs=2, axis=axis, sizes=sizes)
            x = op.add("concat", b, a, axis=axis)
    return x


_PADS = {"ZeroPad": "constant", "ConstantPad": "constant", "ReflectionPad": "reflect"}
_PADS["ReplicationPad"] = "replicate"
_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@handles("F.pad", *(f"nn.{name}{d}d" for name in _PADS for d in (1, 2)))
def pad(op: Operator) -> Value:
    """Amounts are for the last dimension, then for the one before, and so on."""
    x = op.x(0, "input")
    rank = len(x.shape)
    if op.type == "F.pad":
        amounts, mode = op.integers("pad"), op.text("mode", "constant")
    else:
        amounts = op.integers("padding", 2 * int(op.type[-2]))
        mode = _PADS[op.type[3:-2]]
    if len(amounts) % 2 or len(amounts) > 2 * rank or mode not in _MODES:
        raise op.unsupported(f"it pads {list(x.shape)} by {list(amounts)}, mode {mode}")
    begins, ends = [0] * rank, [0] * rank
    for i in range(len(amounts) // 2):
        begins[rank - 1 - i], ends[rank - 1 - i] = amounts[2 * i : 2 * i + 2]
    value = op.real("value", 0.0)
    return op.add("pad", x, pads=(*begins, *ends), mode=_MODES[mode], value=value)


@handles("nn.PixelShuffle", "F.pixel_shuffle")
def pixel_shuffle(op: Operator) -> Value:
    """Channels become pixels."""
    factor = op.integer("upscale_factor")
    return op.add("depth_to_space", op.x(0, "input"), block_size=factor, mode="crd")


@handles("nn.PixelUnshuffle", "F.pixel_unshuffle")
def pixel_unshuffle(op: Operator) -> Value:
    """Pixels become channels; the place within a block varies fastest."""
    factor = op.integer("downscale_factor")
    if factor < 1:
        raise op.invalid(f"its factor is {factor}")
    y = op.add("space_to_depth", op.x(0, "input"), block_size=factor)
    return op.add("channel_shuffle", y, group=factor * factor)


@handles("nn.ChannelShuffle", "F.channel_shuffle")
def channel_shuffle(op: Operator) -> Value:
    """Interleaves groups of channels (ShuffleNet)."""
    return op.add("channel_shuffle", op.x(0, "input"), group=op.integer("groups"))


@handles("Tensor.size", "torch.size")
def size(op: Operator) -> Operand:
    """Sizes, which are known."""
    x = op.x(0, "input", "self")
    return x.shape[op.axis(op.integer("dim"), len(x.shape))] if op.has("dim") else list(x.shape)


@handles("torch.arange")
def arange(op: Operator) -> Value:
    """Numbers in steps."""
    start, end, step = op.real("start", 0.0), op.real("end"), op.real("step", 1.0)
    if step == 0 or not 0 < (end - start) / step < 2**20:
        raise op.unsupported(f"it counts from {start} to {end} by {step}")
    return op.constant(np.arange(start, end, step).astype(np.float32), "numbers")
