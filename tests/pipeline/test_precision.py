"""Precisions: int8 and mixed, from the options to a plan, and what is searched."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.engine.test_quantize import SAMPLES, network
from tests.ops.cases.case import Array
from tests.recorded_progress import RecordedProgress
from tests.small_programs import Net
from trimtab import passes, quantization
from trimtab.accuracy import Accuracy, parse_budget
from trimtab.errors import PlanError, TrimtabError, UsageError
from trimtab.pipeline.calibration import Calibration
from trimtab.pipeline.precision import ConvertedNetwork, convert
from trimtab.pipeline.reference import host_output
from trimtab.planner import planner
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.target import Target

A53, A76 = (Target.of("aarch64", f"cortex-{name}") for name in ("a53", "a76"))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return network(tmp_path_factory.mktemp("net") / "net.onnx")


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("samples") / "s.npz"
    np.savez(path, x=SAMPLES)
    return str(path)


def precise(
    source: Path, plan: Plan, calibration: Calibration, target: Target = A76
) -> tuple[ConvertedNetwork, Program]:
    """A network in the precision of a plan, and planned for the target."""
    found = convert(trimtab.load(source), plan, calibration, target)
    return found, trimtab.optimize(found.program, target, found.plan)


def larger() -> Program:
    """One that f16 is worth its casts for."""
    net = Net(x=(1, 16, 12, 12))
    return net.finish(net("relu", net.conv(net("relu", net.conv("x", 32, 1)), 24, 1)))


LARGER_SAMPLES = np.random.default_rng(2).normal(0, 1, (6, 16, 12, 12)).astype(np.float32)


def written(samples: Array, folder: Path) -> str:
    np.savez(folder / "s.npz", x=samples)
    return str(folder / "s.npz")


def types(planned: Program) -> set[str]:
    return {planned.dtype(op) for op in planned.steps if "kernel" in op.attributes}


def independent(reference: Program, made: ConvertedNetwork, count: int = 4) -> tuple[float, float]:
    """The largest error on each fifth sample, and the noise of the one output, as the figures are
    defined, from sessions alone.
    """
    exact, found = trimtab.Session(reference), trimtab.Session(made.program, plan=made.plan)
    errors, noises = [], []
    for x in SAMPLES[4::5][:count]:
        wanted = exact.run({"x": x[np.newaxis]})["y"]
        gap = found.run({"x": x[np.newaxis]})["y"].astype(np.float64) - wanted
        errors.append(float(abs(gap).max() / abs(wanted).max()))
        noises.append(float((gap**2).mean() / wanted.astype(np.float64).var()))
    return max(errors), float(np.mean(noises))


def test_int8_is_made_of_samples_and_tells_its_accuracy(source: Path, samples: str) -> None:
    made, planned = precise(source, Plan(precision="int8"), Calibration(samples))
    assert types(planned) == {"f32", "i8"}
    assert made.quantized
    assert made.accuracy is not None
    assert made.accuracy.samples == 4
    figures = made.accuracy.max_error, made.accuracy.noise
    assert figures == pytest.approx(independent(trimtab.load(source), made))


def test_f16_tells_its_accuracy_where_there_are_samples(tmp_path: Path) -> None:
    given = Calibration(written(LARGER_SAMPLES, tmp_path))
    made = convert(larger(), Plan(precision="f16"), given, A76)
    assert made.accuracy is not None
    assert 0 < made.accuracy.max_error < 0.01


@pytest.mark.parametrize(
    ("plan", "given", "text"),
    [
        (Plan(precision="int8"), {}, "samples are missing"),
        (Plan(precision="mixed"), {"samples": "s"}, "mixed precision needs a budget"),
        (Plan(precision="mixed"), {"budget": "top1 >= 99 %"}, "samples are missing"),
        (Plan(precision="mixed"), {"samples": "s", "budget": "top1"}, "malformed budget"),
        (Plan(precision="int8"), {"samples": "s", "budget": "top1 >= 1"}, "int8 has no budget"),
        (Plan(), {"samples": "s"}, "samples are for a precision below f32"),
        (Plan(), {"method": "mse"}, "a method and ranges are for a precision below f32"),
        (Plan(), {"budget": "top1 >= 1"}, "a budget is for mixed precision, and this is f32"),
        (Plan(precision="f16"), {"samples": "s", "method": "mse"}, "f16 has neither"),
        (Plan(precision="int8"), {"samples": "s", "method": "guess"}, "unknown calibration method"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    plan: Plan, given: Mapping[str, str], text: str, source: Path, samples: str
) -> None:
    keys = ("samples", "method", "ranges", "budget")
    named, *words = [given.get(key, "") for key in keys]
    method, ranges, wanted = words
    calibration = Calibration(samples if named else "", method, ranges, wanted)
    with pytest.raises(UsageError, match=text) as caught:
        convert(trimtab.load(source), plan, calibration, A76)
    assert caught.value.hint


def test_a_float_network_is_not_planned_for_integers_without_samples(source: Path) -> None:
    with pytest.raises(PlanError, match="not quantized"):
        trimtab.optimize(trimtab.load(source), A76, Plan(precision="int8"))
    with pytest.raises(PlanError, match="needs the precision of each operator"):
        trimtab.optimize(trimtab.load(source), A76, Plan(precision="mixed"))
    given = Plan(precision="mixed", precisions={"c1": "int8"})
    with pytest.raises(PlanError, match="not quantized"):
        trimtab.optimize(trimtab.load(source), A76, given)


def test_a_network_that_is_quantized_already_needs_no_samples(source: Path, samples: str) -> None:
    quantized = quantization.quantize(trimtab.load(source), samples).program
    said = RecordedProgress()
    made = convert(quantized, Plan(precision="int8"), Calibration(samples), A76, said)
    assert made.program is quantized
    assert made.accuracy is None
    assert "already quantized" in "\n".join(said.lines)
    assert "i8" in types(trimtab.optimize(made.program, A76, made.plan))


@pytest.mark.parametrize("budget", ["", "top1 >= 99 %"])
def test_a_budget_for_a_network_that_is_quantized_already_asks_for_the_float_one(
    budget: str, source: Path, samples: str
) -> None:
    quantized = quantization.quantize(trimtab.load(source), samples).program
    given = Calibration(samples, budget=budget)
    with pytest.raises(UsageError, match="already quantized") as caught:
        convert(quantized, Plan(precision="mixed"), given, A76)
    assert "give the float32 model" in caught.value.hint


@pytest.mark.parametrize(
    "budget", ["error <= 0.03", "cosine >= 0.9995", "noise <= 0.02 %", "top1 >= 100 %"]
)
def test_a_search_keeps_its_budget_on_samples_held_out(
    budget: str, source: Path, samples: str
) -> None:
    given = Calibration(samples, budget=budget)
    made, planned = precise(source, Plan(precision="mixed"), given)
    assert made.search is not None
    assert made.plan is not None
    best = made.search.candidates[made.search.chosen]
    assert made.accuracy == best.accuracy
    figures = best.accuracy.max_error, best.accuracy.noise
    assert figures == pytest.approx(independent(trimtab.load(source), made))
    (demand,) = parse_budget(budget)
    kept = [one for one in made.search.candidates if demand.holds(one.accuracy)]
    assert best in kept
    assert best.cycles == min(one.cycles for one in kept)
    assert planned.planned


def test_a_tight_budget_takes_fewer_integers_than_a_loose_one(source: Path, samples: str) -> None:
    def integers(budget: str) -> int:
        made, _ = precise(source, Plan(precision="mixed"), Calibration(samples, budget=budget), A53)
        assert made.search
        return made.search.candidates[made.search.chosen].integers

    assert integers("error <= 0") == 0
    assert integers("error <= 1") >= integers("error <= 0.02") >= integers("error <= 0.001")


def test_a_core_with_f16_computes_in_it_what_is_not_on_integers(tmp_path: Path) -> None:
    samples, program = written(LARGER_SAMPLES, tmp_path), larger()  # whose weights are drawn
    half = convert(program, Plan(precision="f16"), Calibration(samples), A76).accuracy
    assert half
    given = Calibration(samples, budget=f"error <= {half.max_error + 1e-6:.6f}")
    for target, wanted in ((A76, "f16"), (A53, "f32")):
        made = convert(program, Plan(precision="mixed"), given, target)
        assert made.plan
        assert {*made.plan.precisions.values()} == {wanted}
        assert types(trimtab.optimize(made.program, target, made.plan)) == {wanted}


def test_what_was_searched_is_kept_in_a_plan_and_not_searched_again(
    source: Path, samples: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = Calibration(samples, budget="error <= 0.03")
    made, planned = precise(source, Plan(precision="mixed"), given)
    assert made.plan
    assert made.search
    (tmp_path / "plan.toml").write_text(made.plan.to_toml("\n".join(made.search.lines())))
    plan = Plan.read(tmp_path / "plan.toml")
    assert plan == made.plan

    def never(*_: object) -> None:
        raise AssertionError("it searched again")

    monkeypatch.setattr(quantization, "search", never)
    again, twin = precise(source, plan, Calibration(samples))
    assert again.search is None
    assert again.accuracy == made.accuracy
    assert [(op.type, op.attributes) for op in twin.ops] == [
        (op.type, op.attributes) for op in planned.ops
    ]


def test_a_plan_of_another_network_is_refused(source: Path, samples: str) -> None:
    plan = Plan(precision="mixed", precisions={"absent": "int8"})
    with pytest.raises(PlanError, match="unknown operators: absent"):
        precise(source, plan, Calibration(samples))


@pytest.mark.parametrize(
    "text",
    [
        'precision = "f32"\n[precisions]\na = "int8"',
        'precision = "mixed"\n[precisions]\na = "int4"',
        'precision = "mixed"\nprecisions = 3',
        'precision = "mixed"\n[precisions]\na = 8',
    ],
)
def test_plans_with_precisions_that_cannot_be_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(TrimtabError, match="precision"):
        Plan.read(tmp_path / "plan.toml")


def test_zoo_networks_are_calibrated_with_noise_and_say_so(source: Path) -> None:
    said = RecordedProgress()
    given = Calibration().for_model("squeezenet")
    assert given.noise
    assert not Calibration().for_model(str(source)).noise
    made = convert(trimtab.load(source), Plan(precision="int8"), given, A76, said)
    assert isinstance(made.accuracy, Accuracy)
    assert "seeded noise replaces them" in "\n".join(said.lines)


@pytest.mark.parametrize(
    ("target", "counted"),
    # Counted instructions per multiply-add of the inner loops: docs/quantization.md for int8, and
    # 16 products with 1 to 2 loads for a column of a float32 tile.
    [(A53, 55 / 256), (A76, 74 / 1024)],
    ids=["a53", "a76"],
)
def test_the_cost_of_int8_is_that_of_its_instructions(target: Target, counted: float) -> None:
    net = Net(x=(1, 256, 28, 28))
    single = net.finish(net.conv("x", 256, 1))
    pictures = np.random.default_rng(1).normal(0, 1, (5, 256, 28, 28)).astype(np.float32)
    twin = quantization.quantize(single, {"x": pictures}).program
    cycles = {}
    for program in (single, twin):
        planned = planner.decide(passes.optimize(program), target, Plan(("direct", "quantized")))
        costs = [cost for cost in planner.operator_costs(planned, target) if cost.cycles]
        assert len(costs) == 1
        cycles[program is twin] = costs[0].cycles
    assert cycles[True] / cycles[False] == pytest.approx(counted / (1.2 / 4), rel=0.25)


def test_what_a_binary_must_compute_has_the_roundings_of_its_precisions() -> None:
    program = larger()
    half = Plan(precision="mixed", precisions={op.name: "f16" for op in program.ops})
    (exact,), (rounded,) = (host_output(program, plan).outputs for plan in (None, half))
    assert not np.array_equal(exact, rounded)
    np.testing.assert_allclose(rounded, exact, atol=0.01 * abs(exact).max())
    (x,) = host_output(program).inputs
    own = trimtab.Session(program, plan=half).run({"x": x})
    np.testing.assert_allclose(rounded, next(iter(own.values())), atol=2e-3 * abs(exact).max())
