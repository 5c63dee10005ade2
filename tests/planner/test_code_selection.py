"""Code that plans omit for size, and code that they keep."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.planner.test_planner import A53, convolution
from tests.planner.test_profile_overhead import network
from trimtab import kernels, schema
from trimtab.planner import code_bytes, code_selection, planner
from trimtab.planner.code_selection import Constraints
from trimtab.planner.plan_file import Choice, Plan, plan_of
from trimtab.profile import find_profile
from trimtab.program import Program
from trimtab.target import Target

SMALL = Plan(prefer="size")
CODE = code_bytes.code_sizes("aarch64")


def square() -> Program:
    """A 3x3 convolution that is best computed by winograd_6."""
    return convolution(64, 64, size=56, window=3)


def is_small(name: str) -> bool:
    kernel = kernels.kernel(name)
    return kernel.family in kernels.isas()[kernel.isa].slower


@pytest.mark.parametrize("name", ["squeezenet", "mobilenet_v1", "resnet18"])
def test_preferring_size_saves_more_bytes_than_it_costs_time(name: str) -> None:
    assert CODE
    program = network(name)
    plans = [planner.decide(program, A53, Plan())]
    limits = code_selection.select(lambda t, g: planner.decide(program, t, g), A53, SMALL)
    plans.append(planner.decide(program, limits.target, limits.plan))
    usual, small = (
        code_selection.code_cost(planned, Constraints(A53, SMALL), CODE) for planned in plans
    )
    assert small.bytes < usual.bytes
    assert small.time > usual.time
    assert small.total(SMALL) < usual.total(SMALL)
    used = [code_bytes.called_kernels(*planned.ops) for planned in plans]
    assert not any(is_small(kernel) for kernel in used[0])
    # A removed kernel is removed everywhere, so that only one GEMM kernel remains.
    assert len([k for k in used[1] if kernels.kernel(k).family == "gemm"]) == 1


@pytest.mark.parametrize(("name", "remaining"), [("squeezenet", True), ("resnet18", False)])
def test_the_default_plan_omits_code_that_saves_almost_no_time(name: str, remaining: bool) -> None:
    """5 KB of Strassen save SqueezeNet 2 % and ResNet-18 0.01 %."""
    assert CODE
    program = network(name)
    plans = planner.decide(program, A53, Plan()), planner.plan(program, A53)
    fastest, usual = (
        code_selection.code_cost(planned, Constraints(A53, Plan()), CODE) for planned in plans
    )
    assert usual.time <= 1.005 * fastest.time
    used = [any(op.type == "conv_strassen" for op in planned.ops) for planned in plans]
    assert used == [True, remaining]


def test_no_further_omission_reduces_the_cost() -> None:
    assert CODE
    program = network("squeezenet")

    def decide(target: Target, plan: Plan) -> Program:
        return planner.decide(program, target, plan)

    limits = code_selection.select(decide, A53, SMALL)
    planned = decide(limits.target, limits.plan)
    least = code_selection.code_cost(planned, limits, CODE).total(SMALL)
    for part, fewer in code_selection.omissions(planned, limits):
        twin = code_selection.attempt(decide, fewer)
        assert twin is None or code_selection.code_cost(twin, fewer, CODE).total(SMALL) >= least, (
            part
        )


def test_algorithms_of_a_plan_file_are_not_omitted() -> None:
    named = replace(SMALL, operators={"conv": Choice("winograd_4")})
    planned = planner.plan(square(), A53, named)
    assert plan_of(planned).operators["conv"].algorithm == "winograd_4"


def test_a_plan_for_size_respects_the_profile() -> None:
    program, available = network("squeezenet"), find_profile("mobilenet")
    planned = planner.plan(program, A53.with_profile(available), SMALL)
    assert {op.type for op in planned.ops} <= {op.name for op in available.operators()}


def test_an_architecture_without_code_sizes_has_the_default_plan() -> None:
    target = Target.of("riscv64")
    assert code_bytes.code_sizes("riscv64") is None
    usual, small = (planner.plan(square(), target, plan) for plan in (Plan(), SMALL))
    assert plan_of(usual) == plan_of(small)


@pytest.mark.parametrize("arch", ["aarch64", "armv7", "x86_64"])
def test_unmeasured_operators_and_kernels_have_the_code_size_of_their_kind(arch: str) -> None:
    code = code_bytes.code_sizes(arch)
    assert code
    kernel_names = {k.name for k in code_bytes.measured_profile().kernels_for(arch)}
    assert set(code.operators) <= set(schema.operators())
    assert set(code.kernels) <= kernel_names
    unary = [op.name for op in schema.operators().values() if op.kind == "unary"]
    functions = {n for n in kernel_names if kernels.kernel(n).args_type == "UnaryArgs"}
    for name in ({*schema.operators()} - {*code.operators}) | (kernel_names - {*code.kernels}):
        size = code.total((), [name]) - code.common
        assert size > 0, name
        if name in unary:
            assert size <= max(code.operators.get(other, 0) for other in unary)
        if name in functions:
            assert size <= max(code.kernels.get(other, 0) for other in functions)


def test_a_small_profile_has_small_kernels_if_they_exist() -> None:
    full = find_profile("full")
    usual, small = (
        set(replace(full, small=small).narrowed("aarch64", A53.isas).kernels)
        for small in (False, True)
    )
    families = {kernels.kernel(name).typed_family for name in small if is_small(name)}
    assert families == {"gemm_f32", "depthwise_f32"}
    assert all(is_small(name) for name in small if kernels.kernel(name).typed_family in families)
    assert small - usual <= {name for name in small if is_small(name)}
    assert {kernels.kernel(name).typed_family for name in small} == {
        kernels.kernel(name).typed_family for name in usual
    }
