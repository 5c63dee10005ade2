"""Layers that move, cut, join or repeat elements and compute nothing."""

from __future__ import annotations

import itertools

from trimtab.importers._layer import Results
from trimtab.importers.ncnn_ops.expression import evaluate, spread
from trimtab.importers.ncnn_ops.layer import NONE, NcnnLayer, handles
from trimtab.importers.vocabulary import movement

# Blobs have at most four dimensions.
_MOST_DIMS = 4


@handles("MemoryData")
def memory_data(layer: NcnnLayer) -> Results:
    """A constant."""
    sizes = [layer.param.integer(key, 0) for key in (2, 11, 1, 0)]
    shape = (1, *(n for n in sizes if n))
    tagged = layer.param.integer(21, 1) == 0
    values = layer.weights(shape, "data") if tagged else layer.raw_weights(shape, "data")
    return layer.constant(values, "data")


@handles("Split", "Noop", "DeepCopy")
def split(layer: NcnnLayer) -> Results:
    """The same blob for several readers, or each blob as it is."""
    if layer.type == "Noop":
        return tuple(layer.x(i) for i in range(len(layer.outputs)))
    return (layer.x(),) * len(layer.outputs)


@handles("Concat")
def concat(layer: NcnnLayer) -> Results:
    """Along one axis."""
    axis = layer.blob_axis(layer.param.integer(0, 0))
    return movement.concat(layer, layer.xs(), axis)


@handles("Slice")
def slice_(layer: NcnnLayer) -> Results:
    """Sizes of the parts (-233: an equal part of what is left), or where they end."""
    x = layer.x()
    axis = layer.blob_axis(layer.param.integer(1, 0))
    length, tops = x.shape[axis], len(layer.outputs)
    sizes, ends = layer.param.integers(0), layer.param.integers(2)
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
        # A rest that nobody reads.
        parts.append(length - sum(parts))
    return movement.split(layer, x, axis, parts)[:tops]


@handles("Crop")
def crop(layer: NcnnLayer) -> Results:
    """From start to end along axes, or by offsets and sizes, or to the size of another blob."""
    x = layer.x()
    dims = len(x.shape) - 1
    if any(layer.param.has(key) for key in (19, 20)):
        starts, ends = (evaluate(layer, layer.param.text(key)) for key in (19, 20))
        return _cut(layer, starts, ends, evaluate(layer, layer.param.text(21)))
    starts, ends = layer.param.integers(9), layer.param.integers(10)
    if starts and ends:
        return _cut(layer, starts, ends, layer.param.integers(11))
    # Parameters for c, d, h, w; the last ones are those of the blob's dimensions.
    offsets = _dims(layer, (2, 13, 1, 0), dims)
    sizes = _dims(layer, (5, 14, 4, 3), dims)
    behind = _dims(layer, (8, 15, 7, 6), dims)
    if layer.has(1) and not any((*sizes, *behind)):
        other = spread(layer.x(1).shape)
        sizes = _pick(other, dims)
        if len(layer.x(1).shape) < len(x.shape) and dims > 2:
            sizes[0] = x.shape[1]
    cuts = []
    rows = zip(offsets, sizes, behind, x.shape[1:], strict=True)
    for axis, (offset, size, rest, length) in enumerate(rows, 1):
        end = length - rest if size == NONE else min(offset + size, length - rest)
        if not 0 <= offset < end <= length:
            raise layer.invalid(f"{offset} to {end} is not inside {length}")
        cuts.append((axis, offset, end, 1))
    return movement.sliced(layer, x, cuts)


def _pick(values: tuple[int, ...], dims: int) -> list[int]:
    """Of values for c, d, h, w those that a blob of so many dimensions has."""
    c, d, h, w = values
    return {1: [w], 2: [h, w], 3: [c, h, w]}.get(dims, [c, d, h, w])


def _dims(layer: NcnnLayer, keys: tuple[int, ...], dims: int) -> list[int]:
    values = [layer.param.integer(key, 0) for key in keys]
    return _pick((values[0], values[1], values[2], values[3]), dims)


def _cut(layer: NcnnLayer, starts: list[int], ends: list[int], axes: list[int]) -> Results:
    """As numpy slices, but that an end of 0 is the end of the dimension."""
    axes = axes or list(range(len(starts)))
    if not len(starts) == len(ends) == len(axes):
        raise layer.invalid(f"{len(starts)} starts, {len(ends)} ends, {len(axes)} axes")
    x, cuts = layer.x(), []
    for start, end, axis in zip(starts, ends, axes, strict=True):
        place = layer.blob_axis(axis)
        length = x.shape[place]
        begin = 0 if start == NONE else start + length if start < 0 else start
        stop = length if end == NONE else min(length, end if end > 0 else end + length)
        if not 0 <= begin < stop:
            raise layer.invalid(f"{start} to {end} is not inside {length}")
        cuts.append((place, begin, stop, 1))
    return movement.sliced(layer, x, cuts)


@handles("Flatten")
def flatten(layer: NcnnLayer) -> Results:
    """To one dimension."""
    return movement.flattened(layer, layer.x(), 1)


