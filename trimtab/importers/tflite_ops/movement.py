"""Data movement: reshape, slice, concat, pad and the like, of tensors and constants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from trimtab.importers.tflite_ops.forms import Results, form
from trimtab.importers.tflite_ops.model import DTYPES
from trimtab.importers.tflite_ops.node import TfliteNode, handles
from trimtab.importers.vocabulary import movement, reduction
from trimtab.importers.vocabulary.movement import END, TO_CHANNELS_LAST


@handles("RESHAPE")
def reshape(node: TfliteNode) -> Results:
    """The shape is an input, or an option in old models; -1 takes the remaining elements."""
    if node.has(1):
        return node.reshape(node.operand(), node.ints(1, "shape"))
    options = node.options("ReshapeOptions")
    shape = [options.NewShape(i) for i in range(min(9, options.NewShapeLength()))]
    return node.reshape(node.operand(), shape)


@handles("SQUEEZE")
def squeeze(node: TfliteNode) -> Results:
    """Drops the given axes, or all dimensions of 1."""
    shape, options = node.shape(), node.options("SqueezeOptions")
    axes = [options.SqueezeDims(i) for i in range(min(9, options.SqueezeDimsLength()))]
    if any(shape[node.axis(axis)] != 1 for axis in axes):
        raise node.invalid(f"dimensions {axes} of {list(shape)} are not all 1")
    return movement.squeezed(node, node.operand(), axes)


@handles("EXPAND_DIMS")
def expand_dims(node: TfliteNode) -> Results:
    """Inserts a dimension of 1."""
    (axis,) = node.ints(1, "axis")
    return movement.unsqueezed(node, node.operand(), axis)


@handles("TRANSPOSE")
def transpose(node: TfliteNode) -> Results:
    """Permutes the axes; an image may already have the requested order."""
    order = node.ints(1, "permutation")
    if node.is_image() and max(order, default=0) < 4:
        return node.transpose(node.image(), [TO_CHANNELS_LAST[i] for i in order])
    return node.transpose(node.operand(), order)


@handles("CONCATENATION")
def concatenation(node: TfliteNode) -> Results:
    """Concatenation along an axis; images stay images if all operands can be images."""
    options, rank = node.options("ConcatenationOptions"), len(node.shape())
    axis = node.axis(options.Axis(), rank)
    everything = range(len(node.inputs))
    if all(node.is_known(i) for i in everything):
        return movement.concat(node, node.operands(), axis)
    image = rank == 4 and any(node.is_image(i) for i in everything)
    values = [node.image(i) for i in everything] if image else node.xs()
    y = node.value(movement.concat(node, values, node.place(axis, rank, image)))
    return form(node.activated(y, options.FusedActivationFunction()), image)


@handles("PACK")
def pack(node: TfliteNode) -> Results:
    """Concatenation along a new axis."""
    return movement.stack(node, node.operands(), node.options("PackOptions").Axis())


@handles("UNPACK")
def unpack(node: TfliteNode) -> Results:
    """Splits along an axis into slices of one element, and drops the axis."""
    axis = node.axis(node.options("UnpackOptions").Axis())
    if node.shape()[axis] != len(node.outputs):
        raise node.invalid(f"it has {len(node.outputs)} outputs for {node.shape()[axis]} parts")
    return movement.unstack(node, node.x(), axis)


@handles("SPLIT", "SPLIT_V")
def split(node: TfliteNode) -> Results:
    """Splits into equal parts, or into given sizes, one of which may be -1."""
    equal = node.type == "SPLIT"
    source = 1 if equal else 0
    (axis,) = node.ints(0 if equal else 2, "axis")
    shape, count = node.shape(source), len(node.outputs)
    axis = node.axis(axis, len(shape))
    sizes = movement.equal_parts(node, shape[axis], count) if equal else node.ints(1, "sizes")
    if len(sizes) != count:
        raise node.invalid(f"it has {count} outputs, and {len(sizes)} sizes")
    x, image = node.either(source)
    parts = movement.split(node, x, node.place(axis, len(shape), image), sizes)
    return tuple(form(part, image) for part in parts)


def _sliced(
    node: TfliteNode, starts: Sequence[int], ends: Sequence[int], steps: Sequence[int]
) -> Results:
    """Slices with one bound per axis of the file."""
    rank, image = len(starts), node.is_image()
    x = node.image() if image else node.operand()
    axes = (node.place(a, rank, image) for a in range(rank))
    y = movement.sliced(node, x, zip(axes, starts, ends, steps, strict=True))
    return form(node.value(y), True) if image else y


@handles("SLICE")
def slice_(node: TfliteNode) -> Results:
    """Slices by begin and size; a size of -1 extends to the end."""
    shape, begin, size = node.shape(), node.ints(1, "begin"), node.ints(2, "size")
    if not len(shape) == len(begin) == len(size):
        raise node.invalid(f"its bounds are {list(begin)} and {list(size)}")
    ends = [END if s == -1 else b + s for b, s in zip(begin, size, strict=True)]
    return _sliced(node, begin, ends, (1,) * len(begin))


@handles("STRIDED_SLICE")
def strided_slice(node: TfliteNode) -> Results:
    """Slices with masks for open bounds and for axes to drop."""
    options, shape = node.options("StridedSliceOptions"), node.shape()
    if options.EllipsisMask() or options.NewAxisMask():
        return _indexed(node, options)
    starts, ends, steps = (list(node.ints(i, "bounds")) for i in (1, 2, 3))
    if not len(starts) == len(ends) == len(steps) <= len(shape) or 0 in steps:
        raise node.invalid(f"its bounds are {starts}, {ends}, {steps}")
    for i, step in enumerate(steps):
        if options.ShrinkAxisMask() >> i & 1:
            starts[i], steps[i] = node.axis(starts[i], shape[i]), 1
            ends[i] = starts[i] + 1
            continue
        if options.BeginMask() >> i & 1:
            starts[i] = 0 if step > 0 else END
        if options.EndMask() >> i & 1:
            ends[i] = END if step > 0 else -END
    missing = len(shape) - len(starts)
    starts, ends, steps = starts + [0] * missing, ends + [END] * missing, steps + [1] * missing
    dropped = [i for i in range(len(shape)) if options.ShrinkAxisMask() >> i & 1]
    if not dropped:
        return _sliced(node, starts, ends, steps)
    bounds = zip(range(len(shape)), starts, ends, steps, strict=True)
    y = movement.sliced(node, node.operand(), bounds)
    return node.reshape(y, movement.drop_axes(y.shape, dropped))


def _indexed(node: TfliteNode, options: Any) -> Results:
    """A strided slice with an ellipsis or new axes, as numpy's index would be."""
    rows = zip(*(node.ints(i, "bounds") for i in (1, 2, 3)), strict=True)
    bounds: list[movement.AxisSlice] = []
    dropped: list[int] = []
    added: list[int] = []
    axis = 0
    specifications = list(enumerate(rows))
    for i, (start, end, step) in specifications:
        bit = 1 << i
        if options.EllipsisMask() & bit:
            behind = sum(not options.NewAxisMask() >> j & 1 for j, _ in specifications[i + 1 :])
            axis = max(axis, len(node.shape()) - behind)
        elif options.NewAxisMask() & bit:
            added.append(axis - len(dropped) + len(added))
        elif axis >= len(node.shape()) or step == 0:
            raise node.invalid(f"its bounds do not fit {list(node.shape())}")
        else:
            if options.ShrinkAxisMask() & bit:
                begin = node.axis(start, node.shape()[axis])
                bounds.append((axis, begin, begin + 1, 1))
                dropped.append(axis)
            else:
                first, last = (0, END) if step > 0 else (END, -END)
                begin = first if options.BeginMask() & bit else start
                bounds.append((axis, begin, last if options.EndMask() & bit else end, step))
            axis += 1
    y = movement.sliced(node, node.operand(), bounds)
    y = node.reshape(y, movement.drop_axes(y.shape, dropped))
    return movement.unsqueezed(node, y, *added)


