"""Alternatives to a plan: each is a valid plan that computes the same program."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tuning.networks import HASWELL, algorithms_of, by_rule, convolutions
from trimtab import kernels
from trimtab.planner import planner
from trimtab.planner.alternatives import LIMIT
from trimtab.planner.plan_file import Plan
from trimtab.target import Target

NETWORKS = {
    "plain": (((64, 64, 3), (64, 128, 1), (128, 16, 3)), 28),
    "separable": (((32, 96, 1), (96, 96, -3), (96, 32, 1), (32, 64, 1), (64, 64, -3)), 56),
}


@pytest.mark.parametrize("target", [HASWELL, Target.of("aarch64", "cortex-a53", 4)])
@pytest.mark.parametrize("network", NETWORKS)
def test_every_alternative_is_a_plan_of_the_same_outputs(network: str, target: Target) -> None:
    layers, size = NETWORKS[network]
    rule = by_rule(convolutions(*layers, size=size), target)
    alternatives = [*rule.alternatives()]
    assert alternatives
    for one in alternatives:
        other = rule.with_choices(one.applied(rule.choices))
        assert other.planned.outputs == rule.planned.outputs
        assert one.choices.keys() <= one.region
        changed = {
            name
            for name in rule.choices.keys() | other.choices.keys()
            if rule.choices.get(name) != other.choices.get(name)
        }
        covered = frozenset[str]().union(
            *(
                plan.covers[name]
                for plan in (rule, other)
                for name in changed
                if name in plan.covers
            )
        )
        assert covered <= one.region


def test_the_likely_ones_of_an_operator_come_first_within_the_limit() -> None:
    rule = by_rule(convolutions((64, 64, 3)))
    ratios = [one.ratio for one in rule.alternatives() if not one.is_block_size]
    assert ratios == sorted(ratios)
    assert max(ratios) <= LIMIT


def test_kernels_of_lower_instruction_sets_are_alternatives_but_portable_ones_are_not() -> None:
    target = replace(HASWELL, isas=("portable", "avx2", "avx512"))
    rule = by_rule(convolutions((64, 128, 1)), target)
    isas = {
        kernels.kernel(str(choice.values["kernel"])).isa
        for one in rule.alternatives()
        for choice in one.choices.values()
    }
    assert isas == {"avx2", "avx512"}


def test_an_operator_inside_a_fused_chain_can_be_fused_otherwise_or_not_at_all() -> None:
    chain = convolutions((32, 96, 1), (96, 96, -3), (96, 32, 1), size=56)
    rule = by_rule(chain, plan=Plan(algorithms=("expand_depthwise_project", "direct")))
    assert algorithms_of(rule) == ["expand_depthwise_project"]
    ways = {
        tuple(algorithms_of(rule.with_choices(one.applied(rule.choices))))
        for one in rule.alternatives()
        if not one.is_block_size
    }
    assert ("direct", "depthwise", "direct") in ways
    assert ("expand_depthwise", "direct") in ways
    assert ("direct", "depthwise_project") in ways


def test_the_plan_file_of_all_decisions_gives_the_same_program() -> None:
    rule = by_rule(convolutions((64, 64, 3), (64, 64, -3), (64, 32, 1)))
    again = planner.plan(rule.program, rule.target, rule.as_plan())
    assert [(op.type, op.inputs, op.attributes) for op in again.ops] == [
        (op.type, op.inputs, op.attributes) for op in rule.planned.ops
    ]
