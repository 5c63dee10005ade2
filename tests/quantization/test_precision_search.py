"""The search among precisions beside all choices that there are."""

from __future__ import annotations

import importlib
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from tests.small_programs import Net, normal
from trimtab import passes, quantization
from trimtab.accuracy import parse_budget
from trimtab.cores import Fit, KernelFit
from trimtab.planner import planner
from trimtab.program import Program
from trimtab.quantization import Quantized
from trimtab.target import Target

A53 = Target.of("aarch64", "cortex-a53")
SHAPE = (1, 32, 16, 16)
INPUTS = "abcd"
BUDGET = "noise <= 0.1 %"
SAMPLES = {
    name: np.random.default_rng(i).normal(0, 1, (10, *SHAPE)).astype(np.float32)
    for i, name in enumerate(INPUTS)
}


def branches(head: str) -> Program:
    """Parallel convolutions with one output each. The last one is the largest, so that int8 saves
    most there, and its output has the largest error, because it is an exponential. With a sigmoid
    this also holds for the mean error; most results of a softmax are small, so that other errors
    are larger.
    """
    net = Net(**dict.fromkeys(INPUTS, SHAPE))
    outputs = [net("relu", net.conv(x, 64 + 32 * i)) for i, x in enumerate(INPUTS[:-1])]
    logits = net("conv", INPUTS[-1], normal(256, 32, 1, 1) * 8, normal(256))
    last = net("sigmoid", logits) if head == "sigmoid" else net("softmax", logits, axis=1)
    return net.finish(*outputs, last)


def cycles(quantized: Quantized) -> float:
    optimized = passes.optimize(quantized.program)
    return planner.total_cycles(planner.decide(optimized, A53, quantized.plan), A53)


def cheapest(program: Program, ranges: quantization.Ranges) -> tuple[float, set[str]]:
    """Cycles of the cheapest choice within the budget, by exhaustive search, and which
    convolutions it leaves in float32.
    """
    simple = passes.simplify(program, before="fuse_residual")
    convolutions = [op.name for op in simple.ops if op.type == "conv"]
    (demand,) = parse_budget(BUDGET)
    result = []
    for count in range(1, len(convolutions) + 1):
        for off in combinations(convolutions, count):
            reads = {name: op for op in simple.ops for name in op.outputs}
            types = {}
            for op in simple.ops:
                source = reads.get(op.inputs[0])
                is_off = op.name in off or (source is not None and source.name in off)
                types[op.name] = "f32" if is_off else "int8"
            quantized = quantization.quantize(program, SAMPLES, ranges=ranges, types=types)
            if demand.holds(quantized.accuracy):
                result.append((cycles(quantized), set(off)))
    return min(result, key=lambda pair: pair[0])


@pytest.mark.parametrize("head", ["sigmoid", "softmax"])
def test_the_operator_with_the_largest_error_leaves_int8_first(head: str) -> None:
    program = branches(head)
    quantized = quantization.quantize(program, SAMPLES, budget=BUDGET, target=A53)
    assert quantized.search
    best = quantized.search.candidates[quantized.search.chosen]
    least, floats = cheapest(program, quantized.ranges)
    assert len(floats) == 1
    assert best.cycles == pytest.approx(least)
    given_up = {one.name for one in quantized.search.operators if one.precision != "int8"}
    assert given_up == floats
    assert given_up == {max(quantized.search.operators, key=lambda one: one.saved).name}


def test_a_search_tries_a_limited_number_of_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each choice computes the held-out samples, which takes most of a search's time."""
    module = importlib.import_module("trimtab.quantization.budget_search")
    monkeypatch.setattr(module, "MAX_RETURNS", 2)
    program = branches("softmax")
    quantized = quantization.quantize(program, SAMPLES, budget=BUDGET, target=A53)
    assert quantized.search
    best = quantized.search.candidates[quantized.search.chosen]
    assert best.integers == 1
    (back,) = [one for one in quantized.search.operators if one.precision == "int8"]
    ranked = sorted(quantized.search.operators, key=lambda one: one.saved)
    assert back == ranked[-2], "the first try was of the one that saves most, and errs"


@pytest.mark.parametrize(("call", "is_chosen"), [(1.0, True), (1e9, False)])
def test_the_prices_are_those_that_were_measured_on_the_board(
    call: float, *, is_chosen: bool
) -> None:
    """Whatever the cost model says of int8 kernels, the fit of a core decides."""
    int8 = [k for k in A53.kernels() if k.family == "gemm" and k.dtype == "i8"]
    rows = tuple(KernelFit(k.name, "quantized", 1, 10, 0.0, call=call) for k in int8)
    fit = Fit("2026-11-26", "a board", "ns", 1.0, kernels=rows)
    board = replace(A53, core=replace(A53.core, fit=fit))
    result = quantization.quantize(branches("softmax"), SAMPLES, budget=BUDGET, target=board)
    assert result.search
    assert any(one.precision == "int8" for one in result.search.operators) == is_chosen
