"""Operators that move, cut or join elements: of tensors, and of shapes that are known already."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trimtab.importers._layers import Value
from trimtab.importers._nodes import Operand
from trimtab.importers.tflite_ops.model import DTYPES
from trimtab.importers.tflite_ops.node import (
    TO_CHANNELS_LAST,
    Node,
    Results,
    form,
    handles,
)

# Slice bounds mean "to the very end" long before they need 64 bits.
FAR = 2**31 - 1


def _viewed(node: Node, wanted: Sequence[int]) -> Results:
    x = node.operand()
    shape = node.fitted_shape(x.shape, wanted)
    return x.reshape(shape) if isinstance(x, np.ndarray) else node.reshape(x, shape)


@handles("RESHAPE")
def reshape(node: Node) -> Results:
    """The shape is an input, or an option of old models; -1 takes what is left."""
    if node.has(1):
        return _viewed(node, node.ints(1, "shape"))
    options = node.options("ReshapeOptions")
    return _viewed(node, [options.NewShape(i) for i in range(min(9, options.NewShapeLength()))])


@handles("SQUEEZE")
def squeeze(node: Node) -> Results:
    """Drops the given dimensions, or all that are 1."""
    shape, options = node.shape(), node.options("SqueezeOptions")
    given = [options.SqueezeDims(i) for i in range(min(9, options.SqueezeDimsLength()))]
    axes = {node.axis(a, len(shape)) for a in given} or {i for i, n in enumerate(shape) if n == 1}
    if any(shape[a] != 1 for a in axes):
        raise node.invalid(f"dimensions {sorted(axes)} of {list(shape)} are not all 1")
    return _viewed(node, [n for i, n in enumerate(shape) if i not in axes])


@handles("EXPAND_DIMS")
def expand_dims(node: Node) -> Results:
    """Adds a dimension of 1."""
    shape = list(node.shape())
    (axis,) = node.ints(1, "axis")
    shape.insert(node.axis(axis, len(shape) + 1), 1)
    return _viewed(node, shape)


@handles("TRANSPOSE")
def transpose(node: Node) -> Results:
    """A permutation; an image may get the order that it has already."""
    order = node.ints(1, "permutation")
    if sorted(order) != list(range(len(node.shape()))):
        raise node.invalid(f"{list(order)} is no permutation of {len(node.shape())} dimensions")
    if node.is_image():
        return node.transpose(node.image(), [TO_CHANNELS_LAST[i] for i in order])
    x = node.operand()
    return x.transpose(order) if isinstance(x, np.ndarray) else node.transpose(x, order)


@handles("CONCATENATION")
def concatenation(node: Node) -> Results:
    """Along an axis; images stay images if all can be."""
    options, rank = node.options("ConcatenationOptions"), len(node.shape())
    axis = node.axis(options.Axis(), rank)
    everything = range(node.input_count)
    if all(node.is_known(i) for i in everything):
        return np.concatenate([node.known(i, "operand") for i in everything], axis)
    image = rank == 4 and any(node.is_image(i) for i in everything)
    values = [node.image(i) if image else node.x(i) for i in everything]
    y = values[0]
    if len(values) > 1:
        y = node.add("concat", *values, axis=node.place(axis, rank, image))
    return form(node.activated(y, options.FusedActivationFunction()), image)


@handles("PACK")
def pack(node: Node) -> Results:
    """Joins along a new axis."""
    shape = node.shape()
    axis = node.axis(node.options("PackOptions").Axis(), len(shape) + 1)
    everything = range(node.input_count)
    if all(node.is_known(i) for i in everything):
        return np.stack([node.known(i, "operand") for i in everything], axis)
    wider = (*shape[:axis], 1, *shape[axis:])
    values = [node.reshape(node.x(i), wider) for i in everything]
    return values[0] if len(values) == 1 else node.add("concat", *values, axis=axis)


@handles("UNPACK")
def unpack(node: Node) -> Results:
    """Cuts into parts of one, without their dimension."""
    x = node.x()
    axis = node.axis(node.options("UnpackOptions").Axis(), len(x.shape))
    if x.shape[axis] != node.output_count:
        raise node.invalid(f"it has {node.output_count} outputs for {x.shape[axis]} parts")
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    return [node.reshape(part, shape) for part in _cut(node, x, axis, (1,) * node.output_count)]


def _cut(node: Node, x: Value, axis: int, sizes: Sequence[int]) -> tuple[Value, ...]:
    if len(sizes) == 1:
        return (x,)
    return node.add_many("split", x, outputs=len(sizes), axis=axis, sizes=tuple(sizes))


@handles("SPLIT", "SPLIT_V")
def split(node: Node) -> Results:
    """Into equal parts, or parts of given sizes, of which one may be -1."""
    equal = node.type == "SPLIT"
    source = 1 if equal else 0
    (axis,) = node.ints(0 if equal else 2, "axis")
    shape, count = node.shape(source), node.output_count
    axis = node.axis(axis, len(shape))
    if equal:
        if count < 1 or shape[axis] % count:
            raise node.invalid(f"{shape[axis]} cannot be cut into {count} equal parts")
        sizes = [shape[axis] // count] * count
    else:
        sizes = list(node.ints(1, "sizes"))
        if sizes.count(-1) == 1:
            sizes[sizes.index(-1)] = shape[axis] - sum(sizes) - 1
        if len(sizes) != count:
            raise node.invalid(f"it has {count} outputs, and {len(sizes)} sizes")
    x, image = node.either(source)
    return [form(p, image) for p in _cut(node, x, node.place(axis, len(shape), image), sizes)]


def _sliced(
    node: Node, starts: Sequence[int], ends: Sequence[int], steps: Sequence[int]
) -> Results:
    """One bound for every dimension of the file."""
    x, image = node.either()
    rank = len(starts)
    y = node.add(
        "slice",
        x,
        starts=tuple(max(-FAR, min(FAR, v)) for v in starts),
        ends=tuple(max(-FAR, min(FAR, v)) for v in ends),
        axes=tuple(node.place(a, rank, image) for a in range(rank)),
        steps=tuple(max(-FAR, min(FAR, v)) for v in steps),
    )
    return form(y, image)


@handles("SLICE")
def slice_(node: Node) -> Results:
    """Begin and size; -1: to the end."""
    shape, begin, size = node.shape(), node.ints(1, "begin"), node.ints(2, "size")
    if not len(shape) == len(begin) == len(size):
        raise node.invalid(f"its bounds are {list(begin)} and {list(size)}")
    ends = [FAR if s == -1 else b + s for b, s in zip(begin, size, strict=True)]
    if node.is_known(0):
        places = tuple(slice(b, e) for b, e in zip(begin, ends, strict=True))
        return node.known(0, "input")[places]
    return _sliced(node, begin, ends, (1,) * len(begin))


@handles("STRIDED_SLICE")
def strided_slice(node: Node) -> Results:
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
    if node.is_known(0):
        bounds = zip(starts, ends, steps, strict=True)
        cut = node.known(0, "input")[
            tuple(slice(b, None if s < 0 and e < -FAR + 1 else e, s) for b, e, s in bounds)
        ]
        return cut.reshape([n for i, n in enumerate(cut.shape) if i not in dropped])
    if not dropped:
        return _sliced(node, starts, ends, steps)
    y = node.add(
        "slice", node.x(), starts=starts, ends=ends, axes=tuple(range(len(shape))), steps=steps
    )
    return node.reshape(y, [n for i, n in enumerate(y.shape) if i not in dropped])


@handles("PAD", "PADV2", "MIRROR_PAD")
def pad(node: Node) -> Results:
    """Pairs of amounts for every dimension."""
    x, image = node.either()
    rank, amounts = len(x.shape), node.known(1, "amounts")
    if amounts.shape != (rank, 2):
        raise node.invalid(f"its amounts are {list(amounts.shape)} for {rank} dimensions")
    pads = [0] * (2 * rank)
    for axis, (begin, end) in enumerate(amounts.tolist()):
        place = node.place(axis, rank, image)
        pads[place], pads[rank + place] = begin, end
    value, mode = 0.0, "constant"
    if node.type == "PADV2":
        value = float(node.known(2, "value").reshape(()))
    elif node.type == "MIRROR_PAD":
        if node.options("MirrorPadOptions").Mode():
            raise node.unsupported("it repeats the border (symmetric)")
        mode = "reflect"
    return form(node.add("pad", x, pads=pads, mode=mode, value=value), image)


@handles("SHAPE")
def shape(node: Node) -> Results:
    """Known, as all shapes are."""
    return np.array(node.shape(), np.int32)


@handles("GATHER")
def gather(node: Node) -> Results:
    """Along an axis, at indices of any shape."""
    options = node.options("GatherOptions")
    if options.BatchDims():
        raise node.unsupported("it gathers by batch")
    axis = node.axis(options.Axis(), len(node.shape()))
    if node.is_known(0) and node.is_known(1):
        return node.known(0, "input").take(node.known(1, "indices"), axis)
    return node.add("gather", node.x(0), node.x(1), axis=axis)


@handles("TILE", "BROADCAST_TO")
def repeat(node: Node) -> Results:
    """Repeats dimensions, or broadcasts to a shape."""
    wanted = node.ints(1, "shape")
    x: Operand = node.operand()
    if node.type == "TILE":
        if len(wanted) != len(x.shape):
            raise node.invalid(f"{list(wanted)} does not fit {list(x.shape)}")
        if isinstance(x, np.ndarray):
            node.check_elements([n * c for n, c in zip(x.shape, wanted, strict=True)])
            return np.tile(x, wanted)
        return node.add("tile", x, repeats=wanted)
    if isinstance(x, np.ndarray):
        node.check_elements(wanted)
        return np.ascontiguousarray(np.broadcast_to(x, wanted))
    return x if wanted == x.shape else node.add("expand", x, shape=wanted)


@handles("FILL")
def fill(node: Node) -> Results:
    """One value in a shape."""
    dims, value = node.ints(0, "shape"), node.known(1, "value")
    node.check_elements(dims)
    return np.full(dims, value.reshape(()), value.dtype)


@handles("RANGE")
def range_(node: Node) -> Results:
    """From start to limit, by a step."""
    start, limit, delta = (node.known(i, "bounds").reshape(-1)[0] for i in range(3))
    if delta == 0:
        raise node.invalid("its step is 0")
    node.check_elements([max(0, math.ceil((limit - start) / delta))])
    return np.arange(start, limit, delta, dtype=start.dtype)


@handles("DEQUANTIZE")
def dequantize(node: Node) -> Results:
    """Weights that are stored as float16 or as integers."""
    if not node.is_known(0):
        raise node.unsupported("its input is computed: the model computes with integers")
    return node.dequantized()


@handles("CAST")
def cast(node: Node) -> Results:
    """To the type of the output."""
    code = DTYPES.get(node.output_type())
    names = {"<f4": "f32", "<f2": "f16", "<i4": "i32", "<i8": "i64", "u1": "u8", "i1": "i8"}
    if code is None:
        raise node.unsupported(f"it casts to type number {node.output_type()}")
    if node.is_known(0):
        return node.known(0, "input").astype(code)
    to = {**names, "?": "bool"}.get(code)
    if to is None:
        raise node.unsupported(f"it casts to {np.dtype(code).name}")
    x, image = node.either()
    return form(x if x.dtype == to else node.add("cast", x, to=to), image)
