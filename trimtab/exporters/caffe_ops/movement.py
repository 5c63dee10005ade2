"""Operators that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from trimtab.exporters._layers import Results
from trimtab.exporters.caffe_ops.convolution import convolution
from trimtab.exporters.caffe_ops.graph import CaffeOp, emits


@emits("concat")
def concat(op: CaffeOp) -> str:
    """Concat along an axis."""
    axis = op.axis(op["axis"])
    return op.add("Concat", op.xs(), {"axis": axis} if axis != 1 else None)


def _parts(op: CaffeOp, x: str, axis: int, sizes: Sequence[int]) -> tuple[str, ...]:
    """Adds a Slice into parts of these sizes."""
    points = list(accumulate(sizes))[:-1]
    return op.add_many("Slice", x, len(sizes), {"axis": axis, "slice_point": points})


@emits("split")
def split(op: CaffeOp) -> Results:
    """Slice."""
    return _parts(op, op.x(), op.axis(op["axis"]), op["sizes"])


@emits("slice")
def sliced(op: CaffeOp) -> str:
    """Slice along each axis."""
    x, shape = op.x(), op.shape()
    steps = op["steps"] or [1] * len(op["axes"])
    for axis, *bounds in zip(op["axes"], op["starts"], op["ends"], steps, strict=True):
        start, end, step = slice(*bounds).indices(shape[axis])
        if step != 1:
            raise op.refusal(f"its step is {step}")
        sizes = [start, end - start, shape[axis] - end]
        if sizes[1] == shape[axis]:
            continue
        x = _parts(op, x, op.axis(axis), [n for n in sizes if n])[int(start > 0)]
    return x


@emits("reshape")
def reshape(op: CaffeOp) -> str:
    """Reshape."""
    op["shape"]
    return op.reshape(op.x(), op.result.shape, op.shape())


@emits("transpose")
def transpose(op: CaffeOp) -> str:
    """Permute."""
    return op.permute(op.x(), op["permutation"])


@emits("pad")
def pad(op: CaffeOp) -> str:
    """Padding of rows and columns."""
    op.image()
    pads, mode = op["pads"], op["mode"]
    if any(pads[i] for i in (0, 1, 4, 5)) or min(pads) < 0 or mode != "constant":
        raise op.refusal(f"its pads are {list(pads)}, its mode is {mode}")
    return padded(op, op.x(), [*pads[2:4], *pads[6:]], op["value"])


def padded(op: CaffeOp, x: str, pads: Sequence[int], value: float) -> str:
    """Pads an image by a depthwise convolution that changes nothing else."""
    channels, ones = op.shape()[1], np.ones((op.shape()[1], 1, 1, 1), np.float32)
    y = convolution(op, op.power(x, shift=-value), ones, None, (1, 1), pads, (1, 1), channels)
    return op.power(y, shift=value)


@emits("tile", "expand")
def tile(op: CaffeOp) -> str:
    """Tile along each axis, after a Reshape to the rank of the result."""
    op["repeats" if op.op.type == "tile" else "shape"]
    x, shape, result = op.x(), op.shape(), op.result.shape
    spread = (*[1] * (len(result) - len(shape)), *shape)
    x = x if spread == shape else op.reshape(x, spread)
    for axis, (n, m) in enumerate(zip(spread, result, strict=True)):
        if n != m:
            x = op.add("Tile", x, {"axis": axis, "tiles": m // n})
    return x


@emits("channel_shuffle")
def channel_shuffle(op: CaffeOp) -> Results:
    """ShuffleChannel, and a Slice into its parts."""
    op.image()
    y = op.add("ShuffleChannel", op.x(), {"group": op["group"]})
    return y if len(op.results) == 1 else _parts(op, y, 1, [part.shape[1] for part in op.results])


@emits("depth_to_space")
def depth_to_space(op: CaffeOp) -> str:
    """A Permute between two Reshapes: the blocks become dimensions."""
    n, c, h, w = op.image()
    b = op["block_size"]
    if op["mode"] == "dcr":
        shape, order = (n, b, b, c // b**2, h, w), (0, 3, 4, 1, 5, 2)
    else:
        shape, order = (n, c // b**2, b, b, h, w), (0, 1, 4, 2, 5, 3)
    return op.reshape(op.permute(op.reshape(op.x(), shape), order), op.result.shape)


@emits("space_to_depth")
def space_to_depth(op: CaffeOp) -> str:
    """A Permute between two Reshapes: the blocks become dimensions."""
    n, c, h, w = op.image()
    b = op["block_size"]
    blocks = op.reshape(op.x(), (n, c, h // b, b, w // b, b))
    return op.reshape(op.permute(blocks, (0, 3, 5, 1, 2, 4)), op.result.shape)
