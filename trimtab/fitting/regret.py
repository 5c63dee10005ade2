"""Regret: the time of the way that the planner chooses, by the time of the fastest one. Both are of
those that the default accuracy allows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from trimtab.fitting.bed import Way
from trimtab.fitting.pricing import TimedWay, is_exact_enough, modeled
from trimtab.fitting.shapes import DrawnLayer
from trimtab.planner.fitted import LEAST_GAIN
from trimtab.target import Target


@dataclass(frozen=True)
class Decision:
    """One choice of the planner. `regret`: 1 if it is the fastest."""

    layer: DrawnLayer
    state: str
    threads: int
    chosen: str
    fastest: str
    regret: float


@dataclass(frozen=True)
class Regret:
    """All choices that a planner has made among measured ways."""

    choices: tuple[Decision, ...]

    @property
    def mean(self) -> float:
        """Geometric mean; 1 without choices."""
        logs = [math.log(choice.regret) for choice in self.choices]
        return math.exp(sum(logs) / len(logs)) if logs else 1.0

    @property
    def worst(self) -> float:
        """The largest."""
        return max((choice.regret for choice in self.choices), default=1.0)

    def largest(self, count: int) -> list[Decision]:
        """The choices with the largest regret."""
        return sorted(self.choices, key=lambda choice: -choice.regret)[:count]


def of(measured: Iterable[TimedWay], target: Target) -> Regret:
    """The regret of the planner for `target` on layers with several measured ways."""
    cases: dict[tuple[DrawnLayer, str, int], dict[Way, float]] = {}
    for one in measured:
        if not is_exact_enough(one.way, target):
            continue
        key = one.way.layer, one.way.state, one.threads
        cases.setdefault(key, {})[one.way] = one.cycles
    choices = []
    for (layer, state, threads), ways in cases.items():
        if len(ways) > 1:
            machine = replace(target, threads=threads)
            chosen = _chosen([*ways], machine)
            fastest = min(ways, key=lambda way: ways[way])
            regret = ways[chosen] / ways[fastest]
            names = chosen.algorithm, fastest.algorithm
            choices.append(Decision(layer, state, threads, *names, regret))
    return Regret(tuple(choices))


def _chosen(ways: Sequence[Way], target: Target) -> Way:
    """The way that the planner chooses: by the cost model, or by a fit that gains enough."""
    plain = replace(target, core=replace(target.core, fit=None))
    usual = min(ways, key=lambda way: (modeled(way, plain), way.algorithm))
    best = min(ways, key=lambda way: (modeled(way, target), way.algorithm))
    gains = modeled(best, target) < (1 - LEAST_GAIN) * modeled(usual, target)
    return best if gains else usual
