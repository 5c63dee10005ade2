"""What matrix products take of a core, in instructions."""

from __future__ import annotations

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.target import Target

FAMILY = "gemm"

# Beginning and ending the sum of an output takes as long as this many multiply-adds.
_SUM_COST = 4


def cost(kernel: Kernel, rows: int, columns: int) -> int:
    """Element products, padding included, and loads of weights and inputs, per element of
    depth.
    """
    mr, nr = kernel.packing
    return -(-columns // nr) * (rows * nr + -(-rows // mr) * nr + rows)


def operations(kernel: Kernel, rows: int, columns: int, depth: int) -> int:
    """What a product of `rows` x `depth` by `depth` x `columns` takes, in multiply-adds of one
    lane.
    """
    return cost(kernel, rows, columns) * depth + rows * columns * _SUM_COST


def sum_cost(target: Target, kernel: Kernel) -> float:
    """Multiply-adds of one lane that take as long as one of an instruction that adds vectors from
    memory to others: caches may hold it up.
    """
    known = None if kernel.portable else target.core.sum_cost
    return kernels.isas()[kernel.isa].sum_cost if known is None else known
