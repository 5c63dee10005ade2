"""1x1 convolution by one level of Strassen's algorithm in Winograd's form (Higham 2002, section
23.1): seven GEMMs of half the size instead of eight. docs/planner.md has the rule.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.planner import blocking, gemm_work, kernel_selection
from trimtab.planner.algorithms import derived_op
from trimtab.planner.concat_elision import pixel_stride
from trimtab.planner.cost import Work, passes
from trimtab.planner.kernel_calls import KernelCall, gemm_call
from trimtab.planner.packing import Array, Packing, Preparation
from trimtab.planner.packing.gemm import pack_bias, pack_conv, pack_groups, panels
from trimtab.program import Op, Program
from trimtab.program.block import element_bytes
from trimtab.schema import Attribute
from trimtab.target import Target

_OPERATOR = "conv_strassen"

# Cost of the matrix sums per row of a quadrant, in vector instructions per vector of channels: sums
# of inputs, and sums of results, most of which accumulate six GEMM results.
_SUM_INPUTS, _SUM_OUTPUTS = 17, 30


class Strassen:
    """Splits pixels, input channels and output channels in halves; columns in whole panels."""

    name = "strassen"
    dtypes = ("f32",)
    channel_invariant = False  # remaining columns round differently from those of the quadrants

    def lower(self, program: Program, op: Op, target: Target) -> Op | None:
        """Applicable to 1x1 convolutions without strides, padding or groups: single GEMMs."""
        if op.type != "conv" or op.attributes["group"] != 1:
            return None
        c_out, c_in, *window = program.vars[op.inputs[1]].shape
        moves = (*window, *op.attributes["strides"], *op.attributes["dilations"])
        if {*moves} != {1} or any(op.attributes["pads"]) or c_in % 2:
            return None
        best = kernel_selection.best(gemm_work.FAMILY, program.dtype(op), target)
        halves = any(half_columns(c_out, kernel.packing[1]) for kernel in best)
        return derived_op(op, _OPERATOR) if halves else None

    def computes(self, op: Op) -> bool:
        """The algorithm has its own operator type."""
        return op.type == _OPERATOR

    def fits(self, program: Program, op: Op, attribute: Attribute, kernel: Kernel) -> bool:
        """GEMM kernels fit if half of the columns are at least one panel."""
        if attribute.name != "kernel":
            return True
        return half_columns(program.vars[op.outputs[0]].shape[1], kernel.packing[1]) > 0

    def work(self, program: Program, op: Op, kernel: Kernel, target: Target) -> Work:
        """The seven GEMMs, the GEMM of the remaining columns, and the matrix sums. Each thread
        reads the weights once per block.
        """
        c_out, depth, *_ = program.vars[op.inputs[1]].shape
        rows = program.vars[op.outputs[0]].count // c_out
        half, columns = -(-rows // 2), half_columns(c_out, kernel.packing[1])
        sum_cost = gemm_work.sum_cost(target, kernel)
        sums = sum_cost * half * (depth // 2 * _SUM_INPUTS + columns * _SUM_OUTPUTS)
        halves = 7 * gemm_work.operations(kernel, half, columns, depth // 2)
        remaining = gemm_work.operations(kernel, rows, c_out - 2 * columns, depth)
        size, block = element_bytes(kernel.dtype), self._block(target, kernel, depth, c_out)
        weights = (7 * columns * depth // 2 + (c_out - 2 * columns) * depth) * size
        blocks, block_bytes = -(-rows // block), min(block, rows) * (depth + c_out) * size
        return Work(
            halves + remaining + sums,
            weights,
            passes(target, weights, blocks, block_bytes * min(target.threads, blocks)),
            padded=7 * gemm_work.padded(kernel, half, columns, depth // 2)
            + gemm_work.padded(kernel, rows, c_out - 2 * columns, depth),
            macs=7 * half * columns * (depth // 2) + rows * (c_out - 2 * columns) * depth,
            transforms=sums,
            tiles=7 * gemm_work.tiles(kernel, half, columns)
            + gemm_work.tiles(kernel, rows, c_out - 2 * columns),
        )

    def error(self, program: Program, op: Op) -> float:
        """The error of sums of quadrants, as tests/planner/test_rounding.py measures it."""
        return 2.2

    def block_sizes(self, program: Program, op: Op, target: Target) -> dict[str, int | bool]:
        """The block sizes of a half GEMM, in blocks of rows that one thread computes alone."""
        kernel = kernels.kernel(op.attributes["kernel"])
        nr = kernel.packing[1]
        c_out, c_in, *_ = program.vars[op.inputs[1]].shape
        columns, depth = half_columns(c_out, nr), c_in // 2
        step = pixel_stride(program, op.inputs[0])
        return {
            "panels": blocking.panels(target, kernel, columns, depth),
            "call_tiles": blocking.call_tiles(target, kernel, depth),
            "block": self._block(target, kernel, c_in, c_out),
            "gap": blocking.row_padding(target, kernel),
            "copies": blocking.conflicts(target, kernel, step),
        }

    @staticmethod
    def _block(target: Target, kernel: Kernel, c_in: int, c_out: int) -> int:
        unit = 2 * kernel.packing[0]
        return blocking.block_rows(target, kernel, c_in + c_out, c_in, c_out, 1, unit)

    def packings(self, program: Program, op: Op) -> dict[int, Packing]:
        """The matrix sums of the weights are computed ahead of time in float64, or at load in
        float32.
        """
        nr = kernels.kernel(op.attributes["kernel"]).packing[1]
        return {
            1: Packing(
                (self.name, nr),
                lambda w: pack(w, nr),
                Preparation(panels(1, nr), "pack_strassen", {"panel": nr}, axis=0),
            ),
            2: Packing(("bias", 1, nr), lambda b: pack_bias(b, 1, nr)),
        }

    def kernel_calls(self, program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]:
        """Seven GEMM calls, and the matrix sums before and after them."""
        c_out, depth, *_ = program.vars[op.inputs[1]].shape
        rows, k = program.vars[op.outputs[0]].count // c_out, depth // 2
        n = half_columns(c_out, kernels.kernel(op.attributes["kernel"]).packing[1])
        half, dtype = rows // 2, program.dtype(op)
        yield "kernel", gemm_call(dtype, -(-rows // 2), n, k), 7
        sums = KernelCall.of("StrassenSumsArgs", dtype, 0, half * k * (4 + 4), n=k, rows=half)
        yield "sums_kernel", sums, 1
        results = KernelCall.of("StrassenResultsArgs", dtype, 0, half * n * (3 + 1), n=n, rows=half)
        yield "results_kernel", results, 1


def half_columns(columns: int, nr: int) -> int:
    """Columns of one half, in whole panels. The remaining columns are computed directly."""
    return columns // (2 * nr) * nr


def right_hand_operands(w: NDArray[np.float64]) -> NDArray[np.float64]:
    """w: float64[n, k], the transpose of B -> float64[7, n / 2, k / 2]: B11, T2, T3, T1, -T4, B22,
    B21, in the order of runtime/ops/conv_strassen.cpp, each transposed.
    """
    n, k = (size // 2 for size in w.shape)
    b11, b21, b12, b22 = w[:n, :k], w[:n, k:], w[n:, :k], w[n:, k:]
    t1 = b12 - b11
    t2 = b22 - t1
    return np.stack([b11, t2, b22 - b12, t1, b21 - t2, b22, b21])


def pack(w: Array, nr: int) -> Array:
    """w: [c_out, c_in, 1, 1] -> [7][panel][c_in / 2][nr], then [panel][c_in][nr] for the
    remaining columns.
    """
    matrix = w[:, :, 0, 0]
    columns = 2 * half_columns(len(matrix), nr)
    operands = right_hand_operands(matrix[:columns].astype(np.float64)).astype(w.dtype)
    return np.concatenate([pack_groups(operands, nr), pack_conv(matrix[columns:], 1, nr)])


ALGORITHMS = (Strassen(),)