@handles("Reshape")
def reshape(layer: NcnnLayer) -> Results:
    """0 copies a dimension, -1 takes what is left, -233 drops one."""
    x = layer.x()
    if expression := layer.param.text(6):
        sizes = evaluate(layer, expression)[::-1]
    else:
        w, h, d, c = (layer.param.integer(key, NONE) for key in (0, 1, 11, 2))
        if NONE in (w, h):
            sizes = [] if w == NONE else [w]
        elif c == NONE:
            sizes = [h, w]
        else:
            sizes = [c, h, w] if d == NONE else [c, d, h, w]
    if not 1 <= len(sizes) <= _MOST_DIMS:
        raise layer.invalid(f"it has {len(sizes)} dimensions")
    given = _pick(spread(x.shape), len(sizes))
    shape = [old if size == 0 else size for size, old in zip(sizes, given, strict=True)]
    return layer.reshape(x, (1, *shape))


# Dimensions of the result from the innermost one to the outermost, by parameter and count.
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
    """Dimensions in another order."""
    x, order = layer.x(), layer.param.integer(0, 0)
    dims = len(x.shape) - 1
    if dims == 1 or order == 0:
        return x
    orders = _ORDERS[dims].split()
    if not 0 <= order < len(orders):
        raise layer.invalid(f"there is no order {order} of {dims} dimensions")
    permutation = [_NAMES[dims].index(letter) + 1 for letter in reversed(orders[order])]
    return layer.transpose(x, (0, *permutation))


@handles("Squeeze")
def squeeze(layer: NcnnLayer) -> Results:
    """Drops dimensions that are 1, by axis or by name."""
    x = layer.x()
    dims = len(x.shape) - 1
    axes = [layer.blob_axis(axis) for axis in layer.param.integers(3)]
    if not axes:
        named = _dims(layer, (2, 11, 1, 0), dims)
        axes = [i for i, flag in enumerate(named, 1) if flag]
    shape = movement.without(x.shape, {axis for axis in axes if x.shape[axis] == 1})
    return layer.reshape(x, shape if len(shape) > 1 else (1, 1))


@handles("ExpandDims")
def expand_dims(layer: NcnnLayer) -> Results:
    """New dimensions of 1, at places in the result."""
    axes = layer.param.integers(3)
    rank = len(layer.x().shape) + len(axes)
    if rank - 1 > _MOST_DIMS:
        raise layer.invalid(f"its result has {rank - 1} dimensions")
    return movement.unsqueezed(layer, layer.x(), *(layer.blob_axis(axis, rank) for axis in axes))


@handles("Padding")
def padding(layer: NcnnLayer) -> Results:
    """Height and width, and channels of an image, by a number, the edge or a reflection."""
    x = layer.x()
    dims = len(x.shape) - 1
    top, bottom, left, right = (layer.param.integer(key, 0) for key in range(4))
    kind, value = layer.param.integer(4, 0), layer.param.real(5, 0.0)
    front, behind = layer.param.integer(7, 0), layer.param.integer(8, 0)
    if layer.param.integer(6, 0):
        raise layer.unsupported("it has a number for each channel")
    if not 0 <= kind <= 2:
        raise layer.unsupported(f"its type {kind} is not known")
    if min(top, bottom, left, right, front, behind) < 0:
        raise layer.unsupported("it has negative amounts")
    begins = _pick((front, 0, top, left), dims)
    ends = _pick((behind, 0, bottom, right), dims)
    if dims == _MOST_DIMS and (front or behind):
        raise layer.unsupported("it pads in depth")
    mode = ("constant", "edge", "reflect")[kind]
    amounts = dict(enumerate(zip(begins, ends, strict=True), 1))
    return movement.padded(layer, x, amounts, mode, value)


@handles("Tile")
def tile(layer: NcnnLayer) -> Results:
    """Repeats along one axis, or along the last ones."""
    x = layer.x()
    if given := layer.param.integers(2):
        if len(given) > _MOST_DIMS:
            raise layer.invalid(f"it has {len(given)} repeats")
        lead = [1] * (len(given) - len(x.shape) + 1)
        return movement.tiled(layer, layer.reshape(x, (1, *lead, *x.shape[1:])), given)
    repeats = [1] * len(x.shape)
    repeats[layer.blob_axis(layer.param.integer(0, 0))] = layer.param.integer(1, 1)
    return movement.tiled(layer, x, repeats)


@handles("ShuffleChannel")
def shuffle_channel(layer: NcnnLayer) -> Results:
    """Interleaves groups of channels (ShuffleNet), or undoes it."""
    group, channels = layer.param.integer(0, 1), layer.image().shape[1]
    if group < 1 or channels % group:
        raise layer.invalid(f"{group} groups do not divide {channels} channels")
    group = channels // group if layer.param.integer(1, 0) else group
    return layer.add("channel_shuffle", layer.image(), group=group)


@handles("PixelShuffle")
def pixel_shuffle(layer: NcnnLayer) -> Results:
    """Channels become pixels; the place within a block varies fastest, or slowest."""
    mode = "dcr" if layer.param.integer(1, 0) else "crd"
    factor = layer.param.integer(0, 1)
    return layer.add("depth_to_space", layer.image(), block_size=factor, mode=mode)


@handles("Reorg")
def reorg(layer: NcnnLayer) -> Results:
    """Pixels become channels; the place within a block varies fastest, or slowest."""
    stride = layer.param.integer(0, 1)
    slowest = layer.param.integer(1, 0)
    if stride < 1:
        raise layer.invalid(f"its stride is {stride}")
    if slowest:
        return layer.add("space_to_depth", layer.image(), block_size=stride)
    return movement.pixel_unshuffle(layer, layer.image(), stride)
