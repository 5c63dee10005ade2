"""Slow operators: costs that are written by hand beside the planner's model of a network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import trimtab
from tests.debug.networks import write
from tests.devices.conftest import require
from trimtab.debug import diagnosis, page, slowness
from trimtab.debug.slowness import OperatorTime
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.planner import planner
from trimtab.program import Program
from trimtab.results.records import Event
from trimtab.target import Target

A53 = Target.of("aarch64", "cortex-a53")
_NS = 7.0  # of a modeled cycle


def planned(folder: Path) -> Program:
    """A small network, planned for a Cortex-A53."""
    return trimtab.optimize(trimtab.load(write(folder)), A53)


def events(program: Program, factors: dict[int, float], runs: int = 3) -> list[Event]:
    """Three runs that take what the model says, but for some operators."""
    cycles = planner.operator_cycles(program, A53)
    steps = [i for i, op in enumerate(program.ops) if not op.schema.prepares]
    return [
        {"event": "op", "index": i, "run": run, "instructions": None}
        | {"ns": round(_NS * cost * factors.get(i, 1.0)) + 1}
        for run in range(runs)
        for i, cost in zip(steps, cycles, strict=True)
    ]


def largest(program: Program, kind: str) -> int:
    """The index of the most expensive operator of a type."""
    costs = slowness.judge(program, A53, "ns", events(program, {}))
    return max(
        (one for one in costs if one.name.startswith(f"{kind} ")), key=lambda c: c.cost
    ).index


def test_a_network_as_fast_as_its_model_has_no_slow_operator(tmp_path: Path) -> None:
    program = planned(tmp_path)
    costs = slowness.judge(program, A53, "ns", events(program, {}))
    assert [one.index for one in costs] == [
        i for i, op in enumerate(program.ops) if not op.schema.prepares
    ]
    assert sum(one.share for one in costs) == pytest.approx(1)
    assert not [one for one in costs if one.is_slow]


@pytest.mark.parametrize("factor", [1.4, 1.8, 40.0])
def test_only_the_operator_that_takes_longer_is_slow(tmp_path: Path, factor: float) -> None:
    program = planned(tmp_path)
    index = largest(program, "conv")
    costs = slowness.judge(program, A53, "ns", events(program, {index: factor}))
    slow = [one for one in costs if one.is_slow]
    assert [one.index for one in slow] == ([index] if factor > slowness.SLOW else [])
    for one in slow:
        assert one.ratio == pytest.approx(factor, rel=0.05)
        assert one.why


def test_times_that_differ_from_run_to_run_are_told(tmp_path: Path) -> None:
    program = planned(tmp_path)
    index = largest(program, "conv")
    timed = events(program, {index: 3.0})
    last = next(event for event in reversed(timed) if event["index"] == index)
    last["ns"] *= 10
    (slow,) = (one for one in slowness.judge(program, A53, "ns", timed) if one.is_slow)
    assert "10.0 times their median: another program, throttling" in slow.why


def test_page_faults_and_throttling_are_reasons(tmp_path: Path) -> None:
    program = planned(tmp_path)
    index = largest(program, "conv")
    timed = events(program, {index: 3.0})
    for event in timed:
        event["counters"] = [[12 if event["index"] == index else 0, 5, 5]]
    costs = slowness.judge(program, A53, "ns", timed, ["the clock fell to 600 MHz"])
    (slow,) = (one for one in costs if one.is_slow)
    assert "the device throttled: the clock fell to 600 MHz; 12 page faults" in slow.why
    refused = [{**event, "counters": [None]} for event in timed]  # by the kernel of a container
    assert "faults" not in "".join(one.why for one in slowness.judge(program, A53, "ns", refused))


def test_without_events_of_operators_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert slowness.judge(planned(tmp_path), A53, "instructions", ()) == []


def test_a_page_has_the_slow_operators_and_the_cost_of_all(tmp_path: Path) -> None:
    program = planned(tmp_path)
    index = largest(program, "conv")
    costs = slowness.judge(program, A53, "ns", events(program, {index: 2.0}))
    one = diagnosis.Diagnosis("net", "pi4", "f32", "", "right", None, [], "", "numpy", costs)
    text = page.to_text(one)
    assert "more than 1.5 times" in text
    assert "2.00" in text
    assert "Cost by operator" in page.to_html(one)
    right = replace(one, times=[replace(cost, ratio=1.0) for cost in costs])
    assert "No operator takes more than 1.5 times" in page.to_text(right)


@pytest.mark.build
@pytest.mark.device
@pytest.mark.slow
def test_instructions_stand_for_times_on_an_emulated_core(tmp_path: Path) -> None:
    require("qemu-aarch64", "qemu-user")
    recipe = Recipe(str(write(tmp_path)), measurement=MeasurementRequest("qemu-a53"))
    costs: list[OperatorTime] = [*diagnosis.diagnose(recipe, repeat=False).times]
    assert {one.unit for one in costs} == {"instructions"}
    assert min(one.cost for one in costs) > 0
