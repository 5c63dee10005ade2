"""The layers that kernels are timed on: what the operators of planned programs call them for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.planner import algorithms
from trimtab.planner.kernel_calls import KernelCall, window_sizes
from trimtab.program import Op, Program

_LEAST_BYTES = 4096  # a smaller layer times the call, not the kernel


def layers_of(program: Program) -> Iterator[tuple[str, KernelCall, int]]:
    """(kernel name, layer, how many times) of every call in a planned program. Operators that call
    kernels in another way than those below and in `planner.algorithms` are left out.
    """
    for op in program.ops:
        if algorithm := algorithms.algorithm_of(op):
            for attribute, made, times in algorithm.kernel_calls(program, op):
                yield op.attributes[attribute], made, times
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
    least = min(program.vars[name].count for name in op.inputs)
    if least in (1, n):
        return KernelCall.of("BinaryArgs", program.dtype(op), 0, 3 * n, n=n, runs=1)
    # A vector of channels, as squeeze-and-excite has it.
    return KernelCall.of(
        "BinaryArgs", program.dtype(op), 0, 2 * n + least, n=least, runs=n // least
    )


def _softmax(program: Program, op: Op) -> KernelCall:
    y = program.vars[op.outputs[0]]
    n = y.shape[op.attributes["axis"]]
    return KernelCall.of("SoftmaxArgs", program.dtype(op), 0, 2 * y.count, n=n, rows=y.count // n)


# By (operator, type of arguments); operator "": every one that calls kernels of this type.
_MAKERS: dict[tuple[str, str], Callable[[Program, Op], KernelCall]] = {
    ("max_pool", "PoolArgs"): _pool,
    ("average_pool", "PoolArgs"): _pool,
    ("global_max_pool", "PoolArgs"): _global_pool,
    ("global_average_pool", "PoolArgs"): _global_pool,
    ("", "UnaryArgs"): _unary,
    ("", "BinaryArgs"): _binary,
    ("", "SoftmaxArgs"): _softmax,
}


# The zoo's networks are of real numbers: kernels that only quantized ones call are timed on as many
# elements as those of functions are, or on matrix products.
_LIKE_FUNCTIONS = (
    *("LookUpArgs", "QuantizeArgs", "QlinearAddArgs", "QlinearMeanArgs", "QlinearMulArgs"),
    "QlinearPoolArgs",
)
_LIKE_PRODUCTS = ("PairedGemmArgs", "WinogradProductArgs")
_ALIKE = {
    **dict.fromkeys(_LIKE_FUNCTIONS, "UnaryArgs"),
    **dict.fromkeys(_LIKE_PRODUCTS, "GemmArgs"),
}


def collect(programs: Iterable[Program]) -> dict[str, Counter[KernelCall]]:
    """Kernel -> its layers, each with the work it is in all of the planned `programs`."""
    found: dict[str, Counter[KernelCall]] = {}
    for program in programs:
        for name, layer, times in layers_of(program):
            if layer.bytes < _LEAST_BYTES:
                continue
            found.setdefault(name, Counter())[layer] += layer.work * times
    return found


def assign(
    chosen: Iterable[Kernel], found: Mapping[str, Counter[KernelCall]], most: int
) -> dict[str, tuple[KernelCall, ...]]:
    """At most `most` layers for every kernel: its own, or, as no network may call it, those of any
    kernel with arguments of the same type, at last with arguments for other elements.
    """
    by_type: dict[tuple[str, str], Counter[KernelCall]] = {}
    for counts in found.values():
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

    return {k.name: select(_fitting(k, found.get(k.name) or fallback(k)), most) for k in chosen}


def _fitting(kernel: Kernel, counts: Counter[KernelCall]) -> Counter[KernelCall]:
    """Those of the layers that are for tiles as in the kernel's name, or for any."""
    fitting = Counter[KernelCall]()
    for found, count in counts.items():
        sizes = dict(found.sizes)
        tile = sizes.get("tile", kernel.mr), sizes.get("size", kernel.nr)
        if kernel.portable or not kernel.nr or (kernel.mr or tile[0], kernel.nr) == tile:
            fitting[found] = count
    return fitting


def select(counts: Counter[KernelCall], most: int) -> tuple[KernelCall, ...]:
    """`most` of the layers, smallest first: those that are most of the work, the smallest and the
    largest.
    """
    ordered = sorted(counts, key=lambda layer: (layer.work, layer.sizes))
    heavy = [layer for layer, _ in counts.most_common()]
    ends = [*ordered[-1:], *ordered[:1]]
    picked = dict.fromkeys((*heavy[: max(1, most - len(ends))], *ends, *heavy))
    return tuple(sorted([*picked][:most], key=ordered.index))
