"""Data movement: reshape, slice, concat, pad and the like."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from trimtab.importers._graph import Array, Operand, Value
from trimtab.importers._layer import Results
from trimtab.importers.ncnn_ops.expression import evaluate, spread
from trimtab.importers.ncnn_ops.layer import NONE, NcnnLayer, handles
from trimtab.importers.vocabulary import movement
from trimtab.importers.vocabulary.activation import channelwise

# Blobs have at most four dimensions.
_MAX_DIMS = 4


@handles("MemoryData")
def memory_data(layer: NcnnLayer) -> Results:
    """A constant blob."""
    sizes = [layer.param.integer(name, 0) for name in "cdhw"]
    shape = (1, *(n for n in sizes if n))
    tagged = layer.param.integer("load_type", 1) == 0
    values = layer.weights(shape, "data") if tagged else layer.raw_weights(shape, "data")
    return layer.constant(values, "data")


@handles("Split", "Noop", "DeepCopy")
def split(layer: NcnnLayer) -> Results:
    """Several names for the same blob, or each blob unchanged (Noop)."""
    if layer.type == "Noop":
        return tuple(layer.x(i) for i in range(len(layer.outputs)))
    return (layer.x(),) * len(layer.outputs)


@handles("Concat")
def concat(layer: NcnnLayer) -> Results:
    """Concatenation along an axis."""
    axis = layer.blob_axis(layer.param.integer("axis", 0))
    return movement.concat(layer, layer.xs(), axis)


@handles("Slice")
def slice_(layer: NcnnLayer) -> Results:
    """Splits by sizes (-233: an equal part of the remaining elements), or at indices."""
    x = layer.x()
    axis = layer.blob_axis(layer.param.integer("axis", 0))
    length, tops = x.shape[axis], len(layer.outputs)
    sizes, ends = layer.param.integers("slices"), layer.param.integers("indices")
    if len(ends) >= tops - 1 and ends:
        bounds = [0, *(end + length if end < 0 else end for end in ends[: tops - 1]), length]
        parts = [end - begin for begin, end in itertools.pairwise(bounds)]
    elif len(sizes) == tops:
        parts, begin = [], 0
        for i, size in enumerate(sizes):
            parts.append((length - begin) // (tops - i) if size == NONE else size)
            begin += parts[-1]
    else:
        raise layer.invalid(f"{len(sizes)} sizes for {tops} outputs")
    if min(parts) < 1 or sum(parts) > length:
        raise layer.invalid(f"its parts {parts} do not fit {length}")
    if sum(parts) < length:
        # Remaining elements that no layer reads.
        parts.append(length - sum(parts))
    return movement.split(layer, x, axis, parts)[:tops]


@handles("Crop")
def crop(layer: NcnnLayer) -> Results:
    """Crops by starts and ends, by offsets and sizes, or to the size of another blob."""
    x, p = layer.x(), layer.param
    dims = len(x.shape) - 1
    if p.has("starts_expr") or p.has("ends_expr"):
        texts = (p.text(f"{name}_expr") for name in ("starts", "ends", "axes"))
        return _sliced(layer, *(evaluate(layer, text) for text in texts))
    starts, ends = p.integers("starts"), p.integers("ends")
    if starts and ends:
        return _sliced(layer, starts, ends, p.integers("axes"))
    offsets, sizes, end_offsets = (
        _dims(layer, name, dims) for name in ("{}offset", "out{}", "{}offset2")
    )
    if layer.has(1) and not any((*sizes, *end_offsets)):
        other = spread(layer.x(1).shape)
        sizes = _pick(other, dims)
        if len(layer.x(1).shape) < len(x.shape) and dims > 2:
            sizes[0] = x.shape[1]
    slices = []
    rows = zip(offsets, sizes, end_offsets, x.shape[1:], strict=True)
    for axis, (offset, size, end_offset, length) in enumerate(rows, 1):
        last = length - end_offset
        end = last if size == NONE else min(offset + size, last)
        if not 0 <= offset < end <= length:
            raise layer.invalid(f"{offset} to {end} is not inside {length}")
        slices.append((axis, offset, end, 1))
    return movement.sliced(layer, x, slices)


def _pick(values: tuple[int, ...], dims: int) -> list[int]:
    """The values for c, d, h and w that apply to a blob of `dims` dimensions."""
    c, d, h, w = values
    return {1: [w], 2: [h, w], 3: [c, h, w]}.get(dims, [c, d, h, w])


def _dims(layer: NcnnLayer, name: str, dims: int) -> list[int]:
    """The parameters whose `name` has a letter for each dimension."""
    c, d, h, w = (layer.param.integer(name.format(letter), 0) for letter in "cdhw")
    return _pick((c, d, h, w), dims)


def _sliced(layer: NcnnLayer, starts: list[int], ends: list[int], axes: list[int]) -> Results:
    """Slices like numpy, except that an end of 0 is the end of the dimension."""
    axes = axes or list(range(len(starts)))
    if not len(starts) == len(ends) == len(axes):
        raise layer.invalid(f"{len(starts)} starts, {len(ends)} ends, {len(axes)} axes")
    x, slices = layer.x(), []
    for start, end, axis in zip(starts, ends, axes, strict=True):
        tensor_axis = layer.blob_axis(axis)
        length = x.shape[tensor_axis]
        begin = _begin(start, length)
        stop = length if end == NONE else min(length, end if end > 0 else end + length)
        if not 0 <= begin < stop:
            raise layer.invalid(f"{start} to {end} is not inside {length}")
        slices.append((tensor_axis, begin, stop, 1))
    return movement.sliced(layer, x, slices)


@handles("CopyTo")
def copy_to(layer: NcnnLayer) -> Results:
    """The first operand with the second one in the place of a part of it."""
    x, source = layer.x(0), layer.x(1)
    dims = len(x.shape) - 1
    begins = _dims(layer, "{}offset", dims)
    starts, axes = layer.param.integers("starts"), layer.param.integers("axes")
    if starts:
        begins = [0] * dims
        axes = axes or list(range(dims))
        if len(starts) != len(axes):
            raise layer.invalid(f"{len(starts)} starts, {len(axes)} axes")
        for start, axis in zip(starts, axes, strict=True):
            at = layer.blob_axis(axis)
            begins[at - 1] = _begin(start, x.shape[at])
    if source.shape == x.shape:
        return source
    if len(source.shape) != len(x.shape):
        raise layer.invalid(f"its operands have {dims} and {len(source.shape) - 1} dimensions")
    return _replaced(layer, x, source, begins, 1)


def _begin(start: int, length: int) -> int:
    """A start of ncnn as an index: absent, from the front or from the back."""
    return 0 if start == NONE else start + length if start < 0 else start


def _replaced(
    layer: NcnnLayer, x: Value, source: Value, begins: Sequence[int], axis: int
) -> Operand:
    """`x` with `source` at `begins` of the axes from `axis` on; it has all of those before."""
    if axis == len(x.shape):
        return source
    begin, length = begins[axis - 1], x.shape[axis]
    end = begin + source.shape[axis]
    if not 0 <= begin < end <= length:
        raise layer.invalid(f"{begin} to {end} is not inside {length}")
    middle = layer.value(movement.sliced(layer, x, [(axis, begin, end, 1)]))
    parts = [_replaced(layer, middle, source, begins, axis + 1)]
    if begin:
        parts.insert(0, movement.axis_slice(layer, x, axis, 0, begin))
    if end < length:
        parts.append(movement.axis_slice(layer, x, axis, end, length))
    return movement.concat(layer, parts, axis) if len(parts) > 1 else parts[0]


@handles("Flatten")
def flatten(layer: NcnnLayer) -> Results:
    """Reshape to one dimension."""
    return movement.flattened(layer, layer.x(), 1)


@handles("Reshape")
def reshape(layer: NcnnLayer) -> Results:
    """0 copies a dimension, -1 takes the remaining elements, -233 is an absent dimension."""
    x = layer.x()
    if expression := layer.param.text("shape_expr"):
        sizes = evaluate(layer, expression)[::-1]
    else:
        w, h, d, c = (layer.param.integer(name, NONE) for name in "whdc")
        if NONE in (w, h):
            sizes = [] if w == NONE else [w]
        elif c == NONE:
            sizes = [h, w]
        else:
            sizes = [c, h, w] if d == NONE else [c, d, h, w]
    if not 1 <= len(sizes) <= _MAX_DIMS:
        raise layer.invalid(f"it has {len(sizes)} dimensions")
    old_sizes = _pick(spread(x.shape), len(sizes))
    shape = [old if size == 0 else size for size, old in zip(sizes, old_sizes, strict=True)]
    return layer.reshape(x, (1, *shape))


# The axes of the result from the innermost to the outermost, by rank and order_type.
_ORDERS = {
    2: "WH HW",
    3: "WHC HWC WCH CWH HCW CHW",
    4: (
        "WHDC HWDC WDHC DWHC HDWC DHWC WHCD HWCD WCHD CWHD HCWD CHWD"
        " WDCH DWCH WCDH CWDH DCWH CDWH HDCW DHCW HCDW CHDW DCHW CDHW"
    ),
}
_NAMES = {2: "HW", 3: "CHW", 4: "CDHW"}


@handles("Permute")
def permute(layer: NcnnLayer) -> Results:
    """Permutes the axes."""
    x, order = layer.x(), layer.param.integer("order_type", 0)
    dims = len(x.shape) - 1
    if dims == 1 or order == 0:
        return x
    permutations = orders(dims)
    if not 0 <= order < len(permutations):
        raise layer.invalid(f"there is no order {order} of {dims} dimensions")
    return layer.transpose(x, permutations[order])


def orders(dims: int) -> list[tuple[int, ...]]:
    """The permutation of a tensor [1, ...] for each order_type of blobs with `dims` dimensions."""
    return [
        (0, *(_NAMES[dims].index(letter) + 1 for letter in reversed(order)))
        for order in _ORDERS.get(dims, "").split()
    ]


@handles("Squeeze")
def squeeze(layer: NcnnLayer) -> Results:
    """Drops dimensions of 1, by axis or by flag."""
    x = layer.x()
    dims = len(x.shape) - 1
    axes = [layer.blob_axis(axis) for axis in layer.param.integers("axes")]
    if not axes:
        flags = _dims(layer, "squeeze_{}", dims)
        axes = [i for i, flag in enumerate(flags, 1) if flag]
    shape = movement.drop_axes(x.shape, {axis for axis in axes if x.shape[axis] == 1})
    return layer.reshape(x, shape if len(shape) > 1 else (1, 1))


@handles("ExpandDims")
def expand_dims(layer: NcnnLayer) -> Results:
    """Inserts dimensions of 1 at axes of the result."""
    axes = layer.param.integers("axes")
    rank = len(layer.x().shape) + len(axes)
    if rank - 1 > _MAX_DIMS:
        raise layer.invalid(f"its result has {rank - 1} dimensions")
    return movement.unsqueezed(layer, layer.x(), *(layer.blob_axis(axis, rank) for axis in axes))


@handles("Padding")
def padding(layer: NcnnLayer) -> Results:
    """Pads height, width and channels with a constant, the edge or a reflection."""
    x, p = layer.x(), layer.param
    dims = len(x.shape) - 1
    top, bottom, left, right, front, back = (
        p.integer(side, 0) for side in ("top", "bottom", "left", "right", "front", "behind")
    )
    mode, value = p.choice("type"), p.real("value", 0.0)
    count = p.integer("per_channel_pad_data_size", 0)
    if not mode:
        raise layer.unsupported(f"its type {p.text('type')} is not known")
    if min(top, bottom, left, right, front, back) < 0:
        raise layer.unsupported("it has negative amounts")
    begins = _pick((front, 0, top, left), dims)
    ends = _pick((back, 0, bottom, right), dims)
    if dims == _MAX_DIMS and (front or back):
        raise layer.unsupported("it pads in depth")
    amounts = dict(enumerate(zip(begins, ends, strict=True), 1))
    if count:
        values = layer.raw_weights((count,), "padding values")
        if mode == "constant" and dims >= 3:
            return _padded_by_channel(layer, x, amounts, values)
    return movement.padded(layer, x, amounts, mode, value)


def _padded_by_channel(
    layer: NcnnLayer, x: Value, amounts: Mapping[int, tuple[int, int]], values: Array
) -> Value:
    """Pads x: [1, c, ...] with the value of each channel of the result, by constant parts."""
    begin, end = amounts[1]
    if len(values) != begin + x.shape[1] + end:
        raise layer.invalid(f"it has {len(values)} padding values for {x.shape[1]} channels")
    own = values[begin : begin + x.shape[1]]
    for axis in (*range(len(x.shape) - 1, 1, -1), 1):
        sides = own, own
        if axis == 1:
            sides = values[:begin], values[len(values) - end :]
        parts = [x]
        for side, amount, at in zip(sides, amounts[axis], (0, 2), strict=True):
            shape = (*x.shape[:axis], amount, *x.shape[axis + 1 :])
            layer.check_elements(shape)
            border = np.broadcast_to(channelwise(side, len(shape)), shape)
            if amount:
                parts.insert(at, layer.constant(np.ascontiguousarray(border), "border"))
        x = layer.value(movement.concat(layer, parts, axis))
    return x


@handles("GridSample")
def grid_sample(layer: NcnnLayer) -> Results:
    """Samples an image at the places of a grid, [rows, columns, 2] or [2, rows, columns]."""
    p = layer.param
    mode, padding = p.choice("sample_type", 1), p.choice("padding_mode", 1)
    corners, channels_first = p.integer("align_corner", 0), p.integer("permute_fusion", 0)
    if not mode or not padding:
        numbers = p.integer("sample_type", 1), p.integer("padding_mode", 1)
        raise layer.invalid(f"its sample_type is {numbers[0]}, its padding_mode {numbers[1]}")
    grid = layer.image(1)
    if channels_first:
        grid = layer.transpose(grid, (0, 2, 3, 1))
    return layer.add(
        "grid_sample",
        layer.image(),
        grid,
        mode=mode,
        padding=padding,
        align_corners=bool(corners),
    )


@handles("Tile")
def tile(layer: NcnnLayer) -> Results:
    """Repeats the input along one axis, or along the last axes."""
    x = layer.x()
    if counts := layer.param.integers("repeats"):
        if len(counts) > _MAX_DIMS:
            raise layer.invalid(f"it has {len(counts)} repeats, the limit is {_MAX_DIMS}")
        lead = [1] * (len(counts) - len(x.shape) + 1)
        return movement.tiled(layer, layer.reshape(x, (1, *lead, *x.shape[1:])), counts)
    repeats = [1] * len(x.shape)
    repeats[layer.blob_axis(layer.param.integer("axis", 0))] = layer.param.integer("tiles", 1)
    return movement.tiled(layer, x, repeats)


@handles("ShuffleChannel")
def shuffle_channel(layer: NcnnLayer) -> Results:
    """Interleaves groups of channels (ShuffleNet), or reverses that."""
    group, channels = layer.param.integer("group", 1), layer.image().shape[1]
    if group < 1 or channels % group:
        raise layer.invalid(f"{group} groups do not divide {channels} channels")
    group = channels // group if layer.param.integer("reverse", 0) else group
    return layer.add("channel_shuffle", layer.image(), group=group)


@handles("PixelShuffle")
def pixel_shuffle(layer: NcnnLayer) -> Results:
    """Moves channels into pixels; the position in a block is the inner or the outer index."""
    mode = "dcr" if layer.param.integer("mode", 0) else "crd"
    factor = layer.param.integer("upscale_factor", 1)
    return layer.add("depth_to_space", layer.image(), block_size=factor, mode=mode)


@handles("Reorg")
def reorg(layer: NcnnLayer) -> Results:
    """Moves pixels into channels; the position in a block is the inner or the outer index."""
    stride, is_outer = layer.param.integer("stride", 1), layer.param.integer("mode", 0)
    if stride < 1:
        raise layer.invalid(f"its stride is {stride}, it must be positive")
    if is_outer:
        return layer.add("space_to_depth", layer.image(), block_size=stride)
    return movement.pixel_unshuffle(layer, layer.image(), stride)
