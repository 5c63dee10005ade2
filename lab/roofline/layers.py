"""The layers to time kernels on: the kernel calls of planned programs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.planner import algorithms
from trimtab.planner.kernel_calls import KernelCall, window_sizes
from trimtab.program import Op, Program

_MIN_BYTES = 4096  # a smaller layer would time the call, not the kernel


def layers_of(program: Program) -> Iterator[tuple[str, KernelCall, int]]:
    """Yields (kernel name, layer, count) for each kernel call of a planned program.

    Covers the operators of `planner.algorithms` and of `_MAKERS`; others are left out.
    """
    for op in program.ops:
        if algorithm := algorithms.algorithm_of(op):
            for attribute, call, count in algorithm.kernel_calls(program, op):
                yield op.attributes[attribute], call, count
            for packing in algorithm.packings(program, op).values():
                if packing.at_load:
                    yield from packing.at_load.calls
        elif name := op.attributes.get("kernel", ""):
            args_type = kernels.kernel(name).args_type
            if make := _MAKERS.get((op.type, args_type)) or _MAKERS.get(("", args_type)):
                yield name, make(program, op), 1
        if name := op.attributes.get("activation_kernel", ""):
            yield name, _unary(program, op), 1


def _pool(program: Program, op: Op) -> KernelCall:
    return _windows(program, op, op.attributes["kernel_shape"], op.attributes["strides"][0])


def _global_pool(program: Program, op: Op) -> KernelCall:
    return _windows(program, op, program.vars[op.inputs[0]].shape[2:], 1)


def _windows(program: Program, op: Op, window: tuple[int, ...], stride: int) -> KernelCall:
    x, y = program.vars[op.inputs[0]], program.vars[op.outputs[0]]
    return KernelCall.of(
        "PoolArgs", x.dtype, 0, x.count + y.count, **window_sizes(y.shape, window, stride)
    )


def _unary(program: Program, op: Op) -> KernelCall:
    n = program.vars[op.outputs[0]].count
    return KernelCall.of("UnaryArgs", program.dtype(op), 0, 2 * n, n=n)


def _binary(program: Program, op: Op) -> KernelCall:
    n = program.vars[op.outputs[0]].count
    smaller = min(program.vars[name].count for name in op.inputs)
    if smaller in (1, n):
        return KernelCall.of("BinaryArgs", program.dtype(op), 0, 3 * n, n=n, runs=1)
    # One value per channel, as in squeeze-and-excite.
    return KernelCall.of(
        "BinaryArgs", program.dtype(op), 0, 2 * n + smaller, n=smaller, runs=n // smaller
    )


def _softmax(program: Program, op: Op) -> KernelCall:
    y = program.vars[op.outputs[0]]
    n = y.shape[op.attributes["axis"]]
    args = "SoftmaxColumnsArgs" if op.type == "softmax_columns" else "SoftmaxArgs"
    return KernelCall.of(args, program.dtype(op), 0, 2 * y.count, n=n, rows=y.count // n)


def _normalize(program: Program, op: Op) -> KernelCall:
    y = program.vars[op.outputs[0]]
    n = math.prod(y.shape[op.attributes["axis"] :])
    return KernelCall.of("NormalizeArgs", program.dtype(op), 0, 2 * y.count, n=n, rows=y.count // n)


# By (operator, argument type); operator "": all operators that call kernels of this type.
_MAKERS: dict[tuple[str, str], Callable[[Program, Op], KernelCall]] = {
    ("max_pool", "PoolArgs"): _pool,
    ("average_pool", "PoolArgs"): _pool,
    ("global_max_pool", "PoolArgs"): _global_pool,
    ("global_average_pool", "PoolArgs"): _global_pool,
    ("", "UnaryArgs"): _unary,
    ("", "BinaryArgs"): _binary,
    ("", "SoftmaxArgs"): _softmax,
    ("", "SoftmaxColumnsArgs"): _softmax,
    ("layer_normalization", "NormalizeArgs"): _normalize,
}


# The zoo's networks are float32 and do not learn. Kernels that only others call are timed on the
# layers of unary functions or of GEMM.
_LIKE_UNARY = (
    *("LookUpArgs", "QuantizeArgs", "QlinearAddArgs", "QlinearMeanArgs", "QlinearMulArgs"),
    *("QlinearPoolArgs", "CameraRowArgs", "UpdateArgs", "PlaneRowsArgs"),
)
_LIKE_GEMM = ("PairedGemmArgs", "WinogradProductArgs")
_ALIKE = {
    **dict.fromkeys(_LIKE_UNARY, "UnaryArgs"),
    **dict.fromkeys(_LIKE_GEMM, "GemmArgs"),
    **dict.fromkeys(("NormalizeArgs", "SoftmaxColumnsArgs"), "SoftmaxArgs"),
}


def collect(programs: Iterable[Program]) -> dict[str, Counter[KernelCall]]:
    """Maps each kernel to its layers in the planned `programs`, with their total work."""
    by_kernel: dict[str, Counter[KernelCall]] = {}
    for program in programs:
        for name, layer, count in layers_of(program):
            if layer.bytes < _MIN_BYTES:
                continue
            by_kernel.setdefault(name, Counter())[layer] += layer.work * count
    return by_kernel


def assign(
    chosen: Iterable[Kernel], by_kernel: Mapping[str, Counter[KernelCall]], limit: int
) -> dict[str, tuple[KernelCall, ...]]:
    """Selects at most `limit` layers for each kernel.

    A kernel that no network calls gets the layers of kernels with the same argument type, and
    without any, those with the same argument type for another element type.
    """
    by_type: dict[tuple[str, str], Counter[KernelCall]] = {}
    for counts in by_kernel.values():
        for layer, work in counts.items():
            by_type.setdefault((layer.args_type, layer.dtype), Counter())[layer] += work

    def fallback(k: Kernel) -> Counter[KernelCall]:
        own = by_type.get((k.args_type, k.dtype))
        alike = _ALIKE.get(k.args_type, k.args_type)
        others = (counts for (args, _), counts in by_type.items() if args == alike)
        typed = {layer.with_dtype(k.dtype): n for counts in others for layer, n in counts.items()}
        return own or Counter(
            {replace(layer, args_type=k.args_type): n for layer, n in typed.items()}
        )

    return {
        k.name: select(_fitting(k, by_kernel.get(k.name) or fallback(k)), limit) for k in chosen
    }


def _fitting(kernel: Kernel, counts: Counter[KernelCall]) -> Counter[KernelCall]:
    """The layers that the kernel's tile size can compute."""
    fitting = Counter[KernelCall]()
    for layer, count in counts.items():
        sizes = dict(layer.sizes)
        tile = sizes.get("tile", kernel.mr), sizes.get("size", kernel.nr)
        if kernel.portable or not kernel.nr or (kernel.mr or tile[0], kernel.nr) == tile:
            fitting[layer] = count
    return fitting


def select(counts: Counter[KernelCall], limit: int) -> tuple[KernelCall, ...]:
    """At most `limit` layers, smallest first: the ones with most work, the smallest and the
    largest.
    """
    ordered = sorted(counts, key=lambda layer: (layer.work, layer.sizes))
    heavy = [layer for layer, _ in counts.most_common()]
    ends = [*ordered[-1:], *ordered[:1]]
    picked = dict.fromkeys((*heavy[: max(1, limit - len(ends))], *ends, *heavy))
    return tuple(sorted([*picked][:limit], key=ordered.index))
