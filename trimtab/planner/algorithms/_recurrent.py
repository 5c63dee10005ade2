"""Recurrent operators: in each step a GEMM of the state with constant weights."""

from __future__ import annotations

import math
from collections.abc import Iterator

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.planner import blocking, gemm_work
from trimtab.planner.cost import Work
from trimtab.planner.kernel_calls import KernelCall, gemm_call
from trimtab.planner.packing import Packing, gemm
from trimtab.program import Op, Program
from trimtab.target import Target

_WEIGHTS = {"lstm": (1,), "rnn": (1,), "gru": (1, 2)}
"""The inputs that hold weights of the state."""
_BIASES = {"gru": (3,)}
TYPES = tuple(_WEIGHTS)


def work(program: Program, op: Op, kernel: Kernel) -> Work:
    """The GEMMs of all steps; the cache keeps the weights from one step to the next."""
    steps, rows, size = program.vars[op.outputs[0]].shape
    operations = sum(
        gemm_work.operations(kernel, rows, columns, size) for columns in _columns(program, op)
    )
    weights = sum(program.vars[op.inputs[i]].bytes for i in _WEIGHTS[op.type])
    return Work(steps * operations, weights)


def block_sizes(program: Program, op: Op, target: Target) -> dict[str, int | bool]:
    """Weight panels in the second-level cache, row tiles in the first."""
    kernel = kernels.kernel(op.attributes["kernel"])
    size = program.vars[op.outputs[0]].shape[2]
    return {
        "panels": blocking.panels(target, kernel, max(_columns(program, op)), size),
        "call_tiles": blocking.call_tiles(target, kernel, size),
    }


def packings(program: Program, op: Op) -> dict[int, Packing]:
    """The weights of the state in panels, and their bias."""
    nr = kernels.kernel(op.attributes["kernel"]).packing[1]
    weights = {i: _weights(program, op, i, nr) for i in _WEIGHTS[op.type]}
    biases = {
        i: Packing(("bias", 1, nr), lambda data: gemm.pack_bias(data, 1, nr))
        for i in _BIASES.get(op.type, ())
    }
    return weights | biases


def _weights(program: Program, op: Op, index: int, nr: int) -> Packing:
    columns, depth = program.vars[op.inputs[index]].shape
    at_load = gemm.at_load(gemm.panels(1, nr), 1, columns, (depth,), nr)
    return Packing(("conv", 1, nr), lambda data: gemm.pack_conv(data, 1, nr), at_load)


def kernel_calls(program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]:
    """The GEMM calls of each step."""
    steps, rows, size = program.vars[op.outputs[0]].shape
    for columns in _columns(program, op):
        if math.prod((steps, rows, size)) > 0:
            yield "kernel", gemm_call(program.dtype(op), rows, columns, size), steps


def _columns(program: Program, op: Op) -> list[int]:
    """Columns of each GEMM."""
    return [program.vars[op.inputs[i]].shape[0] for i in _WEIGHTS[op.type]]
