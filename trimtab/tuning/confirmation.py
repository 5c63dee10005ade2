"""Confirmation: whether the changes of a plan show in new measurements.

Of many intervals some miss, and the best of several estimates is too good. So the rule's plan and
the tuned one are measured once more, and only what is faster there as well stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab.compare import paired
from trimtab.compare.paired import Effect
from trimtab.planner.alternatives import DecidedPlan
from trimtab.results.statistics import Interval
from trimtab.tuning.clock import Clock, TimedBlock
from trimtab.tuning.layers import Layers, code_of

BLOCKS = 9


@dataclass(frozen=True)
class Change:
    """A tried alternative. `layer`, `before`, `after`: in words; `share`: of the network's time;
    `effect`: its time relative to the decision before; `is_kept`: it is part of the tuned plan.
    """

    region: frozenset[str]
    layer: str
    before: str
    after: str
    share: float
    effect: Effect
    occurrences: int
    is_kept: bool = False

    @property
    def saved(self) -> float:
        """Share of the network's time that it saves."""
        return self.share * (1 - self.effect.value)


def confirmed(
    rule: DecidedPlan, tuned: DecidedPlan, clock: Clock, times: Mapping[str, float]
) -> list[Change]:
    """The changes of a plan that are faster in new blocks, the most saving ones first. `times`: of
    each operator of the rule's plan, by its first output.
    """
    regions = _changed_regions(rule, tuned)
    if not regions:
        return []
    blocks: list[TimedBlock] = []
    is_exact, total = clock.unit == "instructions", sum(times.values()) or 1.0
    clock.measure([rule.planned, tuned.planned], 1 if is_exact else BLOCKS, blocks.append)
    layers, groups = Layers(rule), dict[tuple[str, ...], list[frozenset[str]]]()
    for own in regions:
        codes = (code_of(plan.planned, own).digest for plan in (rule, tuned))
        groups.setdefault((layers.layer(own).digest, *codes), []).append(own)
    changes = list[Change]()
    for group in groups.values():
        region = frozenset[str]().union(*group)
        pairs = [
            (
                sum(by_output(rule, block.times[0]).get(name, 0.0) for name in region),
                sum(by_output(tuned, block.times[1]).get(name, 0.0) for name in region),
            )
            for block in blocks
        ]
        effect = effect_of(pairs, is_exact=is_exact)
        if effect and effect.value < 1 and effect.exceeds(0.0):
            share = sum(times.get(name, 0.0) for name in region) / total
            layer = layers.layer(group[0]).text
            before, after = (code_of(plan.planned, group[0]).text for plan in (rule, tuned))
            changes.append(
                Change(region, layer, before, after, share, effect, len(group), is_kept=True)
            )
    return sorted(changes, key=lambda one: -one.saved)


def by_output(plan: DecidedPlan, times: Mapping[int, float]) -> dict[str, float]:
    """Times by the first output of each operator."""
    return {plan.planned.ops[index].outputs[0]: value for index, value in times.items()}


def effect_of(pairs: Sequence[tuple[float, float]], *, is_exact: bool) -> Effect | None:
    """The effect of a change on pairs of times before and after it; None without times, or if one
    is 0. Exact times give it without an interval.
    """
    if not pairs or min(min(pair) for pair in pairs) <= 0:
        return None
    if is_exact:
        value = pairs[-1][1] / pairs[-1][0]
        return Effect(value, Interval(value, value), len(pairs), 0.0)
    return paired.effect([[a] for a, _ in pairs], [[b] for _, b in pairs])


def _changed_regions(rule: DecidedPlan, tuned: DecidedPlan) -> list[frozenset[str]]:
    """The smallest sets of operators whose decisions differ, such that no operator of either plan
    computes a part of a set only.
    """
    regions: list[frozenset[str]] = []
    for plan in (rule, tuned):
        for name, covered in plan.covers.items():
            if rule.choices.get(name) == tuned.choices.get(name):
                continue
            touching = [region for region in regions if region & covered]
            regions = [region for region in regions if not region & covered]
            regions.append(covered.union(*touching))
    return regions
