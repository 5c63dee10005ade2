"""Convolutions of quantized numbers: products of bytes, sums of 32 bits."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.planner import blocking, gemm_work
from trimtab.planner.algorithms import depthwise, twin
from trimtab.planner.concat_elision import pixel_stride
from trimtab.planner.cost import ROUNDING, Work, rate
from trimtab.planner.kernel_calls import KernelCall
from trimtab.planner.packing import Packing, gemm, weight_pairs
from trimtab.program import Op, Program
from trimtab.schema import Attribute
from trimtab.target import Target

_OPERATOR, _DEPTHWISE = "qlinear_conv", "qlinear_conv_depthwise"
_PAIRED = "paired_gemm"  # the family of kernels that add products in pairs
_LEAST = -128
# Folded pixels (docs/planner.md): at most so many; columns that kernels of wider panels compute in
# any case; and what a row takes beside products and roundings, measured on x86.
_MOST_FOLDED, _COLUMNS, _ROW_CYCLES = 16, 16, 12
_ROWS = 8  # down which kernels go with what they loaded for the rows before


class QuantizedProducts:
    """Each group is one product: pixels by taps and input channels, times output channels."""

    name = "quantized"
    dtypes = ("i8",)
    channels_alike = True

    def lower(self, program: Program, op: Op, target: Target) -> Op | None:
        """Every quantized convolution stays what it is."""
        return twin(op, _OPERATOR) if op.type == _OPERATOR else None

    def made(self, op: Op) -> bool:
        """The operator is its own."""
        return op.type == _OPERATOR

    def fits(self, program: Program, op: Op, attribute: Attribute, kernel: Kernel) -> bool:
        """Kernels whose sums hold two products of 16 bits only without weights of -128; of pairs,
        rows that have a step's elements, where another machine's kernel need not stand in.
        """
        if kernel.family == _PAIRED:
            data = program.vars[op.inputs[1]].data
            return not kernel.portable and data is not None and weight_pairs.fits(data)
        return not _sums_16_bits(kernel) or _above_least(program, op)

    def work(self, program: Program, op: Op, kernel: Kernel, target: Target) -> Work:
        """That of the products, the depth filled up to what the kernel multiplies at once."""
        w, y = program.vars[op.inputs[1]], program.vars[op.outputs[0]]
        channels, groups = y.shape[1], int(op.attributes["group"])
        fold = _fold(program, op, kernel, target)
        rows, depth = y.count // channels, _depth(program, op, kernel, fold)
        columns = fold * channels // groups
        operations: float = groups * gemm_work.operations(kernel, -(-rows // fold), columns, depth)
        if (taps := math.prod(w.shape[2:])) > 1:
            panels = groups * -(-(channels // groups) // kernel.packing[1])
            operations += rows * taps * panels * kernels.isas()[kernel.isa].tap_cost * rate(kernel)
        roundings = y.count if op.attributes["to"] == "i8" else 0
        return Work(operations, w.bytes, roundings=roundings)

    def blocks(self, program: Program, op: Op, target: Target) -> dict[str, int | bool]:
        """Weights in the second-level cache, tiles of rows in the first."""
        kernel = kernels.kernel(op.attributes["kernel"])
        w, groups = program.vars[op.inputs[1]], int(op.attributes["group"])
        fold = _fold(program, op, kernel, target)
        depth = _depth(program, op, kernel, fold)
        return {
            "panels": blocking.panels(target, kernel, fold * w.shape[0] // groups, depth),
            "call_tiles": blocking.call_tiles(target, kernel, depth),
            "depth_step": kernel.depth_step,
            "fold": fold,
            "steps": depth // weight_pairs.DEPTH if kernel.family == _PAIRED else 0,
        }

    def packings(self, program: Program, op: Op) -> dict[int, Packing]:
        """Panels of weights, biases, scales and slopes."""
        kernel, groups = kernels.kernel(op.attributes["kernel"]), int(op.attributes["group"])
        nr, kr, fold = kernel.packing[1], kernel.depth_step, int(op.attributes["fold"])
        gap = _gap(op, program.vars[op.inputs[1]].shape, kernel)
        columns = Packing(
            ("bias", groups, nr, fold),
            lambda data: gemm.pack_bias(np.tile(data, fold), groups, nr),
        )
        if kernel.family == _PAIRED:
            w = program.vars[op.inputs[1]]
            own, key = gemm.fold(np.asarray(w.data), fold, gap), (_PAIRED, groups, nr, fold, gap)
            paired = Packing(
                key, lambda data: weight_pairs.pack(gemm.fold(data, fold, gap), groups, nr)
            )
            less = Packing(
                (*key, w.name),
                lambda data: weight_pairs.pack_bias(np.tile(data, fold), own, groups, nr),
            )
            return {1: paired, 2: less} | dict.fromkeys(range(3, len(op.inputs)), columns)
        weights = Packing(
            ("quantized", groups, nr, kr, fold, gap),
            lambda data: gemm.pack_steps(gemm.fold(data, fold, gap), groups, nr, kr),
        )
        return {1: weights} | dict.fromkeys(range(2, len(op.inputs)), columns)

    def kernel_calls(self, program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]:
        """None that the roofline knows yet."""
        return iter(())


class QuantizedDepthwise:
    """A window that slides over vectors of channels."""

    name = "quantized_depthwise"
    dtypes = ("i8",)
    channels_alike = True

    def lower(self, program: Program, op: Op, target: Target) -> Op | None:
        """Convolutions of which every input channel makes one output channel of its own."""
        if op.type != _OPERATOR or op.attributes["to"] != "i8":
            return None
        c_in, c_out = program.vars[op.inputs[0]].shape[1], program.vars[op.inputs[1]].shape[0]
        return twin(op, _DEPTHWISE) if op.attributes["group"] == c_in == c_out else None

    def made(self, op: Op) -> bool:
        """It has an operator of its own."""
        return op.type == _DEPTHWISE

    def fits(self, program: Program, op: Op, attribute: Attribute, kernel: Kernel) -> bool:
        """Kernels whose sums hold two products of 16 bits only without weights of -128."""
        return not _sums_16_bits(kernel) or _above_least(program, op)

    def work(self, program: Program, op: Op, kernel: Kernel, target: Target) -> Work:
        """Every tap of every output, the last tile of channels filled up."""
        w, y = program.vars[op.inputs[1]], program.vars[op.outputs[0]]
        channels = y.shape[1]
        taps = math.prod(w.shape[2:])
        operations = depthwise.operations(kernel, y.count // channels, channels, taps)
        return Work(operations, w.bytes, roundings=y.count)

    def blocks(self, program: Program, op: Op, target: Target) -> dict[str, int | bool]:
        """Rows that share taps, and pieces of lines."""
        window, (height, width) = (
            program.vars[op.inputs[1]].shape[2:],
            program.vars[op.outputs[0]].shape[2:],
        )
        rows = min(_ROWS, max(height, 1)) if depthwise.rows(op, window) > 1 else 1
        return {"rows": rows, "pixels": blocking.pixels(target, op, window, width, rows)}

    def packings(self, program: Program, op: Op) -> dict[int, Packing]:
        """Tiles of channels; what belongs to a channel is read as it is."""
        nr = kernels.kernel(op.attributes["kernel"]).packing[1]
        return {1: Packing(("depthwise", nr), lambda data: depthwise.pack(data, nr))}

    def kernel_calls(self, program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]:
        """None that the roofline knows yet."""
        return iter(())


def _fold(program: Program, op: Op, kernel: Kernel, target: Target) -> int:
    """How many pixels are best taken for one: they share what a row takes beside its products, and
    columns that are computed in any case. One where pixels are not next to each other in memory.
    """
    w, y = program.vars[op.inputs[1]], program.vars[op.outputs[0]]
    is_pixel, gathers = _is_pixel(op, w.shape), w.shape[1] % kernel.depth_step != 0
    ends = [op.outputs[0], *(op.inputs[:1] if is_pixel else ())]
    beside = all(pixel_stride(program, name) == program.vars[name].shape[1] for name in ends)
    if int(op.attributes["group"]) != 1 or not beside or not (is_pixel or gathers):
        return 1
    channels, depth = w.shape[0], math.prod(w.shape[1:]) + _gap(op, w.shape, kernel)
    row = _ROW_CYCLES * target.core.pipes.f32_fmas_per_cycle * rate(kernel)
    unit, kr = min(kernel.packing[1], _COLUMNS), kernel.depth_step

    def cost(fold: int) -> float:
        columns, filled = -(-fold * channels // unit) * unit, -(-fold * depth // kr) * kr
        return (columns * (filled + ROUNDING * rate(kernel)) + row) / fold

    return min(range(1, max(min(_MOST_FOLDED, y.count // channels), 1) + 1), key=cost)


def _is_pixel(op: Op, w: tuple[int, ...]) -> bool:
    """Whether its window sees the pixel itself, and no other."""
    strides, pads = op.attributes["strides"], op.attributes["pads"]
    return w[2:] == (1, 1) and set(strides) == {1} and not any(pads)


def _gap(op: Op, w: tuple[int, ...], kernel: Kernel) -> int:
    """Elements between the rows of folded pixels that are copied side by side."""
    return 0 if _is_pixel(op, w) else -math.prod(w[1:]) % kernel.depth_step


def _depth(program: Program, op: Op, kernel: Kernel, fold: int) -> int:
    """Of a group's products, filled up to what the kernel multiplies at once."""
    w, gap = program.vars[op.inputs[1]], _gap(op, program.vars[op.inputs[1]].shape, kernel)
    if kernel.family == _PAIRED:
        assert w.data is not None
        groups, nr = int(op.attributes["group"]), kernel.packing[1]
        if w.packed:
            return (
                weight_pairs.packed_steps(w.data, fold * w.shape[0], groups, nr)
                * weight_pairs.DEPTH
            )
        return (
            weight_pairs.order(gemm.fold(w.data, fold, gap), groups, nr).steps * weight_pairs.DEPTH
        )
    depth = fold * (math.prod(w.shape[1:]) + gap)
    return -(-depth // kernel.depth_step) * kernel.depth_step


def _sums_16_bits(kernel: Kernel) -> bool:
    """Whether it adds two products before it widens them: on ARM those for windows, and those with
    more depth at once than the products of 4 and 8 elements have.
    """
    is_window = kernel.family == "depthwise" and kernel.path.parent.name == "arm"
    return is_window or kernel.depth_step == 16


def _above_least(program: Program, op: Op) -> bool:
    """Whether two products with any input fit 16 bits."""
    data = program.vars[op.inputs[1]].data
    return data is not None and bool(np.all(data > _LEAST))


ALGORITHMS = (QuantizedProducts(), QuantizedDepthwise())
