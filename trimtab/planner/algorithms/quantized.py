"""Quantized convolutions: int8 GEMMs with int32 accumulators."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.planner import blocking, gemm_work
from trimtab.planner.algorithms import depthwise, derived_op
from trimtab.planner.concat_elision import pixel_stride
from trimtab.planner.cost import REQUANTIZATION, Work, fmas_per_cycle, rate
from trimtab.planner.kernel_calls import KernelCall
from trimtab.planner.packing import Packing, gemm, weight_pairs
from trimtab.program import Op, Program
from trimtab.schema import Attribute
from trimtab.target import Target

_OPERATOR, _DEPTHWISE = "qlinear_conv", "qlinear_conv_depthwise"
_PAIRED = "paired_gemm"  # kernels that add pairs of multiplication results in 16 bits
_MIN = -128
# Pixel packing (docs/planner.md): the maximum number of packed pixels; the minimum number of
# columns that kernels with wider panels compute; the overhead of a row in cycles, measured on x86.
_MAX_PACKED_PIXELS, _COLUMNS, _ROW_CYCLES = 16, 16, 12
_ROWS = 8  # output rows per depthwise call: each reuses the input rows of the one before


class QuantizedGemm:
    """One GEMM per group: rows are pixels, depth is taps x input channels, columns are output
    channels.
    """

    name = "quantized"
    dtypes = ("i8",)
    channel_invariant = True

    def lower(self, program: Program, op: Op, target: Target) -> Op | None:
        """Applicable to every quantized convolution, which keeps its type."""
        return derived_op(op, _OPERATOR) if op.type == _OPERATOR else None

    def computes(self, op: Op) -> bool:
        """The operator type identifies the algorithm."""
        return op.type == _OPERATOR

    def fits(self, program: Program, op: Op, attribute: Attribute, kernel: Kernel) -> bool:
        """Kernels that add two multiplication results in 16 bits require weights above -128. Paired
        kernels require rows with the elements of a whole step; their portable member is never
        planned.
        """
        if kernel.family == _PAIRED:
            data = program.vars[op.inputs[1]].data
            return not kernel.portable and data is not None and weight_pairs.fits(data)
        return not _adds_in_16_bits(kernel) or _above_minimum(program, op)

    def work(self, program: Program, op: Op, kernel: Kernel, target: Target) -> Work:
        """The GEMMs, with the depth padded to the kernel's depth step."""
        w, y = program.vars[op.inputs[1]], program.vars[op.outputs[0]]
        channels, groups = y.shape[1], int(op.attributes["group"])
        fold = _packed_pixels(program, op, kernel, target)
        rows, depth = y.count // channels, _depth(program, op, kernel, fold)
        columns = fold * channels // groups
        operations: float = groups * gemm_work.operations(kernel, -(-rows // fold), columns, depth)
        tap_work, taps = 0.0, math.prod(w.shape[2:])
        if taps > 1:
            panels = groups * -(-(channels // groups) // kernel.packing[1])
            tap_work = rows * taps * panels * kernels.isas()[kernel.isa].tap_cost * rate(kernel)
        roundings = y.count if op.attributes["to"] == "i8" else 0
        return Work(
            operations + tap_work,
            w.bytes,
            requantizations=roundings,
            padded=groups * gemm_work.padded(kernel, -(-rows // fold), columns, depth),
            macs=groups * -(-rows // fold) * columns * depth,
            transforms=tap_work,
            tiles=groups * gemm_work.tiles(kernel, -(-rows // fold), columns),
            pointers=groups * rows * taps if taps > 1 else 0,
        )

    def block_sizes(self, program: Program, op: Op, target: Target) -> dict[str, int | bool]:
        """Weight panels in the second-level cache, row tiles in the first."""
        kernel = kernels.kernel(op.attributes["kernel"])
        w, groups = program.vars[op.inputs[1]], int(op.attributes["group"])
        fold = _packed_pixels(program, op, kernel, target)
        depth = _depth(program, op, kernel, fold)
        return {
            "panels": blocking.panels(target, kernel, fold * w.shape[0] // groups, depth),
            "call_tiles": blocking.call_tiles(target, kernel, depth),
            "depth_step": kernel.depth_step,
            "fold": fold,
            "steps": depth // weight_pairs.DEPTH if kernel.family == _PAIRED else 0,
        }

    def packings(self, program: Program, op: Op) -> dict[int, Packing]:
        """Weights, biases, scales and slopes in panels."""
        kernel, groups = kernels.kernel(op.attributes["kernel"]), int(op.attributes["group"])
        nr, kr, fold = kernel.packing[1], kernel.depth_step, int(op.attributes["fold"])
        padding = _row_padding(op, program.vars[op.inputs[1]].shape, kernel)
        columns = Packing(
            ("bias", groups, nr, fold),
            lambda data: gemm.pack_bias(np.tile(data, fold), groups, nr),
        )
        if kernel.family == _PAIRED:
            w = program.vars[op.inputs[1]]
            packed_pixels, key = (
                gemm.pack_pixels(np.asarray(w.data), fold, padding),
                (_PAIRED, groups, nr, fold, padding),
            )
            paired = Packing(
                key,
                lambda data: weight_pairs.pack(gemm.pack_pixels(data, fold, padding), groups, nr),
            )
            corrected_bias = Packing(
                (*key, w.name),
                lambda data: weight_pairs.pack_bias(np.tile(data, fold), packed_pixels, groups, nr),
            )
            return {1: paired, 2: corrected_bias} | dict.fromkeys(range(3, len(op.inputs)), columns)
        weights = Packing(
            ("quantized", groups, nr, kr, fold, padding),
            lambda data: gemm.pack_steps(gemm.pack_pixels(data, fold, padding), groups, nr, kr),
        )
        return {1: weights} | dict.fromkeys(range(2, len(op.inputs)), columns)

    def kernel_calls(self, program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]:
        """None: kernel timing does not support int8 kernels."""
        return iter(())


class QuantizedDepthwise:
    """Depthwise convolution: a window slides over vectors of channels."""

    name = "quantized_depthwise"
    dtypes = ("i8",)
    channel_invariant = True

    def lower(self, program: Program, op: Op, target: Target) -> Op | None:
        """Applicable to convolutions with one output channel per input channel and int8 results."""
        if op.type != _OPERATOR or op.attributes["to"] != "i8":
            return None
        c_in, c_out = program.vars[op.inputs[0]].shape[1], program.vars[op.inputs[1]].shape[0]
        return derived_op(op, _DEPTHWISE) if op.attributes["group"] == c_in == c_out else None

    def computes(self, op: Op) -> bool:
        """The algorithm has its own operator type."""
        return op.type == _DEPTHWISE

    def fits(self, program: Program, op: Op, attribute: Attribute, kernel: Kernel) -> bool:
        """Kernels that add two multiplication results in 16 bits require weights above -128."""
        return not _adds_in_16_bits(kernel) or _above_minimum(program, op)

    def work(self, program: Program, op: Op, kernel: Kernel, target: Target) -> Work:
        """Every tap of every output, with the last channel tile padded."""
        w, y = program.vars[op.inputs[1]], program.vars[op.outputs[0]]
        channels = y.shape[1]
        taps = math.prod(w.shape[2:])
        operations = depthwise.operations(kernel, y.count // channels, channels, taps)
        tiles = y.count // channels * -(-channels // kernel.packing[1])
        return Work(
            operations,
            w.bytes,
            requantizations=y.count,
            padded=operations,
            macs=y.count * taps,
            tiles=tiles,
        )

    def block_sizes(self, program: Program, op: Op, target: Target) -> dict[str, int | bool]:
        """Several rows per call if they share taps, and pieces of lines."""
        window, (height, width) = (
            program.vars[op.inputs[1]].shape[2:],
            program.vars[op.outputs[0]].shape[2:],
        )
        rows = min(_ROWS, max(height, 1)) if depthwise.rows(op, window) > 1 else 1
        return {"rows": rows, "pixels": blocking.pixels(target, op, window, width, rows)}

    def packings(self, program: Program, op: Op) -> dict[int, Packing]:
        """Weights in channel tiles; per-channel operands are not packed."""
        nr = kernels.kernel(op.attributes["kernel"]).packing[1]
        return {1: Packing(("depthwise", nr), lambda data: depthwise.pack(data, nr))}

    def kernel_calls(self, program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]:
        """None: kernel timing does not support int8 kernels."""
        return iter(())


def _packed_pixels(program: Program, op: Op, kernel: Kernel, target: Target) -> int:
    """The best number of neighboring pixels to pack into one row: they share the overhead of the
    row and the padded columns. 1 if the pixels are not adjacent in memory.
    """
    w, y = program.vars[op.inputs[1]], program.vars[op.outputs[0]]
    is_pointwise, is_im2col = _is_pointwise(op, w.shape), w.shape[1] % kernel.depth_step != 0
    ends = [op.outputs[0], *(op.inputs[:1] if is_pointwise else ())]
    adjacent = all(pixel_stride(program, name) == program.vars[name].shape[1] for name in ends)
    if int(op.attributes["group"]) != 1 or not adjacent or not (is_pointwise or is_im2col):
        return 1
    channels, depth = w.shape[0], math.prod(w.shape[1:]) + _row_padding(op, w.shape, kernel)
    row = _ROW_CYCLES * fmas_per_cycle(kernel, target) * rate(kernel)
    unit, kr = min(kernel.packing[1], _COLUMNS), kernel.depth_step

    def cost(fold: int) -> float:
        columns, padded = -(-fold * channels // unit) * unit, -(-fold * depth // kr) * kr
        return (columns * (padded + REQUANTIZATION * rate(kernel)) + row) / fold

    return min(range(1, max(min(_MAX_PACKED_PIXELS, y.count // channels), 1) + 1), key=cost)


def _is_pointwise(op: Op, w: tuple[int, ...]) -> bool:
    """Whether it is a 1x1 convolution without strides or padding."""
    strides, pads = op.attributes["strides"], op.attributes["pads"]
    return w[2:] == (1, 1) and set(strides) == {1} and not any(pads)


def _row_padding(op: Op, w: tuple[int, ...], kernel: Kernel) -> int:
    """Padding between the rows of packed pixels, which im2col copies side by side."""
    return 0 if _is_pointwise(op, w) else -math.prod(w[1:]) % kernel.depth_step


def _depth(program: Program, op: Op, kernel: Kernel, fold: int) -> int:
    """The depth of a group's GEMM, padded to the kernel's depth step."""
    w, padding = (
        program.vars[op.inputs[1]],
        _row_padding(op, program.vars[op.inputs[1]].shape, kernel),
    )
    if kernel.family == _PAIRED:
        assert w.data is not None
        groups, nr = int(op.attributes["group"]), kernel.packing[1]
        if w.packed:
            return (
                weight_pairs.packed_steps(w.data, fold * w.shape[0], groups, nr)
                * weight_pairs.DEPTH
            )
        return (
            weight_pairs.order(gemm.pack_pixels(w.data, fold, padding), groups, nr).steps
            * weight_pairs.DEPTH
        )
    depth = fold * (math.prod(w.shape[1:]) + padding)
    return -(-depth // kernel.depth_step) * kernel.depth_step


def _adds_in_16_bits(kernel: Kernel) -> bool:
    """Whether a kernel adds two multiplication results in 16 bits before it widens them: on ARM the
    depthwise kernels, and the GEMM kernels with a depth step of 16.
    """
    is_window = kernel.family == "depthwise" and kernel.path.parent.name == "arm"
    return is_window or kernel.depth_step == 16


def _above_minimum(program: Program, op: Op) -> bool:
    """Whether two weights times any inputs add up within 16 bits."""
    data = program.vars[op.inputs[1]].data
    return data is not None and bool(np.all(data > _MIN))


ALGORITHMS = (QuantizedGemm(), QuantizedDepthwise())
