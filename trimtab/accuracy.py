"""How far a program's results are from those of the float32 program: the figures, what is asked of
them, and what a search among precisions found.

    asked = demands("top1 >= 99 %, error <= 0.05")
    all(demand.holds(accuracy) for demand in asked)

Uses the standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from trimtab.errors import UsageError


@dataclass(frozen=True)
class Accuracy:
    """Over all outputs of `samples` samples: `max_error` and `mean_error`, absolute, as shares of
    the largest magnitude of that output in float32; `cosine` of the angle between outputs, the
    mean; `top1`: in how many samples the largest element of the first output is the same, None
    where that output is no row of scores. `noise`: the energy of errors, as a share of that of an
    output's deviations from their mean, of the output where it is most (the inverse of its
    signal-to-noise ratio); None in records that are older than this figure. `is_seeded`: the
    samples were seeded noise, which tells little of real data.
    """

    samples: int
    max_error: float
    mean_error: float
    cosine: float
    top1: float | None
    noise: float | None = None
    is_seeded: bool = False

    def rows(self) -> list[tuple[str, str]]:
        """What each figure is called, and the figure, as people read them."""
        samples = f"{self.samples} of seeded noise" if self.is_seeded else str(self.samples)
        rows = [
            ("samples compared with float32", samples),
            ("largest error, of the largest output", f"{self.max_error:.2%}"),
            ("mean error", f"{self.mean_error:.3%}"),
            ("cosine", f"{self.cosine:.6f}"),
        ]
        if self.noise is not None:
            rows.append(("noise, of the output with most", f"{self.noise:.4%}"))
        return rows if self.top1 is None else [*rows, ("same largest output", f"{self.top1:.1%}")]

    @staticmethod
    def of(record: Mapping[str, Any]) -> Accuracy:
        """From what `dataclasses.asdict` made of one; other keys do not count."""
        known = {field.name for field in fields(Accuracy)}
        return Accuracy(**{name: value for name, value in record.items() if name in known})


# What may be asked for: the figure, and whether less of it is better.
_ASKED = {
    "top1": ("top1", ">="),
    "error": ("max_error", "<="),
    "cosine": ("cosine", ">="),
    "noise": ("noise", "<="),
}
_DEMAND = re.compile(r"\s*(\w+)\s*(>=|<=)\s*([\d.]+(?:e-?\d+)?)\s*(%?)\s*", re.ASCII)
_HINT = (
    'write it as "top1 >= 99 %", "error <= 0.02", "cosine >= 0.999" or "noise <= 0.01 %", or '
    "several with commas"
)


@dataclass(frozen=True)
class Demand:
    """A bound on a figure of `Accuracy`: `top1` or `cosine` from below, `error` (the largest one)
    or `noise` from above.
    """

    what: str
    bound: float

    def holds(self, found: Accuracy) -> bool:
        """Whether the figure keeps the bound.

        UsageError for top1 of a network whose first output is no row of scores.
        """
        figure, sign = _ASKED[self.what]
        value = getattr(found, figure)
        if value is None:
            raise UsageError(
                "the first output is no row of scores, so it has no top1",
                where=f"budget {self}",
                hint='ask for "error <= 0.02" or "cosine >= 0.999"',
            )
        return bool(value <= self.bound) if sign == "<=" else bool(value >= self.bound)

    def __str__(self) -> str:
        return f"{self.what} {_ASKED[self.what][1]} {self.bound:g}"


def demands(text: str) -> tuple[Demand, ...]:
    """ "top1 >= 99 %" -> (Demand("top1", 0.99),); UsageError for what cannot be read or kept."""
    found = []
    for part in text.split(","):
        match = _DEMAND.fullmatch(part)
        try:
            number = float(match[3]) if match else None
        except ValueError:
            number = None
        if match is None or number is None or match[1] not in _ASKED:
            raise UsageError(f"the budget {text!r} cannot be read", hint=_HINT)
        sign, bound = _ASKED[match[1]][1], number / 100 if match[4] else number
        if match[2] != sign:
            raise UsageError(f"{match[1]} is bounded with {sign}: {part.strip()!r}", hint=_HINT)
        if not 0 <= bound <= 1:
            raise UsageError(
                f"{match[1]} is between 0 and 1: {part.strip()!r}",
                hint="write a share, or a percentage with its sign",
            )
        found.append(Demand(match[1], bound))
    return tuple(found)


@dataclass(frozen=True)
class Candidate:
    """A network in one choice of precisions: `label` says which, `integers`: how many operators
    with weights compute on integers; `cycles`: what it takes by the planner's measure.
    """

    label: str
    integers: int
    cycles: float
    accuracy: Accuracy


@dataclass(frozen=True)
class OperatorTradeoff:
    """An operator with weights. `error`: the mean error of the network with it alone on integers;
    `saved`: the cycles that the network on integers takes more without it; `precision`: what was
    chosen.
    """

    name: str
    error: float
    saved: float
    precision: str


@dataclass(frozen=True)
class Search:
    """What was tried to keep a `budget`, on a machine: `chosen` is an index of `candidates`."""

    budget: str
    target: str
    candidates: tuple[Candidate, ...]
    chosen: int
    operators: tuple[OperatorTradeoff, ...]

    def front(self) -> list[Candidate]:
        """Those that no other is better than in both, cost and mean error (Pareto), the cheapest
        first.
        """
        ranked = sorted(self.candidates, key=lambda c: (c.cycles, c.accuracy.mean_error))
        kept: list[Candidate] = []
        for one in ranked:
            if not kept or one.accuracy.mean_error < kept[-1].accuracy.mean_error:
                kept.append(one)
        return kept

    def lines(self) -> list[str]:
        """What was chosen and why, in sentences."""
        best = self.candidates[self.chosen]
        least, most = (f(c.cycles for c in self.candidates) for f in (min, max))
        share = best.cycles / most if most else 1.0
        floats = [one for one in self.operators if one.precision != "int8"]
        idle = [one.name for one in floats if one.saved <= 0]
        costly = [one.name for one in floats if one.saved > 0]
        said = [
            f"{best.label}: {share:.0%} of the modeled cycles of the most expensive choice"
            + (", and the cheapest of all" if best.cycles == least else "")
            + f", within {self.budget} ({self.target})"
        ]
        if idle:
            said.append(f"int8 saves nothing: {', '.join(idle)}")
        if costly:
            said.append(f"int8 errs too much: {', '.join(costly)}")
        return said

    @staticmethod
    def of(record: Mapping[str, Any]) -> Search:
        """From what `dataclasses.asdict` made of one."""

        def candidate(row: Mapping[str, Any]) -> Candidate:
            return Candidate(**{**row, "accuracy": Accuracy.of(row["accuracy"])})

        found: Sequence[Mapping[str, Any]] = record["candidates"]
        operators = tuple(OperatorTradeoff(**row) for row in record["operators"])
        made = tuple(candidate(row) for row in found)
        return Search(record["budget"], record["target"], made, record["chosen"], operators)