@handles("PAD", "PADV2", "MIRROR_PAD")
def pad(node: TfliteNode) -> Results:
    """Pads by a pair of amounts per axis."""
    rank, amounts = len(node.shape()), node.known(1, "amounts")
    if amounts.shape != (rank, 2):
        raise node.invalid(f"its amounts are {list(amounts.shape)} for {rank} dimensions")
    # Padding of height and width only: a following convolution can absorb it.
    is_border = rank == 4 and not amounts[[0, 3]].any()
    x, image = (node.image(), True) if is_border else node.either()
    pairs = {node.place(axis, rank, image): pair for axis, pair in enumerate(amounts.tolist())}
    value, mode = 0.0, "constant"
    if node.type == "PADV2":
        value = float(node.numbers(2, "value").reshape(()))
    elif node.type == "MIRROR_PAD":
        if node.options("MirrorPadOptions").Mode():
            return form(movement.padded_symmetrically(node, x, pairs), image)
        mode = "reflect"
    return form(movement.padded(node, x, pairs, mode, value), image)


@handles("DILATE")
def dilate(node: TfliteNode) -> Results:
    """A value between the elements along each axis, as often as constant distances say."""
    x, distances = node.x(), node.ints(1, "distances")
    if node.quantization(0):
        raise node.unsupported("its operand is quantized")
    if len(distances) != len(x.shape) or min(distances, default=1) < 1:
        raise node.invalid(f"its distances are {list(distances)} for {len(x.shape)} dimensions")
    value = float(node.numbers(2, "value").reshape(()))
    for axis, distance in enumerate(distances):
        if distance > 1:
            x = movement.dilated(node, x, axis, distance, value)
    return x


