"""Contests: alternatives of equal layers are one contest, and independent contests share a plan.

One launch of a network measures one alternative of every layer at once. Alternatives whose regions
overlap exclude each other and go into different plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from trimtab.planner.alternatives import Alternative, Choices, DecidedPlan
from trimtab.tuning.layers import Layers, Named, digest


@dataclass(frozen=True)
class Contest:
    """One alternative for all occurrences of a layer in a network. `layer`: the layer; `id`:
    identifies the contest within a network; `alternatives`: one per occurrence, whose regions do
    not overlap; `share`: share of the network's time.
    """

    layer: Named
    id: str
    alternatives: Sequence[Alternative]
    share: float

    @property
    def region(self) -> frozenset[str]:
        """First outputs of all operators of all occurrences."""
        return frozenset[str]().union(*(one.region for one in self.alternatives))

    def counted(self, ratio: float) -> float:
        """The estimated ratio of times for a `ratio` of counted instructions: these in place of the
        modeled ones, with the modeled memory traffic.
        """
        before, after = self.alternatives[0].traffic
        return (1 - before) * ratio + after

    @property
    def ratio(self) -> float:
        """The modeled ratio."""
        return self.alternatives[0].ratio

    def applied(self, choices: Choices) -> Choices:
        """Choices with this alternative in place of the plan's own."""
        for one in self.alternatives:
            choices = one.applied(choices)
        return choices


@dataclass
class _ContestGroup:
    layer: Named
    alternatives: list[Alternative] = field(default_factory=list)
    region: set[str] = field(default_factory=set)


def contests(
    plan: DecidedPlan,
    alternatives: Iterable[Alternative],
    times: Mapping[str, float],
    min_share: float,
) -> list[Contest]:
    """The contests of a plan, those of the layers with the longest time first.

    `times`: of each operator by its first output. Layers with less than `min_share` of their sum
    have none.
    """
    layers, groups = Layers(plan), dict[str, _ContestGroup]()
    named = dict[frozenset[str], Named]()
    total = sum(times.values()) or 1.0
    position = {op.outputs[0]: i for i, op in enumerate(plan.program.ops)}
    for one in alternatives:
        if one.region not in named:
            named[one.region] = layers.layer(one.region)
        layer = named[one.region]
        order = {name: i for i, name in enumerate(sorted(one.region, key=position.__getitem__))}
        facts = sorted(
            (order[name], choice.algorithm, sorted(choice.values.items()), choice.weights)
            for name, choice in one.choices.items()
        )
        present = sorted(
            (order[name], choice.algorithm, sorted(choice.values.items()), choice.weights)
            for name in one.region
            if (choice := plan.choices.get(name))
        )
        id = digest([layer.digest, repr(facts), repr(present)])
        group = groups.setdefault(id, _ContestGroup(layer))
        if group.region.isdisjoint(one.region):
            group.alternatives.append(one)
            group.region |= one.region
    result = []
    for id, group in groups.items():
        share = sum(times.get(name, 0.0) for name in group.region) / total
        if share >= min_share:
            result.append(Contest(group.layer, id, tuple(group.alternatives), share))
    return sorted(result, key=lambda one: (-one.share, one.ratio))


def compose(contests: Sequence[Contest], max_plans: int) -> list[list[Contest]]:
    """Assigns contests to at most `max_plans` plans, so that no plan has overlapping regions.
    Contests that fit into none are left out; earlier ones go first.
    """
    plans: list[list[Contest]] = []
    regions: list[set[str]] = []
    # Round by round over the layers, so that every layer gets its best alternatives.
    by_layer: dict[str, list[Contest]] = {}
    for contest in contests:
        by_layer.setdefault(contest.layer.digest, []).append(contest)
    rank = 0
    while any(len(own) > rank for own in by_layer.values()):
        for own in by_layer.values():
            if len(own) <= rank:
                continue
            contest = own[rank]
            free = (i for i, used in enumerate(regions) if used.isdisjoint(contest.region))
            index = next(free, None)
            if index is None:
                if len(plans) >= max_plans:
                    continue
                index = len(plans)
                plans.append([])
                regions.append(set())
            plans[index].append(contest)
            regions[index] |= contest.region
        rank += 1
    return plans
