"""The work of a GEMM, in multiply-adds of one vector lane."""

from __future__ import annotations

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.program.block import element_bytes
from trimtab.target import Target

FAMILY = "gemm"

# Starting and finishing the accumulation of one output takes as long as this many multiply-adds.
_ACCUMULATOR_COST = 4


def work_per_depth(kernel: Kernel, rows: int, columns: int) -> int:
    """Multiply-adds, padding included, and loads of weights and inputs, per element of depth."""
    mr, nr = kernel.packing
    return -(-columns // nr) * (rows * nr + -(-rows // mr) * nr + rows)


def operations(kernel: Kernel, rows: int, columns: int, depth: int) -> int:
    """Work of a GEMM of `rows` x `depth` by `depth` x `columns`, in multiply-adds of one lane."""
    return work_per_depth(kernel, rows, columns) * depth + rows * columns * _ACCUMULATOR_COST


def tiles(kernel: Kernel, rows: int, columns: int) -> int:
    """Tiles that the kernel computes, each with all of the depth."""
    mr, nr = kernel.packing
    return -(-columns // nr) * -(-rows // mr)


def packed_bytes(kernel: Kernel, columns: int, depth: int) -> int:
    """Bytes of weights in whole panels."""
    nr = kernel.packing[1]
    return -(-columns // nr) * nr * depth * element_bytes(kernel.dtype)


def padded(kernel: Kernel, rows: int, columns: int, depth: int) -> int:
    """Multiply-adds of a GEMM if all tiles were whole."""
    mr, nr = kernel.packing
    return tiles(kernel, rows, columns) * mr * nr * depth


def sum_cost(target: Target, kernel: Kernel) -> float:
    """Cost of a vector addition from memory, in multiply-adds of one lane per lane: caches may
    delay it.
    """
    of_core = None if kernel.portable else target.core.sum_cost
    return kernels.isas()[kernel.isa].sum_cost if of_core is None else of_core
