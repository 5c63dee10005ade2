"""Direct convolution that skips taps outside of the image: large dilations on small maps.

A 3x3 kernel with a dilation of 24 over 28x28 pixels meets them with one to four of its nine taps.
Each tile of the GEMM computes the taps from its first to its last one that any of its pixels meets,
which the engine sees in the tile's pointers, for whatever size the image has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.planner import blocking, gemm_work
from trimtab.planner.algorithms import derived_op
from trimtab.planner.algorithms.direct import conv_packings
from trimtab.planner.concat_elision import pixel_stride
from trimtab.planner.cost import Work, passes
from trimtab.planner.kernel_calls import KernelCall, gemm_call
from trimtab.planner.packing import Packing
from trimtab.program import Op, Program
from trimtab.program.block import element_bytes
from trimtab.schema import Attribute
from trimtab.target import Target

_OPERATOR = "conv_dilated"
_TYPICAL_ROWS = 8  # of a kernel's tile
# Of all taps: skipping fewer does not pay for reading inputs once per panel.
LARGEST_SHARE = 0.85


class Dilated:
    """One GEMM whose tiles have depths of their own: rows are pixels, columns output channels."""

    name = "dilated"
    dtypes = ("f32", "f16")
    channel_invariant = True

    def lower(self, program: Program, op: Op, target: Target) -> Op | None:
        """Applicable to dilated convolutions of one group, if tiles skip enough taps."""
        attributes = op.attributes
        if op.type != "conv" or attributes["group"] != 1 or {*attributes["dilations"]} == {1}:
            return None
        all_taps = math.prod(program.vars[op.inputs[1]].shape[2:])
        skips = computed_taps(program, op, _TYPICAL_ROWS) <= LARGEST_SHARE * all_taps
        return derived_op(op, _OPERATOR) if skips else None

    def computes(self, op: Op) -> bool:
        """The algorithm has its own operator type."""
        return op.type == _OPERATOR

    def fits(self, program: Program, op: Op, attribute: Attribute, kernel: Kernel) -> bool:
        """Kernels with any tile fit."""
        return True

    def work(self, program: Program, op: Op, kernel: Kernel, target: Target) -> Work:
        """The GEMM over the taps that tiles compute. Inputs are read again for each panel."""
        x, w, y = (program.vars[name] for name in (*op.inputs[:2], op.outputs[0]))
        columns, k = w.shape[:2]
        rows, taps = y.count // columns, computed_taps(program, op, kernel.packing[0])
        depth, nr = round(k * taps), kernel.packing[1]
        panels, panel_bytes = -(-columns // nr), nr * depth * element_bytes(kernel.dtype)
        return Work(
            gemm_work.operations(kernel, rows, columns, depth),
            w.bytes,
            spilled_bytes=(passes(target, panel_bytes, panels, x.bytes) - 1) * x.bytes,
            packed_bytes=gemm_work.packed_bytes(kernel, columns, w.count // columns),
            padded=gemm_work.padded(kernel, rows, columns, depth),
            macs=rows * columns * depth,
            tiles=gemm_work.tiles(kernel, rows, columns),
            pointers=rows * panels * w.count // (columns * k),
        )

    def block_sizes(self, program: Program, op: Op, target: Target) -> dict[str, int | bool]:
        """Whether pixels are copied apart."""
        kernel = kernels.kernel(op.attributes["kernel"])
        step = op.attributes["strides"][1] * pixel_stride(program, op.inputs[0])
        conflicts = blocking.conflicts(target, kernel, step)
        return {"gap": blocking.row_padding(target, kernel) if conflicts else 0}

    def packings(self, program: Program, op: Op) -> dict[int, Packing]:
        """Weights and bias in panels, as of the direct algorithm."""
        nr = kernels.kernel(op.attributes["kernel"]).packing[1]
        weights, bias = conv_packings(program.vars[op.inputs[1]], 1, nr)
        return {1: weights, 2: bias}

    def kernel_calls(self, program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]:
        """One call with the mean number of taps."""
        columns, k = program.vars[op.inputs[1]].shape[:2]
        y, mr = program.vars[op.outputs[0]], kernels.kernel(op.attributes["kernel"]).packing[0]
        taps = max(round(computed_taps(program, op, mr)), 1)
        step = op.attributes["strides"][1] * k
        call = gemm_call(program.dtype(op), y.count // columns, columns, k, taps, step, y.shape[3])
        yield "kernel", call, 1


def computed_taps(program: Program, op: Op, mr: int) -> float:
    """The mean number of taps that a tile of `mr` pixels of an image computes."""
    x, w, y = (program.vars[name].shape for name in (*op.inputs[:2], op.outputs[0]))
    strides, dilations, pads = (op.attributes[name] for name in ("strides", "dilations", "pads"))
    lines = zip(x[2:], y[2:], w[2:], strides, dilations, pads[:2], strict=True)
    return _mean_taps(tuple(lines), mr)


@cache
def _mean_taps(lines: tuple[tuple[int, ...], ...], mr: int) -> float:
    """See `computed_taps`. `lines`: the arguments of `_inside` for columns and rows."""
    (top, bottom), (left, right) = (_inside(*line) for line in lines)
    width = lines[1][2]  # of the kernel
    first = (top[:, None] * width + left).ravel()
    last = (bottom[:, None] * width + right).ravel()
    starts = np.arange(0, len(first), mr)
    taps = np.maximum.reduceat(last, starts) - np.minimum.reduceat(first, starts) + 1
    return float(np.maximum(taps, 1).mean())


def _inside(
    size: int, outputs: int, kernel: int, stride: int, dilation: int, pad: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last tap inside of a line of `size` pixels, for each output."""
    positions = np.arange(outputs)[:, None] * stride - pad + np.arange(kernel) * dilation
    inside = (positions >= 0) & (positions < size)
    return inside.argmax(axis=1), kernel - 1 - inside[:, ::-1].argmax(axis=1)


ALGORITHMS = (Dilated(),)
