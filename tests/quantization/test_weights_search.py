"""The search of stored forms beside the planned network that it describes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.small_programs import Net
from tests.some import some
from trimtab import quantization
from trimtab.accuracy import parse_budget
from trimtab.errors import PlanError, UsageError
from trimtab.pipeline import precision
from trimtab.pipeline.calibration import Calibration
from trimtab.planner.packing import coding
from trimtab.planner.plan_file import WEIGHTS_TYPES, Plan, plan_of
from trimtab.program import Program
from trimtab.quantization import weights_search
from trimtab.quantization.samples import Samples
from trimtab.quantization.stored_rounding import joint_weights, simplified, with_weights
from trimtab.target import Target

A53 = Target.of("aarch64", "cortex-a53")


@pytest.fixture(scope="module")
def chain() -> Program:
    """Convolutions of several sizes, one of them depthwise, and a classifier."""
    net = Net(x=(1, 16, 9, 9))
    y = net("relu", net.conv("x", 40, 3))
    y = net("relu", net.conv(y, 40, 3, group=40))
    y = net("relu", net.conv(y, 24, 1, strides=[2, 2]))  # becomes two operators of one name
    y = net("global_average_pool", net.conv(y, 30, 1))
    return net.finish(net("reshape", y, shape=(1, 30)))


@pytest.fixture(scope="module", name="samples")
def noise(chain: Program) -> Samples:
    return quantization.noise(chain, 20)


@pytest.mark.parametrize("budget", ["cosine >= 0.9999", "noise <= 0.1 %", "error <= 0.000001"])
def test_no_operator_fits_the_budget_in_a_smaller_form(
    budget: str, chain: Program, samples: Samples
) -> None:
    program, bounds = chain, parse_budget(budget)
    stored = weights_search.search(program, Plan(prefer="size"), samples, bounds)

    simple = simplified(program)
    forms = {op.name: WEIGHTS_TYPES for op in simple.ops}
    joint = joint_weights(simple, samples.calibrating, forms)

    def fits(forms: dict[str, str]) -> bool:
        plan = Plan(weights_type="auto", stored=forms)
        values = {n: one[forms[n]] for n, one in joint.items() if forms.get(n) in one}
        rounded = with_weights(program, values)
        accuracy = quantization.compare(program, rounded, samples.held_out, plan=plan)
        return all(bound.holds(accuracy) for bound in bounds)

    assert fits(dict(stored.forms))
    # Depthwise weights are packed in the file where their channels are not whole tiles.
    dense = [op.name for op in chain.ops if op.type == "conv" and op.attributes["group"] == 1]
    for name in some(name for name in dense if stored.forms[name] != WEIGHTS_TYPES[-1]):
        smaller = WEIGHTS_TYPES[WEIGHTS_TYPES.index(stored.forms[name]) + 1]
        assert not fits({**stored.forms, name: smaller})


def test_the_planned_file_has_the_bytes_of_the_choice_and_its_plan_repeats_it(
    chain: Program, samples: Samples
) -> None:
    program, bounds = chain, parse_budget("cosine >= 0.9999")
    stored = weights_search.search(program, Plan(prefer="size"), samples, bounds)
    assert len({*stored.forms.values()}) > 1
    plan = Plan(weights_type="auto", stored=stored.forms)
    planned = trimtab.optimize(program, A53, plan)
    sizes = {var.name: np.asarray(var.data).nbytes for var in planned.constants()}
    weights = sum(
        sizes[var.name] for var in planned.constants() if len(var.shape) > 1 or var.dtype == "u8"
    )
    tiles = 9 * (48 * 4 - 40 * 2)  # depthwise weights are f32 there, and padded
    assert weights == pytest.approx(stored.bytes + tiles, rel=0.02)
    again = trimtab.optimize(program, A53, plan_of(planned))
    assert plan_of(again) == plan_of(planned)
    assert {var.name: np.asarray(var.data).nbytes for var in again.constants()} == sizes


def test_an_operator_that_is_fused_with_a_sum_is_stored_as_chosen() -> None:
    net = Net(x=(1, 32, 9, 9))
    y = net("add", "x", net.conv(net("relu", net.conv("x", 32, 3)), 32, 3))
    program = net.finish(net("relu", y))
    bounds = parse_budget("cosine >= 0.9")
    stored = weights_search.search(program, Plan(), quantization.noise(program, 5), bounds)
    assert [*stored.forms.values()] == ["int8", "int8"]
    planned = trimtab.optimize(program, A53, Plan(weights_type="auto", stored=stored.forms))
    assert [v.dtype for v in planned.constants() if len(v.shape) == 4] == ["i8", "i8"]


def test_coded_weights_are_for_plans_that_prefer_size(chain: Program, samples: Samples) -> None:
    forms = {}
    for prefer in ("balanced", "size"):
        bounds = parse_budget("cosine >= 0.9")
        stored = weights_search.search(chain, Plan(prefer=prefer), samples, bounds)
        forms[prefer] = {*stored.forms.values()}
    assert not forms["balanced"] & {*coding.FORMS}
    assert forms["size"] & {*coding.FORMS}


def test_a_network_has_the_weights_that_its_budget_was_measured_with(
    chain: Program, tmp_path: Path
) -> None:
    data = np.abs(np.random.default_rng(4).standard_normal((10, 16, 9, 9))).astype(np.float32)
    np.savez(tmp_path / "s.npz", x=data)
    calibration = Calibration(str(tmp_path / "s.npz"), budget="cosine >= 0.99999")
    network = precision.convert(chain, Plan(weights_type="auto"), calibration, A53)
    assert "int8" in network.plan.stored.values()
    held_out = quantization.read_samples(tmp_path / "s.npz", chain).held_out
    result, nearest = (
        quantization.compare(chain, program, held_out, plan=network.plan.numbers)
        for program in (network.program, chain)
    )
    assert network.accuracy
    assert network.accuracy.noise == pytest.approx(result.noise, rel=0.1)
    assert result.mean_error < 0.9 * nearest.mean_error
    # A plan that names the forms rounds by the same samples, which need no budget then.
    again = precision.convert(chain, network.plan, replace(calibration, budget=""), A53)
    assert again.accuracy == result


def test_weights_that_are_chosen_need_samples_and_a_float_network(chain: Program) -> None:
    plan = Plan(weights_type="auto")
    for wrong, calibration, message in (
        (plan, Calibration(), "samples are missing"),
        (Plan(weights_type="auto", precision="int8"), Calibration(noise=True), "float networks"),
    ):
        with pytest.raises(UsageError, match=message):
            precision.convert(chain, wrong, calibration, A53)
    with pytest.raises(PlanError, match="requires the weights_type auto"):
        Plan(stored={"conv": "int8"})
