"""Direct algorithm: an indirect GEMM over the taps of windows, or GEMMs over rows of matrices.

Groups of a convolution with few output channels would leave most of a kernel's tile unused. Several
are computed together, by weights that are zero between different groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

from trimtab import kernels
from trimtab.errors import PlanError
from trimtab.kernels import Kernel
from trimtab.planner import blocking, gemm_work
from trimtab.planner.algorithms import DIRECT, _attention, _mat_mul, _recurrent, derived_op
from trimtab.planner.concat_elision import pixel_stride
from trimtab.planner.cost import Work, passes
from trimtab.planner.kernel_calls import KernelCall, gemm_call
from trimtab.planner.packing import Packing, gemm
from trimtab.program import Op, Program, Var
from trimtab.program.block import element_bytes
from trimtab.schema import Attribute
from trimtab.target import Target


class _Gemms(Protocol):
    """The methods of an algorithm, as functions of a module, for some operators."""

    def work(self, program: Program, op: Op, kernel: Kernel) -> Work: ...
    def block_sizes(self, program: Program, op: Op, target: Target) -> dict[str, int | bool]: ...
    def packings(self, program: Program, op: Op) -> dict[int, Packing]: ...
    def kernel_calls(self, program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]: ...


_OTHERS: dict[str, _Gemms] = {
    _attention.TYPE: _attention,
    _mat_mul.TYPE: _mat_mul,
    **dict.fromkeys(_recurrent.TYPES, _recurrent),
}
"""The modules of operators whose GEMMs are not those of a convolution or a matrix of weights."""
_OPERATORS = ("conv", "conv_transpose", "gemm", *_OTHERS)
_WINDOW = ("strides", "dilations", "pads")
_MERGED_COLUMNS = 16
"""More columns per merged group would be faster on no core: their products with 0 take longer than
the loads that they share. Measured with AVX2 and AVX-512, counted on Armv8.
"""


class Direct:
    """One GEMM per group, or per `merged` groups: rows are pixels, depth is taps x input channels,
    columns are output channels. Products of computed matrices have no weights, and recurrent
    operators one GEMM per step.
    """

    name = DIRECT
    dtypes = ("f32", "f16")
    channel_invariant = True

    def lower(self, program: Program, op: Op, target: Target) -> Op | None:
        """Applicable to every product of floats, which keeps its type."""
        return derived_op(op, op.type) if op.type in _OPERATORS else None

    def computes(self, op: Op) -> bool:
        """The operator types identify the algorithm."""
        return op.type in _OPERATORS

    def fits(self, program: Program, op: Op, attribute: Attribute, kernel: Kernel) -> bool:
        """Kernels with any tile fit."""
        return True

    def work(self, program: Program, op: Op, kernel: Kernel, target: Target) -> Work:
        """The GEMMs, one per output phase of a transposed convolution. Inputs are read again for
        each block of columns.
        """
        if other := _OTHERS.get(op.type):
            return other.work(program, op, kernel)
        x, w, y = (program.vars[name] for name in (*op.inputs[:2], op.outputs[0]))
        columns = _columns(program, op)
        merged = _groups_per_panel(program, op, kernel)
        groups = _groups(op) // merged
        rows, depth = y.count // columns, w.count // columns * merged
        phases = math.prod(op.attributes["strides"]) if op.type == "conv_transpose" else 1
        rows, depth, columns = -(-rows // phases), -(-depth // phases), columns // groups
        all_gemms = groups * phases * gemm_work.operations(kernel, rows, columns, depth)
        panels, nr = blocking.panels(target, kernel, columns, depth), kernel.packing[1]
        blocks = -(-columns // (panels * nr))
        block_bytes = panels * nr * depth * element_bytes(kernel.dtype)
        reread = (passes(target, block_bytes, blocks, x.bytes) - 1) * x.bytes
        taps = math.prod(w.shape[2:]) // phases if len(w.shape) > 2 else 1
        return Work(
            all_gemms,
            w.bytes,
            spilled_bytes=reread,
            packed_bytes=groups * phases * gemm_work.packed_bytes(kernel, columns, depth),
            padded=groups * phases * gemm_work.padded(kernel, rows, columns, depth),
            macs=groups * phases * rows * columns * depth,
            tiles=groups * phases * gemm_work.tiles(kernel, rows, columns),
            pointers=groups * phases * rows * taps if taps > 1 else 0,
        )

    def block_sizes(self, program: Program, op: Op, target: Target) -> dict[str, int | bool]:
        """Weight panels in the second-level cache, row tiles in the first."""
        if other := _OTHERS.get(op.type):
            return other.block_sizes(program, op, target)
        kernel = kernels.kernel(op.attributes["kernel"])
        w = program.vars[op.inputs[1]]
        columns = _columns(program, op)
        merged = _groups_per_panel(program, op, kernel)
        depth = w.count // columns * merged
        if op.type == "conv_transpose":  # one tile per kernel call
            taps = gemm.taps_of_largest_phase(w.shape[2:], *(op.attributes[k] for k in _WINDOW))
            depth = depth // math.prod(w.shape[2:]) * max(taps, 1)
        columns //= _groups(op) // merged
        sizes: dict[str, int | bool] = {
            "panels": blocking.panels(target, kernel, columns, depth),
            "call_tiles": 1
            if op.type == "conv_transpose"
            else blocking.call_tiles(target, kernel, depth),
        }
        if op.type == "conv":
            step = op.attributes["strides"][1] * pixel_stride(program, op.inputs[0])
            conflicts = blocking.conflicts(target, kernel, step)
            sizes["gap"] = blocking.row_padding(target, kernel) if conflicts else 0
            sizes["merged"] = merged
        return sizes

    def packings(self, program: Program, op: Op) -> dict[int, Packing]:
        """Weights and bias in panels."""
        if other := _OTHERS.get(op.type):
            return other.packings(program, op)
        groups, nr = _groups(op), kernels.kernel(op.attributes["kernel"]).packing[1]
        w = program.vars[op.inputs[1]]
        merged = int(op.attributes.get("merged", 1))
        if groups % merged or (merged > 1 and w.shape[0] // groups * merged > nr):
            raise PlanError(
                f"merged cannot be {merged} for {groups} groups of {w.shape[0] // groups} columns",
                where=f"operator {op.name} ({op.type})",
                hint=f"{merged} must divide the groups, whose columns must fit {nr}",
            )
        weights, bias = conv_packings(w, groups, nr, merged)
        if op.type == "conv_transpose":
            window = tuple(op.attributes[name] for name in _WINDOW)
            stored, depths = gemm.phase_panels(w.shape, groups, nr, *window)
            columns, axis = _columns(program, op) // groups, 1 if groups == 1 else None
            weights = Packing(
                ("conv_transpose", groups, nr, window),
                lambda w: gemm.pack_conv_transpose(w, groups, nr, *window),
                gemm.at_load(stored, groups, columns, depths, nr, axis),
            )
        return {1: weights, 2: bias}

    def kernel_calls(self, program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]:
        """One GEMM call per group; none for transposed convolutions, whose calls differ."""
        if other := _OTHERS.get(op.type):
            yield from other.kernel_calls(program, op)
            return
        w, y, dtype = (
            program.vars[op.inputs[1]].shape,
            program.vars[op.outputs[0]],
            program.dtype(op),
        )
        if op.type == "gemm":
            yield "kernel", gemm_call(dtype, y.count // w[0], *w), 1
        if op.type == "conv":
            merged, stride = op.attributes["merged"], op.attributes["strides"][1]
            groups = _groups(op) // merged
            columns, k, taps, kernel_w = w[0] // groups, w[1] * merged, w[2], w[3]
            # Away from the padding a row of taps is contiguous; see docs/planner.md.
            rows, width = y.count // w[0], y.shape[3]
            step = stride * k * groups
            yield "kernel", gemm_call(dtype, rows, columns, kernel_w * k, taps, step, width), groups


def conv_packings(w: Var, groups: int, nr: int, merged: int = 1) -> tuple[Packing, Packing]:
    """The packing of weights and bias of a convolution or a GEMM operator. `merged`: groups that
    one panel holds.
    """
    panels = groups // merged
    bias = Packing(("bias", panels, nr), lambda data: gemm.pack_bias(data, panels, nr))
    columns, depth = w.shape[0] // groups, math.prod(w.shape[1:])
    stored = gemm.panels(groups, nr)
    if merged > 1:
        key = ("merged", groups, nr, merged)
        return Packing(
            key,
            lambda data: gemm.pack_merged(data, groups, nr, merged),
            gemm.merged_at_load(stored, groups, merged, w.shape[1], nr),
        ), bias
    at_load = gemm.at_load(stored, groups, columns, (depth,), nr, 0)
    return (
        Packing(("conv", groups, nr), lambda data: gemm.pack_conv(data, groups, nr), at_load),
        bias,
    )


def _groups_per_panel(program: Program, op: Op, kernel: Kernel) -> int:
    """The most groups of a convolution that divide all and whose columns fit one panel, or the half
    of a wide one, which kernels compute in half the time.
    """
    groups = _groups(op)
    if op.type != "conv" or groups == 1:
        return 1
    most = min(kernel.packing[1], _MERGED_COLUMNS) // (_columns(program, op) // groups)
    return max((m for m in range(2, most + 1) if groups % m == 0), default=1)


def _columns(program: Program, op: Op) -> int:
    y = program.vars[op.outputs[0]].shape
    return y[-1] if op.type == "gemm" else y[1]


def _groups(op: Op) -> int:
    return int(op.attributes.get("group", 1))


ALGORITHMS = (Direct(),)
