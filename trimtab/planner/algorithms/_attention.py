"""Attention: two GEMMs with a softmax between them, in blocks of queries."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.planner import blocking, gemm_work
from trimtab.planner.algorithms._mat_mul import PACKING_COST
from trimtab.planner.cost import Work
from trimtab.planner.kernel_calls import KernelCall, gemm_call
from trimtab.planner.packing import Packing
from trimtab.program import Op, Program
from trimtab.program.block import element_bytes
from trimtab.target import Target

TYPE = "attention"

# An exponential takes as long as this many multiply-adds: kFunctionCost of the engine.
_FUNCTION_COST = 16


@dataclass(frozen=True)
class _Sizes:
    """`count` matrices of the result: [rows, depth] by [depth, keys] by [keys, columns]."""

    count: int
    rows: int
    depth: int
    keys: int
    columns: int

    @staticmethod
    def of(program: Program, op: Op) -> _Sizes:
        q, v, y = (program.vars[name].shape for name in (op.inputs[0], op.inputs[2], op.outputs[0]))
        keys = v[-1 if op.attributes["transpose_v"] else -2]
        return _Sizes(math.prod(y[:-2]), q[-2], q[-1], keys, y[-1])


def work(program: Program, op: Op, kernel: Kernel) -> Work:
    """Both GEMMs, the packing of keys and values, and the softmax."""
    s = _Sizes.of(program, op)
    products = gemm_work.operations(kernel, s.rows, s.keys, s.depth)
    products += gemm_work.operations(kernel, s.rows, s.columns, s.keys)
    packing = s.keys * (s.depth + s.columns) * PACKING_COST
    return Work(s.count * (products + packing + s.rows * s.keys * _FUNCTION_COST), 0)


def block_sizes(program: Program, op: Op, target: Target) -> dict[str, int | bool]:
    """Queries whose scores fill half of the first-level cache, and the sizes of both GEMMs."""
    kernel, s = kernels.kernel(op.attributes["kernel"]), _Sizes.of(program, op)
    bytes = element_bytes(kernel.dtype)
    softmax = kernels.kernel(op.attributes["softmax_kernel"])
    unit = max(kernels.isas()[softmax.isa].lanes, 8)  # elements of a step of the softmax
    row = -(-s.keys // unit) * unit
    gap = blocking.row_padding(target, kernel) if blocking.conflicts(target, kernel, row) else 0
    queries = target.core.l1d.bytes // 2 // bytes // (row + gap)
    return {
        "panels": blocking.panels(target, kernel, s.keys, s.depth),
        "call_tiles": blocking.call_tiles(target, kernel, s.depth),
        "value_panels": blocking.panels(target, kernel, s.columns, s.keys),
        "value_call_tiles": blocking.call_tiles(target, kernel, s.keys),
        "block": min(max(queries, kernel.packing[0]), 65535),
        "unit": unit,
        "gap": gap,
    }


def packings(program: Program, op: Op) -> dict[int, Packing]:
    """None: no operand is a matrix of weights."""
    return {}


def kernel_calls(program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]:
    """One call of each GEMM for each matrix of the result."""
    s, dtype = _Sizes.of(program, op), program.dtype(op)
    yield "kernel", gemm_call(dtype, s.rows, s.keys, s.depth), s.count
    yield "kernel", gemm_call(dtype, s.rows, s.columns, s.keys), s.count