@handles("SHAPE")
def shape(node: TfliteNode) -> Results:
    """The shape of the input, a constant."""
    return np.array(node.shape(), np.int32)


@handles("REVERSE_V2")
def reverse(node: TfliteNode) -> Results:
    """The elements along some axes in reverse order."""
    x, rank = node.operand(), len(node.shape())
    axes = [node.axis(axis, rank) for axis in node.ints(1, "axes")]
    return movement.sliced(node, x, [(axis, -1, -END, -1) for axis in axes])


@handles("CUMSUM")
def cumulative(node: TfliteNode) -> Results:
    """Sums along an axis up to each element, or from it on."""
    options, (axis,) = node.options("CumsumOptions"), node.ints(1, "axis")
    kinds = {"reverse": bool(options.Reverse()), "exclusive": bool(options.Exclusive())}
    return reduction.cumulative(node, "add", node.x(), node.axis(axis), **kinds)


@handles("TILE", "BROADCAST_TO")
def repeat(node: TfliteNode) -> Results:
    """Repeats the input along its axes, or broadcasts it to a shape."""
    sizes = node.ints(1, "shape")
    if node.type == "BROADCAST_TO":
        return movement.expanded(node, node.operand(), sizes)
    if len(sizes) != len(node.shape()):
        raise node.invalid(f"{list(sizes)} does not fit {list(node.shape())}")
    return movement.tiled(node, node.operand(), sizes)


@handles("FILL")
def fill(node: TfliteNode) -> Results:
    """A constant of one value."""
    dims, value = node.ints(0, "shape"), node.known(1, "value")
    node.check_elements(dims, value.itemsize)
    return np.full(dims, value.reshape(()), value.dtype)


@handles("RANGE")
def range_(node: TfliteNode) -> Results:
    """The constant sequence from start to limit with a step."""
    start, limit, delta = (node.known(i, "bounds").reshape(-1)[0] for i in range(3))
    if delta == 0:
        raise node.invalid("its step is 0")
    node.check_elements([max(0, math.ceil((limit - start) / delta))], start.itemsize)
    return np.arange(start, limit, delta, dtype=start.dtype)


@handles("QUANTIZE", "DEQUANTIZE")
def quantize(node: TfliteNode) -> Results:
    """The input itself: the tensors of the file carry their quantization. Constants may be float16
    or quantized.
    """
    if node.is_known(0):
        return node.numbers(0, "input").astype(np.float32)
    x, image = node.either()
    if x.dtype != "f32":
        raise node.invalid(f"its input is {x.dtype} without a scale")
    return form(x, image)


@handles("CAST", "BITCAST")
def cast(node: TfliteNode) -> Results:
    """Conversion to the element type of the output, or its bits as that type (BITCAST)."""
    code, is_bits = DTYPES.get(node.output_type()), node.type == "BITCAST"
    convert = movement.bit_cast if is_bits else movement.cast
    if code is None:
        raise node.unsupported(f"it casts to type number {node.output_type()}")
    if node.is_known(0):
        return convert(node, node.operand(), code)
    if is_bits and node.quantization(0):
        raise node.unsupported("its operand is quantized")
    x, image = node.either()
    return form(node.value(convert(node, x, code)), image)


@handles("DENSIFY")
def densify(node: TfliteNode) -> Results:
    """A sparse constant as a dense one."""
    return node.known(0, "operand")
