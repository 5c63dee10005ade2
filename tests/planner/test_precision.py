"""Precision: the dtypes of operators, the casts between them, and refused requests."""

from __future__ import annotations

import numpy as np
import pytest

import trimtab
from tests.small_programs import Net
from trimtab import passes, profile_of
from trimtab.bench.golden import HALF_COSINE, Golden, check
from trimtab.errors import PlanError, WrongOutputError
from trimtab.planner import planner
from trimtab.planner.plan_file import Choice, Plan, plan_of
from trimtab.program import Program
from trimtab.target import Target

A76 = Target.of("aarch64", "cortex-a76")
HALF = Plan(precision="f16")


def two_convolutions() -> Program:
    net = Net(x=(1, 16, 12, 12))
    return net.finish(net("softmax", net.conv(net.conv("x", 32, 3), 24), axis=1))


def planned(program: Program, target: Target = A76) -> Program:
    return planner.plan(passes.optimize(program), target, HALF)


def types(program: Program) -> dict[str, set[str]]:
    result: dict[str, set[str]] = {}
    for op in program.steps:
        result.setdefault(op.type, set()).add(program.dtype(op))
    return result


def test_intermediate_tensors_are_f16_and_graph_inputs_and_outputs_f32() -> None:
    planned_program = planned(two_convolutions())
    assert types(planned_program)["conv"] == {"f16"}
    assert types(planned_program)["softmax"] == {"f16"}
    assert {
        planned_program.vars[name].dtype
        for name in (*planned_program.inputs, *planned_program.outputs)
    } == {"f32"}
    assert [op.type for op in planned_program.steps].count("cast") == 2
    assert planned_program.inputs == ["x"]


def test_f16_kernels_are_native_except_for_large_winograd_tiles() -> None:
    planned_program = planned(two_convolutions())
    kernels = {op.type: op.attributes.get("kernel", "") for op in planned_program.steps}
    assert kernels["conv"] == "gemm_f16_8x16_neonfp16"
    assert kernels["softmax"] == "softmax_f16_neonhalf"


def test_an_operator_without_f16_stays_f32_between_casts() -> None:
    net = Net(x=(1, 16, 12, 12))
    program = net.finish(net.conv(net("lrn", net.conv("x", 32, 3), size=5), 24))
    planned_program = planned(program)
    assert types(planned_program)["lrn"] == {"f32"}
    assert "f16" in types(planned_program)["conv"]
    assert [op.type for op in planned_program.steps].count("cast") == 4


def test_a_small_program_is_not_cast() -> None:
    net = Net(x=(1, 16, 12, 12))
    planned_program = planned(net.finish(net("sigmoid", "x")))
    assert [op.type for op in planned_program.steps] == ["sigmoid"]
    assert types(planned_program) == {"sigmoid": {"f32"}}


def test_weights_of_f16_programs_halve_the_file() -> None:
    program = two_convolutions()
    single = planner.plan(passes.optimize(program), A76)
    assert sum(
        v.data.nbytes for v in planned(program).constants() if v.data is not None
    ) * 2 == sum(v.data.nbytes for v in single.constants() if v.data is not None)


def test_a_binary_of_an_f16_program_contains_only_f16_kernels() -> None:
    profile = profile_of(planned(two_convolutions()))
    assert {k.dtype for k in profile.kernels_for("aarch64")} == {"f16"}
    conv = next(op for op in profile.operators() if op.name == "conv")
    assert profile.dtypes_of(conv, profile.kernels_for("aarch64")) == ("f16",)


@pytest.mark.parametrize(("arch", "cpu"), [("aarch64", "cortex-a53"), ("armv7", "cortex-a7")])
def test_a_core_without_f16_arithmetic_is_refused_with_an_alternative(arch: str, cpu: str) -> None:
    with pytest.raises(PlanError, match=r"no f16 arithmetic\s+next: --weights f16"):
        planned(two_convolutions(), Target.of(arch, cpu))


def test_a_constant_that_is_too_large_for_f16_is_refused() -> None:
    program = two_convolutions()
    weights = next(v for v in program.constants() if len(v.shape) == 4)
    assert weights.data is not None
    weights.data = np.full_like(weights.data, 70000.0)
    with pytest.raises(PlanError, match="70000, which is too large for f16"):
        planned(program)


def test_no_tile_of_winograd_in_f16_has_eight_inputs() -> None:
    net = Net(x=(1, 64, 56, 56))
    program = net.finish(net.conv("x", 64, 3))
    optimized = passes.optimize(program)
    key = next(op.name for op in optimized.ops if op.type == "conv")
    plan = Plan(operators={key: Choice("winograd_6")}, precision="f16")
    with pytest.raises(PlanError, match="winograd_6 cannot compute"):
        planner.plan(optimized, A76, plan)


def test_a_plan_contains_its_precision_and_reproduces_the_program() -> None:
    program = passes.optimize(two_convolutions())
    planned_program = planner.plan(program, A76, HALF)
    decisions = plan_of(planned_program)
    assert decisions.precision == "f16"
    assert 'precision = "f16"' in decisions.to_toml()
    again = planner.plan(program, A76, decisions)
    assert [(op.type, op.attributes) for op in again.ops] == [
        (op.type, op.attributes) for op in planned_program.ops
    ]
    assert plan_of(planner.plan(program, A76)).precision == "f32"


def test_results_equal_float32_within_f16_precision() -> None:
    net = Net(x=(1, 16, 12, 12))
    program = net.finish(net("relu", net.conv(net.conv("x", 32, 3), 24)))
    x = {"x": np.random.default_rng(3).standard_normal((1, 16, 12, 12)).astype(np.float32)}
    (want,) = trimtab.Session(program).run(x).values()
    (result,) = trimtab.Session(program, plan=HALF).run(x).values()
    assert result.dtype == np.float32
    assert not np.array_equal(result, want)
    golden = Golden([x["x"]], [want], ["y"], "f32").within("f16")
    assert check(golden, 0, result.tobytes()).cosine >= HALF_COSINE


def test_an_f16_output_that_is_off_by_more_than_a_hundredth_of_the_largest_is_wrong() -> None:
    want = np.linspace(-4, 4, 100, dtype=np.float32)
    golden = Golden([], [want], ["y"], "numpy").within("f16")
    near, far = want.copy(), want.copy()
    near[50] += 0.039
    far[50] += 0.041
    check(golden, 0, near.tobytes())
    with pytest.raises(WrongOutputError, match=r"the tolerance 0\.01 "):
        check(golden, 0, far.tobytes())


def test_an_f16_output_with_low_cosine_is_wrong() -> None:
    want = np.ones(100, np.float32)
    turned = want.copy()
    turned[:50] = 0.5
    with pytest.raises(WrongOutputError, match="cosine"):
        check(Golden([], [want], ["y"], "numpy").within("f16"), 0, turned.tobytes())
