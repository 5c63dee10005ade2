"""Operators that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from trimtab.exporters._layers import Results
from trimtab.exporters.ncnn_ops.graph import NONE, NcnnOp, emits
from trimtab.importers.ncnn_ops.movement import orders
from trimtab.importers.ncnn_ops.spec import PARAMETERS

_MODES = PARAMETERS["Padding"]["type"].values


@emits("concat")
def concat(op: NcnnOp) -> str:
    """Concat along an axis."""
    return op.add("Concat", op.xs(), {"axis": op.axis(op["axis"])})


@emits("split")
def split(op: NcnnOp) -> Results:
    """Slice by sizes; or a Crop for each part that is used, if there are others, which would become
    outputs of the network.
    """
    sizes, axis, count = list(op["sizes"]), op.axis(op["axis"]), len(op.results)
    if all(map(op.is_used, range(count))):
        return op.add_many("Slice", op.x(), count, {"slices": sizes, "axis": axis})
    ends = list(accumulate(sizes))
    return tuple(
        _crop(op, [end - size], [end], [axis]) if op.is_used(i) else ""
        for i, (size, end) in enumerate(zip(sizes, ends, strict=True))
    )


@emits("slice")
def crop(op: NcnnOp) -> str:
    """Crop by starts and ends."""
    starts, ends, axes, shape = [], [], [], op.shape()
    steps = op["steps"] or [1] * len(op["axes"])
    for axis, *bounds in zip(op["axes"], op["starts"], op["ends"], steps, strict=True):
        start, end, step = slice(*bounds).indices(shape[axis])
        if step != 1:
            raise op.refusal(f"its step is {step}")
        if (start, end) != (0, shape[axis]):
            starts.append(start)
            ends.append(NONE if end == shape[axis] else end)
            axes.append(op.axis(axis))
    return _crop(op, starts, ends, axes) if axes else op.x()


def _crop(op: NcnnOp, starts: list[int], ends: list[int], axes: list[int]) -> str:
    return op.add("Crop", op.x(), {"starts": starts, "ends": ends, "axes": axes})


@emits("reshape")
def reshape(op: NcnnOp) -> str:
    """Reshape."""
    op["shape"]
    return op.reshape(op.x(), op.result.shape)


@emits("transpose")
def transpose(op: NcnnOp) -> str:
    """Permute; a blob has up to four dimensions."""
    permutation = tuple(op["permutation"])
    if permutation == tuple(range(len(permutation))):
        return op.x()
    permutations = orders(len(permutation) - 1)
    if permutation not in permutations:
        raise op.refusal(f"its permutation is {list(permutation)}, which moves the batch")
    return op.add("Permute", op.x(), {"order_type": permutations.index(permutation)})


@emits("pad")
def pad(op: NcnnOp) -> str:
    """Padding of channels, rows and columns."""
    return padded(op, op.x(), op["pads"], op["mode"], op["value"])


def padded(op: NcnnOp, x: str, pads: Sequence[int], mode: str, value: float) -> str:
    """Pads the blob `x` by amounts at the beginning of each dimension, then at the end."""
    rank = len(pads) // 2
    begins, ends = pads[:rank], pads[rank:]
    if rank > 4 or begins[0] or ends[0] or min(pads) < 0 or mode not in _MODES:
        raise op.refusal(f"its pads are {list(pads)}, its mode is {mode}")
    # Absent leading dimensions have no padding.
    front, top, left = [*[0] * (4 - rank), *begins[1:]]
    back, bottom, right = [*[0] * (4 - rank), *ends[1:]]
    params = {"top": top, "bottom": bottom, "left": left, "right": right}
    kind = {"type": mode, "value": float(value)}
    return op.add("Padding", x, params | kind | {"front": front, "behind": back})


@emits("tile", "expand")
def tile(op: NcnnOp) -> str:
    """Tile along every axis, after a Reshape to the rank of the result."""
    op["repeats" if op.op.type == "tile" else "shape"]
    shape, result = op.shape(), op.result.shape
    spread = (*[1] * (len(result) - len(shape)), *shape)
    x = op.x() if spread == shape else op.reshape(op.x(), spread)
    repeats = [n // old for n, old in zip(result, spread, strict=True)]
    if repeats[0] != 1:
        raise op.refusal("it repeats the batch, which ncnn lacks")
    return op.add("Tile", x, {"repeats": repeats[1:]})


@emits("channel_shuffle")
def channel_shuffle(op: NcnnOp) -> Results:
    """ShuffleChannel, and a Slice into its parts."""
    op.image()
    y = op.add("ShuffleChannel", op.x(), {"group": op["group"]})
    if len(op.results) == 1:
        return y
    sizes = [part.shape[1] for part in op.results]
    return op.add_many("Slice", y, len(sizes), {"slices": sizes, "axis": 0})


@emits("depth_to_space")
def depth_to_space(op: NcnnOp) -> str:
    """PixelShuffle."""
    op.image()
    params = {"upscale_factor": op["block_size"], "mode": int(op["mode"] == "dcr")}
    return op.add("PixelShuffle", op.x(), params)


@emits("space_to_depth")
def space_to_depth(op: NcnnOp) -> str:
    """Reorg with the position in a block as the outer index."""
    op.image()
    return op.add("Reorg", op.x(), {"stride": op["block_size"], "mode": 1})


@emits("grid_sample")
def grid_sample(op: NcnnOp) -> str:
    """GridSample."""
    op.image()
    mode, padding = op["mode"], op["padding"]
    if padding == "reflection":
        raise op.refusal("its padding is a reflection, which ncnn computes for near places only")
    params = {"sample_type": mode, "padding_mode": padding}
    return op.add("GridSample", op.xs(), params | {"align_corner": int(op["align_corners"])})
