"""Operators that move, cut or join elements: of tensors, and of shapes that are known already."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trimtab.importers.tflite_ops.forms import Results, form
from trimtab.importers.tflite_ops.model import DTYPES
from trimtab.importers.tflite_ops.node import TfliteNode, handles
from trimtab.importers.vocabulary import movement
from trimtab.importers.vocabulary.movement import FAR, TO_CHANNELS_LAST


@handles("RESHAPE")
def reshape(node: TfliteNode) -> Results:
    """The shape is an input, or an option of old models; -1 takes what is left."""
    if node.has(1):
        return node.reshape(node.operand(), node.ints(1, "shape"))
    options = node.options("ReshapeOptions")
    wanted = [options.NewShape(i) for i in range(min(9, options.NewShapeLength()))]
    return node.reshape(node.operand(), wanted)


@handles("SQUEEZE")
def squeeze(node: TfliteNode) -> Results:
    """Drops the given dimensions, or all that are 1."""
    shape, options = node.shape(), node.options("SqueezeOptions")
    given = [options.SqueezeDims(i) for i in range(min(9, options.SqueezeDimsLength()))]
    if any(shape[node.axis(axis)] != 1 for axis in given):
        raise node.invalid(f"dimensions {given} of {list(shape)} are not all 1")
    return movement.squeezed(node, node.operand(), given)


@handles("EXPAND_DIMS")
def expand_dims(node: TfliteNode) -> Results:
    """Adds a dimension of 1."""
    (axis,) = node.ints(1, "axis")
    return movement.unsqueezed(node, node.operand(), axis)


@handles("TRANSPOSE")
def transpose(node: TfliteNode) -> Results:
    """A permutation; an image may get the order that it has already."""
    order = node.ints(1, "permutation")
    if node.is_image() and max(order, default=0) < 4:
        return node.transpose(node.image(), [TO_CHANNELS_LAST[i] for i in order])
    return node.transpose(node.operand(), order)


@handles("CONCATENATION")
def concatenation(node: TfliteNode) -> Results:
    """Along an axis; images stay images if all can be."""
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
    """Joins along a new axis."""
    return movement.stack(node, node.operands(), node.options("PackOptions").Axis())


@handles("UNPACK")
def unpack(node: TfliteNode) -> Results:
    """Cuts into parts of one, without their dimension."""
    axis = node.axis(node.options("UnpackOptions").Axis())
    if node.shape()[axis] != len(node.outputs):
        raise node.invalid(f"it has {len(node.outputs)} outputs for {node.shape()[axis]} parts")
    return movement.unstack(node, node.x(), axis)


@handles("SPLIT", "SPLIT_V")
def split(node: TfliteNode) -> Results:
    """Into equal parts, or parts of given sizes, of which one may be -1."""
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
    """One bound for every dimension of the file."""
    rank, image = len(starts), node.is_image()
    x = node.image() if image else node.operand()
    axes = (node.place(a, rank, image) for a in range(rank))
    y = movement.sliced(node, x, zip(axes, starts, ends, steps, strict=True))
    return form(node.value(y), True) if image else y


@handles("SLICE")
def slice_(node: TfliteNode) -> Results:
    """Begin and size; -1: to the end."""
    shape, begin, size = node.shape(), node.ints(1, "begin"), node.ints(2, "size")
    if not len(shape) == len(begin) == len(size):
        raise node.invalid(f"its bounds are {list(begin)} and {list(size)}")
    ends = [FAR if s == -1 else b + s for b, s in zip(begin, size, strict=True)]
    return _sliced(node, begin, ends, (1,) * len(begin))


@handles("STRIDED_SLICE")
def strided_slice(node: TfliteNode) -> Results:
    """Bounds with masks: open ends, dimensions that are taken at one place and dropped."""
    options, shape = node.options("StridedSliceOptions"), node.shape()
    if options.EllipsisMask() or options.NewAxisMask():
        raise node.unsupported("it has an ellipsis or a new axis")
    starts, ends, steps = (list(node.ints(i, "bounds")) for i in (1, 2, 3))
    if not len(starts) == len(ends) == len(steps) <= len(shape) or 0 in steps:
        raise node.invalid(f"its bounds are {starts}, {ends}, {steps}")
    for i, step in enumerate(steps):
        if options.ShrinkAxisMask() >> i & 1:
            starts[i], steps[i] = node.axis(starts[i], shape[i]), 1
            ends[i] = starts[i] + 1
            continue
        if options.BeginMask() >> i & 1:
            starts[i] = 0 if step > 0 else FAR
        if options.EndMask() >> i & 1:
            ends[i] = FAR if step > 0 else -FAR
    missing = len(shape) - len(starts)
    starts, ends, steps = starts + [0] * missing, ends + [FAR] * missing, steps + [1] * missing
    dropped = [i for i in range(len(shape)) if options.ShrinkAxisMask() >> i & 1]
    if not dropped:
        return _sliced(node, starts, ends, steps)
    bounds = zip(range(len(shape)), starts, ends, steps, strict=True)
    y = movement.sliced(node, node.operand(), bounds)
    return node.reshape(y, movement.without(y.shape, dropped))


@handles("PAD", "PADV2", "MIRROR_PAD")
def pad(node: TfliteNode) -> Results:
    """Pairs of amounts for every dimension."""
    rank, amounts = len(node.shape()), node.known(1, "amounts")
    if amounts.shape != (rank, 2):
        raise node.invalid(f"its amounts are {list(amounts.shape)} for {rank} dimensions")
    # Rows and columns are those of an image: convolutions that follow pad for themselves.
    is_border = rank == 4 and not amounts[[0, 3]].any()
    x, image = (node.image(), True) if is_border else node.either()
    pairs = {node.place(axis, rank, image): pair for axis, pair in enumerate(amounts.tolist())}
    value, mode = 0.0, "constant"
    if node.type == "PADV2":
        value = float(node.numbers(2, "value").reshape(()))
    elif node.type == "MIRROR_PAD":
        if node.options("MirrorPadOptions").Mode():
            raise node.unsupported("it repeats the border (symmetric)")
        mode = "reflect"
    return form(movement.padded(node, x, pairs, mode, value), image)


@handles("SHAPE")
def shape(node: TfliteNode) -> Results:
    """Known, as all shapes are."""
    return np.array(node.shape(), np.int32)


@handles("GATHER")
def gather(node: TfliteNode) -> Results:
    """Along an axis, at indices of any shape."""
    options = node.options("GatherOptions")
    if options.BatchDims():
        raise node.unsupported("it gathers by batch")
    return movement.gathered(node, node.operand(0), node.operand(1), options.Axis())


@handles("TILE", "BROADCAST_TO")
def repeat(node: TfliteNode) -> Results:
    """Repeats dimensions, or broadcasts to a shape."""
    wanted = node.ints(1, "shape")
    if node.type == "BROADCAST_TO":
        return movement.expanded(node, node.operand(), wanted)
    if len(wanted) != len(node.shape()):
        raise node.invalid(f"{list(wanted)} does not fit {list(node.shape())}")
    return movement.tiled(node, node.operand(), wanted)


@handles("FILL")
def fill(node: TfliteNode) -> Results:
    """One value in a shape."""
    dims, value = node.ints(0, "shape"), node.known(1, "value")
    node.check_elements(dims)
    return np.full(dims, value.reshape(()), value.dtype)


@handles("RANGE")
def range_(node: TfliteNode) -> Results:
    """From start to limit, by a step."""
    start, limit, delta = (node.known(i, "bounds").reshape(-1)[0] for i in range(3))
    if delta == 0:
        raise node.invalid("its step is 0")
    node.check_elements([max(0, math.ceil((limit - start) / delta))])
    return np.arange(start, limit, delta, dtype=start.dtype)


@handles("QUANTIZE", "DEQUANTIZE")
def quantize(node: TfliteNode) -> Results:
    """The same real numbers: what integers of a tensor stand for says the tensor. Constants may be
    float16 or integers.
    """
    if node.is_known(0):
        return node.numbers(0, "input").astype(np.float32)
    x, image = node.either()
    if x.dtype != "f32":
        raise node.invalid(f"its input is {x.dtype} without a scale")
    return form(x, image)


@handles("CAST")
def cast(node: TfliteNode) -> Results:
    """To the type of the output."""
    code = DTYPES.get(node.output_type())
    if code is None:
        raise node.unsupported(f"it casts to type number {node.output_type()}")
    if node.is_known(0):
        return movement.cast(node, node.operand(), code)
    x, image = node.either()
    return form(node.value(movement.cast(node, x, code)), image)
