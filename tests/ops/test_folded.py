"""Pixel packing: neighboring pixels as one GEMM row give exactly onnxruntime's int8 values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab
from tests.engine.raw_runs import run_arrays
from tests.ops.quantized import QuantizedGraph, onnxruntime_of
from tests.ops.test_paired import is_convolution
from trimtab import _engine, kernels, modelfile
from trimtab.errors import ProgramError
from trimtab.planner.plan_file import Choice, Plan, operator_keys
from trimtab.program import Program
from trimtab.target import Target

pytestmark = pytest.mark.bounds

# id: input, weights, attributes; sizes that the input is resized to. In some cases the pixels fill
# the last row, in others they do not.
CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], list[Any]]] = {
    "4-to-8": ((1, 4, 11, 13), (8, 4, 1, 1), {}, [(1, 4, 12, 12), (1, 4, 1, 1)]),
    "8-to-4": ((1, 8, 7, 9), (4, 8, 1, 1), {}, [(3, 8, 5, 5), (1, 8, 1, 3)]),
    "8-to-8": ((2, 8, 16, 16), (8, 8, 1, 1), {}, [(1, 8, 3, 7)]),
    "odd-channels": ((1, 5, 9, 9), (3, 5, 1, 1), {}, [(1, 5, 2, 2), (2, 5, 7, 3)]),
    "one-result": ((1, 3, 17, 5), (1, 3, 1, 1), {}, []),
    "first-layer": (
        (1, 3, 23, 21),
        (8, 3, 3, 3),
        {"pads": [1, 1, 1, 1], "strides": [2, 2]},
        [(1, 3, 5, 5), (2, 3, 32, 32)],
    ),
    "window": ((1, 3, 9, 11), (4, 3, 3, 2), {"pads": [1, 0, 1, 1]}, [(1, 3, 6, 3)]),
    "apart": ((1, 7, 9, 9), (5, 7, 1, 1), {"strides": [2, 2]}, [(1, 7, 4, 4)]),
}
KERNELS = [
    kernel.name
    for kernel in kernels.inventory().values()
    if kernel.dtype == "i8"
    and kernel.family in ("gemm", "paired_gemm")
    and kernel.isa in Target.host().isas
    and not kernel.portable
]


def convolution(name: str, shape: tuple[int, ...], real: bool) -> tuple[QuantizedGraph, str]:
    """A convolution of the case over an input of this shape, and its output."""
    _, dims, attributes, _ = CASES[name]
    graph = QuantizedGraph(seed=len(name))
    w, scales = graph.weights(*dims, scales=dims[0] if dims[0] > 1 else 1)
    x = graph.pair(graph.input(*shape), 0.04, 9)
    y = graph.conv(x, 0.04, w, scales, **attributes)
    return graph, y if real else graph.pair(y, 0.11, -21)


def planned_for(kernel: str, program: Program, threads: int) -> Program:
    """The program planned for this machine, with this kernel for its convolution."""
    planned = trimtab.optimize(program)
    (key,) = (
        k for k, op in zip(operator_keys(planned), planned.ops, strict=True) if is_convolution(op)
    )
    plan = Plan(operators={key: Choice("quantized", {"kernel": kernel})})
    return trimtab.optimize(program, Target.host(threads=threads), plan)


def fits(kernel: str, name: str) -> bool:
    """True if a row holds at least one step of the kernel."""
    _, (_, *depth), _, _ = CASES[name]
    return not kernel.startswith("paired") or int(np.prod(depth)) >= 16


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize(
    ("name", "kernel"),
    [(name, kernel) for name in CASES for kernel in KERNELS if fits(kernel, name)],
)
def test_packed_pixels_equal_onnxruntime_at_all_sizes(name: str, kernel: str, real: bool) -> None:
    shape, _, _, others = CASES[name]
    graph, y = convolution(name, shape, real)
    program = trimtab.load(graph.model(y))
    for threads in (1, 3):
        planned = planned_for(kernel, program, threads)
        (conv,) = (op for op in planned.ops if is_convolution(op))
        assert conv.attributes["kernel"] == kernel
        assert conv.attributes["fold"] > 1
        executor = _engine.Executor(modelfile.encode(planned), threads)
        for size in (shape, *others):
            graph, y = convolution(name, size, real)
            feeds = graph.feeds()
            (want,) = onnxruntime_of(graph.model(y), feeds)
            executor.resize_input(0, list(size))
            (actual,) = run_arrays(executor, list(feeds.values()))
            np.testing.assert_allclose(actual, want, rtol=1e-5 if real else 0, atol=1e-4 * real)


def products(channels: int, *, joined: bool = False) -> Program:
    """A GEMM with equal channel counts; `joined`: two of them, whose results are concatenated."""
    graph = QuantizedGraph(seed=3)
    x = graph.pair(graph.input(1, channels, 12, 12), 0.04, 9)
    parts = []
    for _ in range(1 + joined):
        w, scales = graph.weights(channels, channels, 1, 1, scales=channels)
        parts.append(graph.pair(graph.conv(x, 0.04, w, scales), 0.11, -21))
    y = graph.pair(graph.node("Concat", *parts, axis=1), 0.11, -21) if joined else parts[0]
    return trimtab.load(graph.model(y))


def folds(planned: Program) -> list[object]:
    return [op.attributes["fold"] for op in planned.ops if op.type == "qlinear_conv"]


def test_pixels_of_few_channels_are_packed_and_of_many_are_not() -> None:
    (fold,) = folds(trimtab.optimize(products(8), Target.host()))
    assert fold != 1
    assert folds(trimtab.optimize(products(64), Target.host())) == [1]


def test_pixels_that_are_not_contiguous_are_not_packed() -> None:
    planned = trimtab.optimize(products(8, joined=True), Target.host())
    assert folds(planned) == [1, 1]
    for op in planned.ops:
        if op.type == "qlinear_conv":
            op.attributes["fold"] = 2
    with pytest.raises(ProgramError, match="packed pixels must be contiguous"):
        trimtab.Session(planned)
