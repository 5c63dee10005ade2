"""Networks converted to int8, f16 and mixed precision, and the search of precisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.ops.cases.case import Array
from tests.quantization.test_quantization import SAMPLES
from tests.quantization.test_quantization import network as write_network
from tests.recorded_progress import RecordedProgress
from tests.small_programs import Net, normal
from tests.stored_forms import SCALED, half
from trimtab import passes, quantization
from trimtab.accuracy import Accuracy, parse_budget
from trimtab.errors import ModelFileError, PlanError, TrimtabError, UsageError
from trimtab.pipeline.calibration import Calibration
from trimtab.pipeline.precision import ConvertedNetwork, convert
from trimtab.planner import planner
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.target import Target

A53, A76 = (Target.of("aarch64", f"cortex-{name}") for name in ("a53", "a76"))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_network(tmp_path_factory.mktemp("net") / "net.onnx")


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("samples") / "s.npz"
    np.savez(path, x=SAMPLES)
    return str(path)


def converted(
    source: Path, plan: Plan, calibration: Calibration, target: Target = A76
) -> tuple[ConvertedNetwork, Program]:
    """A network converted to the precision of a plan, and planned for the target."""
    network = convert(trimtab.load(source), plan, calibration, target)
    return network, trimtab.optimize(network.program, target, network.plan)


def larger() -> Program:
    """A network large enough for f16 to pay for its casts."""
    net = Net(x=(1, 16, 12, 12))
    return net.finish(net("relu", net.conv(net("relu", net.conv("x", 32, 1)), 24, 1)))


LARGER_SAMPLES = np.random.default_rng(2).normal(0, 1, (6, 16, 12, 12)).astype(np.float32)


def written(samples: Array, folder: Path) -> str:
    np.savez(folder / "s.npz", x=samples)
    return str(folder / "s.npz")


def types(planned: Program) -> set[str]:
    return {planned.dtype(op) for op in planned.steps if "kernel" in op.attributes}


def independent(
    reference: Program, network: ConvertedNetwork, count: int = 4
) -> tuple[float, float]:
    """The maximum error and the noise of the output on every fifth sample, by their definitions."""
    exact = trimtab.Session(reference)
    session = trimtab.Session(network.program, plan=network.plan)
    errors, noises = [], []
    for x in SAMPLES[4::5][:count]:
        expected = exact.run({"x": x[np.newaxis]})["y"]
        error = session.run({"x": x[np.newaxis]})["y"].astype(np.float64) - expected
        errors.append(float(abs(error).max() / abs(expected).max()))
        noises.append(float((error**2).mean() / expected.astype(np.float64).var()))
    return max(errors), float(np.mean(noises))


def test_int8_needs_samples_and_has_an_accuracy(source: Path, samples: str) -> None:
    network, planned = converted(source, Plan(precision="int8"), Calibration(samples))
    assert types(planned) == {"f32", "i8"}
    assert network.quantized
    assert network.accuracy is not None
    assert network.accuracy.samples == 4
    figures = network.accuracy.max_error, network.accuracy.noise
    assert figures == pytest.approx(independent(trimtab.load(source), network))


@pytest.mark.parametrize("target", [A53, A76], ids=["a53", "a76"])
def test_auto_is_the_cheapest_choice_that_keeps_the_standard_budget(
    target: Target, tmp_path: Path
) -> None:
    calibration = Calibration(written(LARGER_SAMPLES, tmp_path))
    network = convert(larger(), Plan(precision="auto"), calibration, target)
    assert network.plan.precision == "mixed"
    assert network.search
    chosen = network.search.candidates[network.search.chosen]
    within = [one.cycles for one in network.search.candidates if one.accuracy.cosine >= 0.999]
    assert chosen.cycles == min(within)
    assert chosen.accuracy.cosine >= 0.999
    assert "within the budget cosine >= 0.999" in network.comments()[0]


def test_auto_needs_samples_and_leaves_a_quantized_network_as_it_is(
    source: Path, samples: str
) -> None:
    with pytest.raises(UsageError, match="samples are missing"):
        convert(trimtab.load(source), Plan(precision="auto"), Calibration(), A53)
    quantized = quantization.quantize(trimtab.load(source), samples).program
    assert convert(quantized, Plan(precision="auto"), Calibration(), A53).plan.precision == "f32"


def test_int8_that_costs_more_than_float32_is_said(tmp_path: Path) -> None:
    calibration = Calibration(written(LARGER_SAMPLES, tmp_path), "min_max")
    quantized = calibration.quantize(larger(), target=A53)
    assert quantized.relative_cycles
    assert quantized.relative_cycles > 0
    for ratio, is_said in ((1.25, True), (0.5, False)):
        verdict = replace(quantized, relative_cycles=ratio).verdict
        assert ("1.25 times the modeled cycles of float32" in verdict) == is_said


def upsampled(scale: float = 1.0) -> Program:
    """Convolutions around a transposed one, which has no int8 kernel."""
    net = Net(x=(1, 16, 12, 12))
    y = net.conv(net("mul", "x", scale), 64, 1)
    y = net("conv_transpose", y, normal(64, 32, 2, 2), normal(32), strides=[2, 2])
    return net.finish(net.conv(y, 24, 1))


@pytest.mark.parametrize(
    ("target", "scale", "expected"),
    [(A76, 1.0, "f16"), (A76, 1e5, "f32"), (A53, 1.0, "f32"), (Target.host(), 1.0, "f32")],
)
def test_what_int8_cannot_compute_is_f16_where_the_core_has_it_and_values_fit(
    target: Target, scale: float, expected: str, tmp_path: Path
) -> None:
    calibration = Calibration(written(LARGER_SAMPLES, tmp_path), "min_max")
    program = upsampled(scale)
    network = convert(program, Plan(precision="int8"), calibration, target)
    assert network.plan.precision == "int8"
    planned = trimtab.optimize(network.program, target, network.plan)
    (own,) = (op for op in planned.ops if op.type == "conv_transpose")
    assert planned.dtype(own) == expected
    assert sum(op.type.startswith("qlinear_conv") for op in planned.ops) == 2
    assert network.accuracy is not None
    assert network.accuracy.noise is not None
    assert network.accuracy.noise < 1e-3
    (tmp_path / "plan.toml").write_text(network.plan.to_toml())
    again = Plan.read(tmp_path / "plan.toml")
    repeated = convert(program, again, calibration, target)
    assert (repeated.plan, repeated.accuracy) == (network.plan, network.accuracy)


def test_f16_has_an_accuracy_on_samples(tmp_path: Path) -> None:
    calibration = Calibration(written(LARGER_SAMPLES, tmp_path))
    network = convert(larger(), Plan(precision="f16"), calibration, A76)
    assert network.accuracy is not None
    assert 0 < network.accuracy.max_error < 0.01


@pytest.mark.parametrize("form", ["f16", "bits4"])
def test_smaller_weights_have_an_accuracy_on_samples_and_on_noise(
    form: str, tmp_path: Path
) -> None:
    program = larger()
    rounded = program.copy()
    for var in rounded.constants():
        if len(var.shape) == 4:
            var.data = {"f16": half, **SCALED}[form](np.asarray(var.data), 0)
    path = written(LARGER_SAMPLES, tmp_path)
    held_out = quantization.read_samples(path, program).held_out
    noise = quantization.noise(program, 2)
    for calibration, data in ((Calibration(path), held_out), (Calibration(), noise)):
        network = convert(program, Plan(weights_type=form), calibration, A53)
        assert network.accuracy
        expected = quantization.compare(program, rounded, data)
        assert network.accuracy.is_seeded is expected.is_seeded is not bool(calibration)
        if calibration and form in SCALED:  # samples round them better than to nearest
            assert (network.accuracy.noise or 0.0) < (expected.noise or 0.0)
        else:
            assert network.accuracy.max_error == pytest.approx(expected.max_error, rel=1e-2)
    assert convert(program, Plan(), Calibration(), A53).accuracy is None


@pytest.mark.parametrize(
    ("plan", "options", "text"),
    [
        (Plan(precision="int8"), {}, "samples are missing"),
        (Plan(precision="mixed"), {"samples": "s"}, "mixed precision needs a budget"),
        (Plan(precision="mixed"), {"budget": "top1 >= 99 %"}, "samples are missing"),
        (Plan(precision="mixed"), {"samples": "s", "budget": "top1"}, "malformed budget"),
        (Plan(precision="int8"), {"samples": "s", "budget": "top1 >= 1"}, "int8 has no budget"),
        (Plan(), {"samples": "s"}, "samples are for a precision below f32"),
        (Plan(), {"method": "mse"}, "a method and ranges are for a precision below f32"),
        (Plan(), {"budget": "top1 >= 1"}, "a budget is for mixed precision, and this is f32"),
        (Plan(precision="f16"), {"samples": "s", "method": "mse"}, "have neither ranges"),
        (Plan(weights_type="int8"), {"budget": "top1 >= 1"}, "have neither ranges"),
        (Plan(precision="int8"), {"samples": "s", "method": "guess"}, "unknown calibration method"),
    ],
)
def test_incompatible_options_are_refused(
    plan: Plan, options: Mapping[str, str], text: str, source: Path, samples: str
) -> None:
    keys = ("samples", "method", "ranges", "budget")
    has_samples, method, ranges, budget = (options.get(key, "") for key in keys)
    calibration = Calibration(samples if has_samples else "", method, ranges, budget)
    with pytest.raises(UsageError, match=text) as caught:
        convert(trimtab.load(source), plan, calibration, A76)
    assert caught.value.hint


def test_a_float32_network_is_not_planned_in_int8_without_samples(source: Path) -> None:
    with pytest.raises(PlanError, match="not quantized"):
        trimtab.optimize(trimtab.load(source), A76, Plan(precision="int8"))
    with pytest.raises(PlanError, match="needs the precision of each operator"):
        trimtab.optimize(trimtab.load(source), A76, Plan(precision="mixed"))
    plan = Plan(precision="mixed", precisions={"c1": "int8"})
    with pytest.raises(PlanError, match="not quantized"):
        trimtab.optimize(trimtab.load(source), A76, plan)


def test_an_already_quantized_network_needs_no_samples(source: Path, samples: str) -> None:
    quantized = quantization.quantize(trimtab.load(source), samples).program
    progress = RecordedProgress()
    network = convert(quantized, Plan(precision="int8"), Calibration(samples), A76, progress)
    assert network.program is quantized
    assert network.accuracy is None
    assert "already quantized" in "\n".join(progress.lines)
    assert "i8" in types(trimtab.optimize(network.program, A76, network.plan))


@pytest.mark.parametrize("budget", ["", "top1 >= 99 %"])
def test_a_budget_for_an_already_quantized_network_asks_for_the_float32_one(
    budget: str, source: Path, samples: str
) -> None:
    quantized = quantization.quantize(trimtab.load(source), samples).program
    calibration = Calibration(samples, budget=budget)
    with pytest.raises(UsageError, match="already quantized") as caught:
        convert(quantized, Plan(precision="mixed"), calibration, A76)
    assert "give the float32 model" in caught.value.hint


@pytest.mark.parametrize(
    "budget", ["error <= 0.03", "cosine >= 0.9995", "noise <= 0.02 %", "top1 >= 100 %"]
)
def test_a_search_keeps_its_budget_on_held_out_samples(
    budget: str, source: Path, samples: str
) -> None:
    calibration = Calibration(samples, budget=budget)
    network, planned = converted(source, Plan(precision="mixed"), calibration)
    assert network.search is not None
    assert network.plan is not None
    best = network.search.candidates[network.search.chosen]
    assert network.accuracy
    assert replace(network.accuracy, worst_layer="") == best.accuracy
    figures = best.accuracy.max_error, best.accuracy.noise
    assert figures == pytest.approx(independent(trimtab.load(source), network))
    (demand,) = parse_budget(budget)
    accepted = [one for one in network.search.candidates if demand.holds(one.accuracy)]
    assert best in accepted
    assert best.cycles == min(one.cycles for one in accepted)
    assert planned.planned


def test_a_tight_budget_leaves_fewer_operators_in_int8(source: Path, samples: str) -> None:
    def int8_operators(budget: str) -> int:
        network, _ = converted(
            source, Plan(precision="mixed"), Calibration(samples, budget=budget), A53
        )
        assert network.search
        return network.search.candidates[network.search.chosen].integers

    counts = [int8_operators(f"error <= {error}") for error in (0, 0.001, 0.02, 1)]
    assert counts[0] == 0
    assert counts == sorted(counts)


def test_a_core_with_f16_computes_the_operators_outside_int8_in_it(tmp_path: Path) -> None:
    samples, program = written(LARGER_SAMPLES, tmp_path), larger()  # its weights are random
    half = convert(program, Plan(precision="f16"), Calibration(samples), A76).accuracy
    assert half
    calibration = Calibration(samples, budget=f"error <= {half.max_error + 1e-6:.6f}")
    for target, precision in ((A76, "f16"), (A53, "f32")):
        network = convert(program, Plan(precision="mixed"), calibration, target)
        assert network.plan
        assert {*network.plan.precisions.values()} == {precision}
        assert types(trimtab.optimize(network.program, target, network.plan)) == {precision}


def test_a_plan_file_keeps_searched_precisions_so_that_no_search_is_needed(
    source: Path, samples: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calibration = Calibration(samples, budget="error <= 0.03")
    network, planned = converted(source, Plan(precision="mixed"), calibration)
    assert network.plan
    assert network.search
    (tmp_path / "plan.toml").write_text(network.plan.to_toml("\n".join(network.search.lines())))
    plan = Plan.read(tmp_path / "plan.toml")
    assert plan == network.plan

    def never(*_: object) -> None:
        raise AssertionError("it searched again")

    monkeypatch.setattr(quantization, "search", never)
    again, twin = converted(source, plan, Calibration(samples))
    assert again.search is None
    assert again.accuracy == network.accuracy
    assert [(op.type, op.attributes) for op in twin.ops] == [
        (op.type, op.attributes) for op in planned.ops
    ]


def test_a_plan_of_another_network_is_refused(source: Path, samples: str) -> None:
    plan = Plan(precision="mixed", precisions={"absent": "int8"})
    with pytest.raises(PlanError, match="unknown operators: absent"):
        converted(source, plan, Calibration(samples))


@pytest.mark.parametrize(
    "text",
    [
        'precision = "f32"\n[precisions]\na = "int8"',
        'precision = "mixed"\n[precisions]\na = "int4"',
        'precision = "mixed"\nprecisions = 3',
        'precision = "mixed"\n[precisions]\na = 8',
    ],
)
def test_plans_with_invalid_precisions_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(TrimtabError, match="precision"):
        Plan.read(tmp_path / "plan.toml")


def test_zoo_networks_are_calibrated_with_noise_and_report_it(source: Path) -> None:
    progress = RecordedProgress()
    calibration = Calibration().for_model("squeezenet")
    assert calibration.noise
    assert not Calibration().for_model(str(source)).noise
    network = convert(trimtab.load(source), Plan(precision="int8"), calibration, A76, progress)
    assert isinstance(network.accuracy, Accuracy)
    assert "seeded noise replaces them" in "\n".join(progress.lines)


@pytest.mark.parametrize(
    ("target", "counted"),
    # Counted instructions per multiply-add of the inner loops: docs/quantization.md for int8, and
    # 16 products with 1 to 2 loads for a column of a float32 tile.
    [(A53, 55 / 256), (A76, 74 / 1024)],
    ids=["a53", "a76"],
)
def test_the_cost_of_int8_follows_its_instruction_count(target: Target, counted: float) -> None:
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


def test_f16_has_an_accuracy_on_seeded_noise_without_samples() -> None:
    network = convert(larger(), Plan(precision="f16"), Calibration(), A76)
    assert network.accuracy
    assert network.accuracy.is_seeded
    assert network.accuracy.rows()[1][1] == f"{network.accuracy.samples} of seeded noise"
    assert 0 < network.accuracy.max_error < 0.01


def test_the_accuracy_on_samples_is_not_seeded(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", x=LARGER_SAMPLES)
    calibration = Calibration(str(tmp_path / "s.npz"))
    network = convert(larger(), Plan(precision="f16"), calibration, A76)
    assert network.accuracy
    assert not network.accuracy.is_seeded
    assert network.accuracy.rows()[1][1] == str(network.accuracy.samples)


def test_a_network_that_fails_on_noise_has_no_accuracy_figure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: object) -> None:
        raise ModelFileError("an index is out of range")

    monkeypatch.setattr(quantization, "compare", refused)
    progress = RecordedProgress()
    network = convert(larger(), Plan(precision="f16"), Calibration(), A76, progress)
    assert network.accuracy is None
    assert "the accuracy of f16 is unknown: an index is out of range" in progress.lines
