"""What matrix products take: the measure by which tiles and algorithms are compared."""

from __future__ import annotations

from trimtab import kernels
from trimtab.kernels import Kernel

FAMILY = "gemm"

# Beginning and ending the sum of an output takes as long as this many multiply-adds.
_SUM_COST = 4


def cost(kernel: Kernel, rows: int, columns: int) -> int:
    """Element products, padding included, and loads of weights and inputs, per element of
    depth.
    """
    mr, nr = kernel.packing
    return -(-columns // nr) * (rows * nr + -(-rows // mr) * nr + rows)


def work(kernel: Kernel, rows: int, columns: int, depth: int) -> int:
    """What a product of `rows` x `depth` by `depth` x `columns` takes, in multiply-adds of one
    lane.
    """
    sums, weights = rows * columns * _SUM_COST, columns * depth
    return cost(kernel, rows, columns) * depth + sums + weights * weight_cost(kernel)


def weight_cost(kernel: Kernel) -> int:
    """Multiply-adds of one lane that take as long as reading a weight from memory."""
    return kernels.isas()[kernel.isa].weight_cost
