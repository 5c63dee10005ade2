"""Plan files: their syntax, and the planner's use of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings, strategies

import trimtab
from tests.ops.cases.separable import FUSED
from tests.planner.test_planner import A53, chosen, convolution
from tests.some import some
from trimtab import files
from trimtab.errors import PlanError
from trimtab.planner import algorithms, plan_file, planner
from trimtab.planner.plan_file import Choice, Plan
from trimtab.program import Op, Program
from trimtab.target import Target

HASWELL = Target.of("x86_64", "haswell")


def square(activation: str = "") -> Program:
    """A 3x3 convolution for which the rule takes winograd_4."""
    return convolution(64, 64, size=56, window=3, activation=activation)


def algorithm(program: Program, overrides: Plan) -> str:
    result = algorithms.algorithm_of(planner.plan(program, A53, overrides).steps[0])
    return result.name if result else ""


# Of one operator; tests/ops/test_separable.py has those that take several.
@pytest.mark.parametrize(
    "name",
    [n for n in algorithms.names() if n not in FUSED and not n.startswith("quantized")],
)
def test_an_operator_uses_the_algorithm_of_the_plan_file(name: str) -> None:
    windows = {"strassen": 1, "winograd_5": 4}
    group = 64 if name == "depthwise" else 1
    stride = 2 if name.endswith("_strided") else 1
    window = windows.get(name, 3)
    dilation = 20 if name == "dilated" else 1
    program = convolution(
        64, 64, group, size=56, window=window, strides=(stride, stride), dilations=(dilation,) * 2
    )
    assert algorithm(program, Plan(operators={"conv": Choice(name)})) == name


def test_the_rule_chooses_from_the_algorithms_of_the_file() -> None:
    assert algorithm(square(), Plan()) == "winograd_4"
    assert algorithm(square(), Plan(("direct",))) == "direct"
    assert algorithm(square(), Plan(("direct", "winograd_2"))) == "winograd_2"


def test_an_operator_is_direct_if_no_allowed_algorithm_applies() -> None:
    assert algorithm(convolution(64, 64), Plan(("winograd_2",))) == "direct"


def test_an_override_of_an_operator_precedes_the_allowed_algorithms() -> None:
    overrides = Plan(("direct",), {"conv": Choice("winograd_4")})
    assert algorithm(square(), overrides) == "winograd_4"


def test_an_operator_uses_the_kernel_of_the_plan_file() -> None:
    overrides = Plan(operators={"conv": Choice(values={"kernel": "gemm_f32_portable"})})
    planned = planner.plan(convolution(16, 16), A53, overrides)
    assert planned.steps[0].attributes["kernel"] == "gemm_f32_portable"
    assert chosen(convolution(16, 16)).name != "gemm_f32_portable"


def test_a_depthwise_convolution_can_be_planned_as_a_gemm() -> None:
    overrides = Plan(operators={"conv": Choice("direct", {"kernel": "gemm_f32_6x16_avx2"})})
    planned = planner.plan(convolution(16, 16, group=16), HASWELL, overrides)
    assert planned.steps[0].attributes["kernel"] == "gemm_f32_6x16_avx2"


@pytest.mark.parametrize(
    ("choice", "complaint"),
    [
        (Choice(values={"kernel": "gemm_f32_9x9_neon"}), "there is no such kernel"),
        (Choice(values={"kernel": "relu_f32_neon"}), "there is no such kernel"),
        (Choice(values={"kernel": "sigmoid_f32_neon"}), "family sigmoid"),
        (Choice(values={"kernel": "depthwise_f32_8_neon"}), "family depthwise"),
        (Choice(values={"kernel": "gemm_f32_6x16_avx2"}), "cannot run avx2"),
        (Choice(values={"input_kernel": "gemm_f32_portable"}), "has no input_kernel"),
        (
            Choice("winograd_4", {"input_kernel": "winograd_input_f32_4_neon"}),
            "it is for tiles of another size",
        ),
        (
            Choice("winograd_4", {"output_kernel": "winograd_output_f32_4x8_neon"}),
            "it is for tiles of another size",
        ),
        (Choice(values={"activation_kernel": "elu_f32_neon"}), "family elu"),
    ],
)
def test_a_kernel_that_does_not_fit_is_refused_with_the_reason(
    choice: Choice, complaint: str
) -> None:
    program = square() if choice.algorithm else convolution(16, 16)
    with pytest.raises(PlanError, match=complaint) as error:
        planner.plan(program, A53, Plan(operators={"conv": choice}))
    assert "operator conv" in str(error.value)


@pytest.mark.parametrize(
    ("algorithm", "values"),
    [
        ("direct", {"panels": 3, "call_tiles": 2, "gap": 24}),
        ("winograd_4", {"panels": 1, "block": 7, "gap": 0}),
    ],
)
def test_an_operator_uses_the_block_sizes_of_the_plan_file(
    algorithm: str, values: dict[str, int]
) -> None:
    overrides = Plan(operators={"conv": Choice(algorithm, values)})
    attributes = planner.plan(square(), A53, overrides).steps[0].attributes
    assert attributes.items() >= values.items()
    ruled = planner.plan(square(), A53, Plan(operators={"conv": Choice(algorithm)})).steps[0]
    assert ruled.attributes != attributes
    assert ruled.attributes | values == attributes


@pytest.mark.parametrize(
    ("values", "complaint", "hint"),
    [
        ({"panels": 0}, "panels cannot be 0", "from 1 to 65535"),
        ({"panels": -1}, "panels cannot be -1", "from 1 to 65535"),
        ({"call_tiles": 65}, "call_tiles cannot be 65", "from 1 to 64"),
        ({"panels": 2**70}, "panels cannot be", "from 1 to 65535"),
        ({"panels": True}, "panels cannot be True", "a number"),
        ({"panels": "4"}, "panels cannot be '4'", "a number"),
        ({"kernel": 4}, "kernel cannot be 4", "name of a kernel"),
        ({"copies": 1}, "copies cannot be 1", "true or false"),
        ({"pixels": 4}, "has no pixels", "it has kernel"),
    ],
)
def test_a_block_size_out_of_range_is_refused_with_the_range(
    values: dict[str, Any], complaint: str, hint: str
) -> None:
    algorithm = "strassen" if "copies" in values else "direct"
    overrides = Plan(operators={"conv": Choice(algorithm, values)})
    with pytest.raises(PlanError, match=complaint) as error:
        planner.plan(convolution(64, 64), A53, overrides)
    assert "operator conv" in error.value.where
    assert hint in error.value.hint


def test_an_algorithm_that_cannot_compute_the_operator_is_refused() -> None:
    overrides = Plan(operators={"conv": Choice("winograd_2")})
    with pytest.raises(PlanError, match="winograd_2 cannot compute") as error:
        planner.plan(convolution(16, 16), A53, overrides)
    assert "direct" in error.value.hint


def test_a_plan_for_an_unknown_operator_is_refused_by_name() -> None:
    with pytest.raises(PlanError, match="'elsewhere'"):
        planner.plan(square(), A53, Plan(operators={"elsewhere": Choice("direct")}))


def test_a_planned_program_refuses_another_plan() -> None:
    with pytest.raises(PlanError, match="already planned"):
        trimtab.Session(planner.plan(square(), A53), plan=Plan(("direct",)))


@pytest.mark.parametrize("target", [A53, HASWELL, Target.portable()])
def test_a_written_plan_reproduces_the_program(target: Target, tmp_path: Path) -> None:
    source = square(activation="sigmoid")
    values = {"block": 8, "gap": 3}
    first = planner.plan(source, target, Plan(operators={"conv": Choice("winograd_4", values)}))
    path = tmp_path / "plan.toml"
    path.write_text(plan_file.plan_of(first).to_toml())
    again = planner.plan(source, target, Plan.read(path))
    assert [(op.type, op.attributes) for op in again.ops] == [
        (op.type, op.attributes) for op in first.ops
    ]
    written = plan_file.plan_of(first).operators["conv"]
    assert written.algorithm == "winograd_4"
    assert written.values.items() >= values.items()


def test_operators_with_the_same_name_have_their_outputs_as_keys(tmp_path: Path) -> None:
    program, odd = convolution(4, 4), "z \"'\\ü"
    program.vars[odd] = replace(program.vars["y"], name=odd)
    attributes = dict(program.ops[0].attributes)
    program.ops.append(Op("conv", ["y", "w", "bias"], [odd], attributes, "conv"))
    path = tmp_path / "plan.toml"
    path.write_text(plan_file.plan_of(planner.plan(program, A53)).to_toml())
    assert list(Plan.read(path).operators) == ["y", odd]


TEXTS = strategies.text(strategies.characters(exclude_categories=["Cs"]))  # no lone surrogates


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@example('net 😀\noperators = "of its own"\r\0\x7f', "conv.\"1\" \\ 'x' \r\n\0\x1b ü😀")
@given(TEXTS, TEXTS)
def test_a_plan_with_any_names_survives_a_round_trip(tmp_path: Path, title: str, name: str) -> None:
    plan = Plan(("direct",), {name: Choice("direct", {"kernel": "gemm_f32_portable"})})
    files.write_text(tmp_path / "plan.toml", plan.to_toml(title))
    assert Plan.read(tmp_path / "plan.toml") == plan


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("algorithms = [", "Invalid|Unclosed|Expected"),
        ('algorithm = "direct"', "unknown key `algorithm`"),
        ('algorithms = ["winograd_7"]', "unknown algorithm winograd_7"),
        ("algorithms = [2]", "`algorithms` must be a string"),
        ('algorithms = "direct"', "`algorithms` must be a list of strings"),
        ("operators = 3", "must be a table"),
        ("operators.conv1 = 3", "`operators.conv1` must be a table"),
        ("operators.conv1.block = 2.5", "`operators.conv1.block` must be a string or an integer"),
        ("operators.conv1.algorithm = 3", "`operators.conv1.algorithm` must be a string"),
        ('operators.conv1.algorithm = "fft"', "unknown algorithm fft"),
    ],
)
def test_a_malformed_plan_file_is_refused_by_name(
    text: str, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    with pytest.raises(PlanError, match=complaint) as error:
        Plan.read(path)
    assert error.value.where == str(path)


def test_a_missing_plan_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="No such file"):
        Plan.read(tmp_path / "absent.toml")


@pytest.mark.parametrize(
    ("window", "algorithms"),
    [
        (1, ("direct", "strassen")),
        (3, ("direct", "winograd_2", "winograd_3", "winograd_4", "winograd_6")),
        (4, ("direct", "winograd_5")),
        (5, ("direct", "winograd_4")),
    ],
)
def test_a_session_computes_the_same_with_any_plan(
    window: int, algorithms: tuple[str, ...]
) -> None:
    program = Program("net")
    program.add_input("x", (1, 16, 12, 12))
    rng = np.random.default_rng(1)
    w = rng.standard_normal((64, 16, window, window), np.float32)
    operands = ["x", program.block.add_constant(w, "w")]
    program.outputs = program.block.add_op("conv", operands, {}, ["y"], "conv")
    inputs = {"x": rng.standard_normal((1, 16, 12, 12), np.float32)}
    expected = trimtab.Session(program, plan=Plan(("direct",))).run(inputs)["y"]
    portable: dict[str, plan_file.Value] = {
        "kernel": "gemm_f32_portable",
        "panels": 1,
        "call_tiles": 3,
    }
    for name in some(algorithms):
        values = portable | ({"gap": 5} if name == "direct" else {"block": 3, "gap": 5})
        for threads in (1, 2):
            overrides = Plan(operators={"conv": Choice(name, values)})
            session = trimtab.Session(program, threads, overrides)
            planned = plan_file.plan_of(session.program).operators["conv"]
            assert planned.values.items() >= values.items()
            np.testing.assert_allclose(session.run(inputs)["y"], expected, atol=1e-3)


@pytest.mark.parametrize(("former", "name"), plan_file.RENAMED_ALGORITHMS.items())
def test_a_former_name_of_an_algorithm_is_read_with_a_warning(
    former: str, name: str, tmp_path: Path
) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(f'algorithms = ["{former}"]\n[operators.conv]\nalgorithm = "{former}"\n')
    with pytest.warns(plan_file.PlanWarning, match=f"{former}.* is now called .{name}"):
        plan = Plan.read(path)
    assert plan == Plan((name,), {"conv": Choice(name)})


def test_the_text_of_a_plan_shows_what_differs_from_the_default() -> None:
    assert repr(Plan()) == "Plan()"
    plan = Plan(operators={"conv": Choice("direct"), "fc": Choice()}, prefer="size", threads=2)
    assert repr(plan) == "Plan(operators=<2>, prefer='size', threads=2)"


def test_an_operator_of_a_plan_packs_its_weights_at_a_known_time() -> None:
    assert {Choice(weights=word).weights for word in ("", *plan_file.WEIGHTS)} == {
        "",
        *plan_file.WEIGHTS,
    }
    with pytest.raises(PlanError, match="weights"):
        Choice(weights="never")
