"""The layers that kernels are timed on: what the operators of planned programs call them for.

A layer is described in the sizes that bindings/kernel_timer.cpp makes the calls from, per type of
arguments:

    GemmF32Args             rows, columns, taps, k (elements of a tap), step (elements between
                            pixels), line (pixels between taps)
    DepthwiseF32Args,       height, width (of the output), channels, kernel_h, kernel_w, stride
    PoolF32Args
    Winograd...F32Args      height, width (in tiles), channels, tile, size (of its inputs)
    Strassen...F32Args      n, rows (of a quadrant)
    UnaryF32Args            n
    BinaryF32Args           n, runs (all with the same second operand)
    SoftmaxF32Args          n, rows
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.planner.packing import winograd
from trimtab.planner.packing.strassen import half_columns
from trimtab.program import Op, Program

_FLOAT = 4  # bytes
_LEAST_BYTES = 4096  # a smaller layer times the call, not the kernel


@dataclass(frozen=True)
class Layer:
    """The calls that one operator makes of a kernel. `operations`: floating-point operations of
    sums of products, 0 for kernels that rather move data; `bytes`: what is read and written at
    least once.
    """

    args_type: str
    sizes: tuple[tuple[str, int], ...]
    operations: int
    bytes: int

    @property
    def work(self) -> int:
        """What layers of one kernel are compared by."""
        return self.operations or self.bytes

    @property
    def label(self) -> str:
        """The sizes as people read them."""
        return " ".join(f"{name}={size}" for name, size in self.sizes if size > 1)


def _layer(args_type: str, operations: int, floats: int, **sizes: int) -> Layer:
    return Layer(args_type, tuple(sizes.items()), operations, _FLOAT * floats)


def layers_of(program: Program) -> Iterator[tuple[str, Layer, int]]:
    """(kernel name, layer, how many times) of every call in a planned program. Operators that call
    kernels in another way than those below are left out.
    """
    for op in program.ops:
        for attribute in op.schema.attributes:
            if attribute.type == "kernel" and (name := op.attributes[attribute.name]):
                kernel = kernels.kernel(name)
                if attribute.name == "activation_kernel":
                    yield name, _unary(program, op)[0], 1
                elif make := _MAKERS.get((op.type, kernel.args_type)) or _MAKERS.get(
                    ("", kernel.args_type)
                ):
                    yield name, *make(program, op)


def _image(program: Program, name: str) -> tuple[int, int, int, int]:
    n, c, h, w = program.vars[name].shape
    return n, c, h, w


def product(rows: int, columns: int, k: int, taps: int = 1, step: int = 0, line: int = 0) -> Layer:
    """A layer of a matrix kernel; one tap of rows without gaps by default."""
    step = step or k
    floats = (rows + (taps - 1) * line) * step + columns * taps * k + rows * columns
    return _layer(
        "GemmF32Args",
        2 * rows * columns * taps * k,
        floats,
        rows=rows,
        columns=columns,
        taps=taps,
        k=k,
        step=step,
        line=line if taps > 1 else 0,
    )


def _convolution(program: Program, op: Op) -> tuple[Layer, int]:
    n, c_out, h, w = _image(program, op.outputs[0])
    _, c_in, kernel_h, kernel_w = program.vars[op.inputs[1]].shape
    groups, stride = op.attributes["group"], op.attributes["strides"][1]
    # Away from the borders a kernel row is one piece; see docs/planner.md.
    layer = product(
        n * h * w, c_out // groups, kernel_w * c_in, kernel_h, stride * c_in * groups, w
    )
    return layer, groups


def _winograd_product(program: Program, op: Op) -> tuple[Layer, int]:
    rows, columns = _tiles(program, op)
    c_out, c_in = program.vars[op.inputs[1]].shape[:2]
    depth = c_in * op.attributes["strides"][0] ** 2
    return product(rows * columns, c_out, depth), winograd.tile_of(program, op)[1] ** 2


def _strassen_columns(program: Program, op: Op) -> int:
    c_out = program.vars[op.inputs[1]].shape[0]
    return half_columns(c_out, kernels.kernel(op.attributes["kernel"]).packing[1])


def _strassen_product(program: Program, op: Op) -> tuple[Layer, int]:
    c_out, k = program.vars[op.inputs[1]].shape[:2]
    rows = program.vars[op.outputs[0]].count // c_out
    return product(math.ceil(rows / 2), _strassen_columns(program, op), k // 2), 7


def _strassen_sums(program: Program, op: Op) -> tuple[Layer, int]:
    x = program.vars[op.inputs[0]]
    rows, n = x.count // x.shape[1] // 2, x.shape[1] // 2
    return _layer("StrassenSumsF32Args", 0, rows * n * (4 + 4), n=n, rows=rows), 1


def _strassen_results(program: Program, op: Op) -> tuple[Layer, int]:
    y = program.vars[op.outputs[0]]
    rows, n = y.count // y.shape[1] // 2, _strassen_columns(program, op)
    return _layer("StrassenResultsF32Args", 0, rows * n * (3 + 1), n=n, rows=rows), 1


def _tiles(program: Program, op: Op) -> tuple[int, int]:
    n, _, h, w = _image(program, op.outputs[0])
    tile = op.attributes["tile"]
    return n * math.ceil(h / tile), math.ceil(w / tile)


def _winograd_input(program: Program, op: Op) -> tuple[Layer, int]:
    c_in, stride = _image(program, op.inputs[0])[1], op.attributes["strides"][0]
    return _transform(program, op, "WinogradInputF32Args", winograd.input_channels(c_in, stride))


def _winograd_output(program: Program, op: Op) -> tuple[Layer, int]:
    return _transform(program, op, "WinogradOutputF32Args", _image(program, op.outputs[0])[1])


def _transform(program: Program, op: Op, args_type: str, channels: int) -> tuple[Layer, int]:
    height, width = _tiles(program, op)
    tile, size = winograd.tile_of(program, op)
    floats = height * width * channels * (size**2 + tile**2)
    sizes = {"height": height, "width": width, "channels": channels, "tile": tile, "size": size}
    return _layer(args_type, 0, floats, **sizes), 1


def _full_connection(program: Program, op: Op) -> tuple[Layer, int]:
    rows, columns = program.vars[op.outputs[0]].shape
    return product(rows, columns, program.vars[op.inputs[1]].shape[1]), 1


def _depthwise(program: Program, op: Op) -> tuple[Layer, int]:
    window = program.vars[op.inputs[1]].shape[2:]
    layer = _windows(program, op, "DepthwiseF32Args", window, op.attributes["strides"][0])
    return layer, 1


def _pool(program: Program, op: Op) -> tuple[Layer, int]:
    window, strides = op.attributes["kernel_shape"], op.attributes["strides"]
    return _windows(program, op, "PoolF32Args", window, strides[0]), 1


def _global_pool(program: Program, op: Op) -> tuple[Layer, int]:
    window = program.vars[op.inputs[0]].shape[2:]
    return _windows(program, op, "PoolF32Args", window, 1), 1


def _windows(
    program: Program, op: Op, args_type: str, window: tuple[int, ...], stride: int
) -> Layer:
    n, channels, height, width = _image(program, op.outputs[0])
    products = n * height * width * channels * window[0] * window[1]
    depthwise = args_type == "DepthwiseF32Args"
    return _layer(
        args_type,
        2 * products if depthwise else 0,
        program.vars[op.inputs[0]].count + program.vars[op.outputs[0]].count,
        height=n * height,
        width=width,
        channels=channels,
        kernel_h=window[0],
        kernel_w=window[1],
        stride=stride,
    )


def _unary(program: Program, op: Op) -> tuple[Layer, int]:
    n = program.vars[op.outputs[0]].count
    return _layer("UnaryF32Args", 0, 2 * n, n=n), 1


def _binary(program: Program, op: Op) -> tuple[Layer, int]:
    n = program.vars[op.outputs[0]].count
    least = min(program.vars[name].count for name in op.inputs)
    if least in (1, n):
        return _layer("BinaryF32Args", 0, 3 * n, n=n, runs=1), 1
    # A vector of channels, as squeeze-and-excite has it.
    return _layer("BinaryF32Args", 0, 2 * n + least, n=least, runs=n // least), 1


def _softmax(program: Program, op: Op) -> tuple[Layer, int]:
    y = program.vars[op.outputs[0]]
    n = y.shape[op.attributes["axis"]]
    return _layer("SoftmaxF32Args", 0, 2 * y.count, n=n, rows=y.count // n), 1


_Maker = Callable[[Program, Op], tuple[Layer, int]]
# By (operator, type of arguments); operator "": every one that calls kernels of this type.
_MAKERS: dict[tuple[str, str], _Maker] = {
    ("conv", "GemmF32Args"): _convolution,
    ("conv_winograd", "GemmF32Args"): _winograd_product,
    ("conv_strassen", "GemmF32Args"): _strassen_product,
    ("gemm", "GemmF32Args"): _full_connection,
    ("conv", "DepthwiseF32Args"): _depthwise,
    ("max_pool", "PoolF32Args"): _pool,
    ("average_pool", "PoolF32Args"): _pool,
    ("global_max_pool", "PoolF32Args"): _global_pool,
    ("global_average_pool", "PoolF32Args"): _global_pool,
    ("", "WinogradInputF32Args"): _winograd_input,
    ("", "WinogradOutputF32Args"): _winograd_output,
    ("", "StrassenSumsF32Args"): _strassen_sums,
    ("", "StrassenResultsF32Args"): _strassen_results,
    ("", "UnaryF32Args"): _unary,
    ("", "BinaryF32Args"): _binary,
    ("", "SoftmaxF32Args"): _softmax,
}


def collect(programs: Iterable[Program]) -> dict[str, Counter[Layer]]:
    """Kernel -> its layers, each with the work it is in all of the planned `programs`."""
    found: dict[str, Counter[Layer]] = {}
    for program in programs:
        for name, layer, times in layers_of(program):
            if layer.bytes < _LEAST_BYTES:
                continue
            found.setdefault(name, Counter())[layer] += layer.work * times
    return found


def assign(
    chosen: Iterable[Kernel], found: Mapping[str, Counter[Layer]], most: int
) -> dict[str, tuple[Layer, ...]]:
    """At most `most` layers for every kernel: its own, or, as no network may call it, those of any
    kernel with arguments of the same type.
    """
    by_type: dict[str, Counter[Layer]] = {}
    for counts in found.values():
        for layer, work in counts.items():
            by_type.setdefault(layer.args_type, Counter())[layer] += work
    return {
        kernel.name: select(
            _fitting(kernel, found.get(kernel.name) or by_type.get(kernel.args_type, Counter())),
            most,
        )
        for kernel in chosen
    }


def _fitting(kernel: Kernel, counts: Counter[Layer]) -> Counter[Layer]:
    if kernel.portable or not kernel.family.startswith("winograd"):
        return counts
    fitting = Counter[Layer]()
    for layer, count in counts.items():
        sizes = dict(layer.sizes)
        if kernel.nr == sizes["size"] and kernel.mr in (0, sizes["tile"]):
            fitting[layer] = count
    return fitting


def select(counts: Counter[Layer], most: int) -> tuple[Layer, ...]:
    """`most` of the layers, smallest first: those that are most of the work, the smallest and the
    largest.
    """
    ordered = sorted(counts, key=lambda layer: (layer.work, layer.sizes))
    heavy = [layer for layer, _ in counts.most_common()]
    ends = [*ordered[-1:], *ordered[:1]]
    picked = dict.fromkeys((*heavy[: max(1, most - len(ends))], *ends, *heavy))
    return tuple(sorted([*picked][:most], key=ordered.index))
