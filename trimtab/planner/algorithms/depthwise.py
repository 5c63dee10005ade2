"""Depthwise convolution: every channel by itself, without a sum over channels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.planner import blocking
from trimtab.planner.algorithms import derived_op
from trimtab.planner.cost import Work
from trimtab.planner.kernel_calls import KernelCall, window_sizes
from trimtab.planner.packing import Array, Form, Packing, gemm
from trimtab.program import Op, Program, Var
from trimtab.schema import Attribute
from trimtab.target import Target

_OPERATOR = "conv_depthwise"
_ROWS = 2  # output rows per kernel call: the input rows that both need are loaded once


class Depthwise:
    """A window slides over vectors of channels."""

    name = "depthwise"
    dtypes = ("f32", "f16")
    channel_invariant = True

    def lower(self, program: Program, op: Op, target: Target) -> Op | None:
        """Applicable to convolutions with one output channel per input channel."""
        if op.type != "conv":
            return None
        c_in, c_out = program.vars[op.inputs[0]].shape[1], program.vars[op.inputs[1]].shape[0]
        return derived_op(op, _OPERATOR) if op.attributes["group"] == c_in == c_out else None

    def computes(self, op: Op) -> bool:
        """The algorithm has its own operator type."""
        return op.type == _OPERATOR

    def fits(self, program: Program, op: Op, attribute: Attribute, kernel: Kernel) -> bool:
        """Any kernel whose tiles the channels fill well enough."""
        return fills(program.vars[op.inputs[1]].shape[0], kernel)

    def work(self, program: Program, op: Op, kernel: Kernel, target: Target) -> Work:
        """Every tap of every output, with the last channel tile padded."""
        w, y = program.vars[op.inputs[1]], program.vars[op.outputs[0]]
        channels = y.shape[1]
        pixels, taps = y.count // channels, math.prod(w.shape[2:])
        tiles = pixels * _padded(channels, kernel) // kernel.packing[1]
        padded = operations(kernel, pixels, channels, taps)
        return Work(padded, w.bytes, padded=padded, macs=y.count * taps, tiles=tiles)

    def block_sizes(self, program: Program, op: Op, target: Target) -> dict[str, int | bool]:
        """Two rows per call if they share taps, and pieces of lines."""
        window, width = program.vars[op.inputs[1]].shape[2:], program.vars[op.outputs[0]].shape[3]
        count = rows(op, window)
        return {"rows": count, "pixels": blocking.pixels(target, op, window, width, count)}

    def packings(self, program: Program, op: Op) -> dict[int, Packing]:
        """Weights in channel tiles; the bias is not packed."""
        w = program.vars[op.inputs[1]]
        return {1: packing(w, kernels.kernel(op.attributes["kernel"]).packing[1])}

    def kernel_calls(self, program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]:
        """One call for the whole operator."""
        x, w, y = (program.vars[name] for name in (*op.inputs[:2], op.outputs[0]))
        window, stride = w.shape[2:], op.attributes["strides"][0]
        yield (
            "kernel",
            KernelCall.of(
                "DepthwiseArgs",
                x.dtype,
                2 * y.count * math.prod(window),
                x.count + y.count,
                **window_sizes(y.shape, window, stride),
                rows=rows(op, window),
            ),
            1,
        )


def fills(channels: int, kernel: Kernel) -> bool:
    """Whether the tiles of a kernel that is scheduled for one core waste at most half of the work
    on padding. The other kernels of the instruction set have narrower tiles and fit any number.
    """
    return not kernels.isas()[kernel.isa].cores or _padded(channels, kernel) * 2 <= channels * 3


def _padded(channels: int, kernel: Kernel) -> int:
    return -(-channels // kernel.packing[1]) * kernel.packing[1]


def operations(kernel: Kernel, pixels: int, channels: int, taps: int) -> int:
    """Multiply-adds of one lane for `pixels` outputs of `channels` channels."""
    return pixels * _padded(channels, kernel) * taps


def rows(op: Op, window: Sequence[int]) -> int:
    """Output rows per kernel call."""
    shared = op.attributes["dilations"][0] == 1 and op.attributes["strides"][0] <= window[0]
    return _ROWS if shared else 1


def packing(w: Var, nr: int) -> Packing:
    """The packing of weights in tiles of `nr` channels. The file always holds packed tiles, also if
    the last one overlaps another: depthwise weights are small.
    """
    tiles, at_load = Form(("depthwise", nr), lambda data: pack(data, nr)), None
    if w.shape[0] % nr == 0:
        at_load = gemm.at_load(tiles, 1, nr, (w.count // nr,), nr)
    return Packing(tiles.key, tiles.run, at_load)


def pack(w: Array, nr: int) -> Array:
    """w: [c, 1, kh, kw] -> flat [tile][kh][kw][nr], nr channels side by side, taps outside.

    The last tile ends at the last channel and overlaps the one before, so that kernels process only
    whole vectors; fewer than nr channels are padded with zeros.
    """
    channels, _, kh, kw = w.shape
    first = np.minimum(np.arange(0, channels, nr), max(channels - nr, 0))
    padded = np.zeros((max(channels, nr), kh, kw), w.dtype)
    padded[:channels] = w[:, 0]
    tiles = padded[first[:, None] + np.arange(nr)]
    return tiles.transpose(0, 2, 3, 1).reshape(-1)


ALGORITHMS = (Depthwise(),)
