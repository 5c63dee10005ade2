"""The product of two computed matrices: GEMMs that pack their right operand while they run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.planner import blocking, gemm_work
from trimtab.planner.cost import Work
from trimtab.planner.kernel_calls import KernelCall, gemm_call
from trimtab.planner.packing import Packing
from trimtab.program import Op, Program
from trimtab.target import Target

TYPE = "mat_mul"

# Copying an element of the right operand into its panel takes as long as this many multiply-adds.
PACKING_COST = 4


def work(program: Program, op: Op, kernel: Kernel) -> Work:
    """The GEMMs, one for each matrix of the result, and the packing of their right operands."""
    count, rows, columns, depth = _sizes(program, op)
    product = gemm_work.operations(kernel, rows, columns, depth)
    return Work(count * (product + columns * depth * PACKING_COST), 0)


def block_sizes(program: Program, op: Op, target: Target) -> dict[str, int | bool]:
    """Panels in the second-level cache, row tiles in the first."""
    kernel = kernels.kernel(op.attributes["kernel"])
    _, _, columns, depth = _sizes(program, op)
    return {
        "panels": blocking.panels(target, kernel, max(columns, 1), max(depth, 1)),
        "call_tiles": blocking.call_tiles(target, kernel, depth),
    }


def packings(program: Program, op: Op) -> dict[int, Packing]:
    """None: no operand is constant, or at least not a matrix of weights."""
    return {}


def kernel_calls(program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]:
    """One GEMM call for each matrix of the result."""
    count, rows, columns, depth = _sizes(program, op)
    if count * rows * columns * depth > 0:
        yield "kernel", gemm_call(program.dtype(op), rows, columns, depth), count


def _sizes(program: Program, op: Op) -> tuple[int, int, int, int]:
    """The number of matrices of the result, and the rows, columns and depth of each."""
    a, b, y = (program.vars[name].shape for name in (*op.inputs, op.outputs[0]))
    rows = a[-2] if len(a) > 1 else 1
    columns = y[-1] if len(b) > 1 else 1
    return math.prod(y) // max(rows * columns, 1), rows, columns, a[-1]
