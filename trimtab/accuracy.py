"""Accuracy of a program relative to its float32 program, accuracy budgets, and the result of a
search among precisions.

    budget = parse_budget("top1 >= 99 %, error <= 0.05")
    all(bound.holds(accuracy) for bound in budget)

Uses the standard library only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from trimtab.errors import UsageError

_FEW_BOXES = 20  # fewer cannot show a loss of 5 %


@dataclass(frozen=True)
class Accuracy:
    """Deviation from the float32 program over all outputs of `samples` samples.

    `max_error`, `mean_error`: absolute errors relative to the largest magnitude of the output in
    float32. `cosine`: mean cosine similarity of the outputs. `top1`: share of the samples in which
    the largest element of the first output is the same, or None if that output is not a row of
    scores. `noise`: energy of the errors relative to the variance of the output, for the output
    with the largest ratio (the inverse of its signal-to-noise ratio); None in records from before
    this figure. `is_seeded`: the samples were seeded noise, which says little about real data.

    `boxes`: share of the boxes of a detector's head that both programs have
    (`trimtab.quantization.boxes`); None without a head or without boxes. `box_count`: those of
    float32, 0 in earlier records. `worst_layer`: the operator that adds most noise of its own, with
    its ratio of signal to noise; "" if unknown.

    Elements that are not finite in float32 count only here: `not_finite` is the number of elements
    of which one value is not finite (NaN or infinity) and the other differs, out of `elements`, and
    with any of them the errors are infinite and the cosine is 0. Both are 0 in earlier records.
    """

    samples: int
    max_error: float
    mean_error: float
    cosine: float
    top1: float | None
    noise: float | None = None
    is_seeded: bool = False
    not_finite: int = 0
    elements: int = 0
    boxes: float | None = None
    worst_layer: str = ""
    box_count: int = 0

    def verdict(self, budget: Sequence[AccuracyBound] = ()) -> str:
        """The figure that counts first, and whether it is within the budget, or the `STANDARD` one
        of this kind of network: "keeps 96.0% of boxes: within the budget".
        """
        if self.not_finite:
            return "computes NaN or infinity: do not ship this"
        bounds, failed = self._bounds(budget), self.failed(budget)
        first = (failed or bounds)[0]
        value = first.value_in(self) or 0.0
        figure = {
            "boxes": f"keeps {value:.1%} of {self.box_count or ''} boxes".replace("  ", " "),
            "top1": f"has the top-1 of float32 in {value:.1%} of samples",
            "cosine": f"has a cosine of {value:.4f} with float32",
            "error": f"has a largest error of {value:.2%}",
            "noise": f"has {decibels(value)} of signal to noise",
        }[first.figure]
        of_noise = ", on seeded noise, which is not real data" if self.is_seeded else ""
        answer = "do not ship this, outside of" if failed else "within"
        is_little = first.figure == "boxes" and 0 < self.box_count < _FEW_BOXES and not failed
        of_few = ", but so few boxes prove little: give more pictures with objects"
        return f"{figure}: {answer} the budget {first.in_words}{of_noise}{of_few * is_little}"

    def failed(self, budget: Sequence[AccuracyBound] = ()) -> Sequence[AccuracyBound]:
        """The bounds of the budget, or of the `STANDARD` one, that the figures exceed; all of them
        if values are not finite.
        """
        bounds = self._bounds(budget)
        return bounds if self.not_finite else [one for one in bounds if not one.holds(self)]

    def _bounds(self, budget: Sequence[AccuracyBound]) -> Sequence[AccuracyBound]:
        return [one for one in budget if one.value_in(self) is not None] or self.standard

    @property
    def standard(self) -> tuple[AccuracyBound, ...]:
        """The budget that a network of this kind should keep if nobody names one."""
        return (next(one for one in parse_budget(STANDARD) if one.value_in(self) is not None),)

    @property
    def summary(self) -> str:
        """The largest error and the cosine in words."""
        if self.not_finite:
            return f"{self.not_finite:,} of {self.elements:,} values are NaN or infinity"
        return f"largest error {self.max_error:.2%}, cosine {self.cosine:.6f}"

    def rows(self, budget: Sequence[AccuracyBound] = ()) -> list[tuple[str, str]]:
        """The name and the formatted value of each figure, first the verdict."""
        samples = f"{self.samples} of seeded noise" if self.is_seeded else str(self.samples)
        rows = [("samples compared with float32", samples)]
        if self.not_finite:
            count = f"{self.not_finite:,} of {self.elements:,} values"
            verdict = ("verdict", self.verdict())
            return [verdict, *rows, ("NaN or infinity, unlike float32", count)]
        if self.boxes is not None:
            rows.append(("boxes that both have", f"{self.boxes:.1%}"))
        if self.top1 is not None:
            rows.append(("same largest output (top-1)", f"{self.top1:.1%}"))
        rows += [
            ("largest error, of the largest output", f"{self.max_error:.2%}"),
            ("mean error", f"{self.mean_error:.3%}"),
            ("cosine", f"{self.cosine:.6f}"),
        ]
        if self.noise is not None:
            figure = f"{decibels(self.noise)} (noise {self.noise:.4%})"
            rows.append(("signal to noise, worst output", figure))
        if self.worst_layer:
            rows.append(("worst layer", self.worst_layer))
        return [("verdict", self.verdict(budget)), *rows]

    @staticmethod
    def of(record: Mapping[str, Any]) -> Accuracy:
        """Reads the dictionary that `dataclasses.asdict` makes; unknown keys are ignored. JSON has
        null for an infinite error.
        """
        names = {field.name for field in fields(Accuracy)}
        values = {name: value for name, value in record.items() if name in names}
        errors = ("max_error", "mean_error", *(["noise"] if values.get("not_finite") else []))
        infinite = {name: math.inf for name in errors if name in values and values[name] is None}
        return Accuracy(**values | infinite)


def decibels(noise: float) -> str:
    """A share of noise as the ratio of signal to noise."""
    return f"{-10 * math.log10(noise):.1f} dB" if noise > 0 else "infinite dB"


STANDARD = "boxes >= 95 %, top1 >= 99 %, cosine >= 0.999"
"""The budgets of detectors, classifiers, and other networks, of which the first figure counts that
a network has.
"""

# Name in a budget -> the figure and the direction of its bound.
_FIGURES = {
    "top1": ("top1", ">="),
    "boxes": ("boxes", ">="),
    "error": ("max_error", "<="),
    "cosine": ("cosine", ">="),
    "noise": ("noise", "<="),
}
_BOUND = re.compile(r"\s*(\w+)\s*(>=|<=)\s*([\d.]+(?:e-?\d+)?)\s*(%?)\s*", re.ASCII)
_HINT = (
    'write it as "top1 >= 99 %", "boxes >= 95 %", "error <= 0.02", "cosine >= 0.999" or '
    '"noise <= 0.01 %", or '
    "several with commas"
)


@dataclass(frozen=True)
class AccuracyBound:
    """A bound on one figure of `Accuracy`: a minimum of `top1`, `boxes` or `cosine`, a maximum of
    `error` (`max_error`) or `noise`.
    """

    figure: str
    bound: float

    def value_in(self, accuracy: Accuracy) -> float | None:
        """The figure that is bounded; None if the network has none."""
        value: float | None = getattr(accuracy, _FIGURES[self.figure][0])
        return value

    def holds(self, accuracy: Accuracy) -> bool:
        """Whether the figure is within the bound.

        UsageError for top1 of a network whose first output is not a row of scores, and for boxes
        of a network that has none on the samples.
        """
        sign, value = _FIGURES[self.figure][1], self.value_in(accuracy)
        if value is None and self.figure == "boxes":
            raise UsageError(
                "there are no boxes to count on the samples that are held out",
                where=f"budget {self}",
                hint="--head NAME of the detector (docs/boxes.md), with samples that show objects",
            )
        if value is None:
            raise UsageError(
                "the first output is not a row of scores, so it has no top1",
                where=f"budget {self}",
                hint='use "error <= 0.02" or "cosine >= 0.999"',
            )
        return bool(value <= self.bound) if sign == "<=" else bool(value >= self.bound)

    def __str__(self) -> str:
        return f"{self.figure} {_FIGURES[self.figure][1]} {self.bound:g}"

    @property
    def in_words(self) -> str:
        """The bound as people write it: "boxes >= 95 %"."""
        number = f"{self.bound:g}" if self.figure == "cosine" else f"{100 * self.bound:g} %"
        return f"{self.figure} {_FIGURES[self.figure][1]} {number}"


def parse_budget(text: str) -> tuple[AccuracyBound, ...]:
    """Parses "top1 >= 99 %" to (AccuracyBound("top1", 0.99),); UsageError for a malformed budget or
    a bound outside of 0 to 1.
    """
    bounds = []
    for part in text.split(","):
        match = _BOUND.fullmatch(part)
        try:
            number = float(match[3]) if match else None
        except ValueError:
            number = None
        if match is None or number is None or match[1] not in _FIGURES:
            raise UsageError(f"malformed budget {text!r}", hint=_HINT)
        sign, bound = _FIGURES[match[1]][1], number / 100 if match[4] else number
        if match[2] != sign:
            raise UsageError(f"{match[1]} is bounded with {sign}: {part.strip()!r}", hint=_HINT)
        if not 0 <= bound <= 1:
            raise UsageError(
                f"{match[1]} is between 0 and 1: {part.strip()!r}",
                hint="write a fraction, or a percentage with its sign",
            )
        bounds.append(AccuracyBound(match[1], bound))
    return tuple(bounds)


@dataclass(frozen=True)
class SearchCandidate:
    """A network with one assignment of precisions. `label`: its description; `integers`: number of
    operators with weights that compute on int8 values; `cycles`: its cost by the cost model.
    """

    label: str
    integers: int
    cycles: float
    accuracy: Accuracy


@dataclass(frozen=True)
class OperatorTradeoff:
    """Benefit and error of int8 for one operator with weights. `error`: mean error of the network
    if only this operator computes on int8 values; `saved`: cycles that the quantized network takes
    more without it; `precision`: the choice.
    """

    name: str
    error: float
    saved: float
    precision: str


@dataclass(frozen=True)
class Search:
    """A search for the cheapest precisions within a `budget` on a machine. `chosen` is an index of
    `candidates`.
    """

    budget: str
    target: str
    candidates: tuple[SearchCandidate, ...]
    chosen: int
    operators: tuple[OperatorTradeoff, ...]

    @property
    def bounds(self) -> tuple[AccuracyBound, ...]:
        """The bounds of the budget; () for one that a record has and nobody can read."""
        try:
            return parse_budget(self.budget)
        except UsageError:
            return ()

    def front(self) -> list[SearchCandidate]:
        """The Pareto front of cost and mean error, cheapest first."""
        ranked = sorted(self.candidates, key=lambda c: (c.cycles, c.accuracy.mean_error))
        front: list[SearchCandidate] = []
        for one in ranked:
            if not front or one.accuracy.mean_error < front[-1].accuracy.mean_error:
                front.append(one)
        return front

    def lines(self) -> list[str]:
        """The choice and its reasons, in sentences."""
        best = self.candidates[self.chosen]
        lowest, highest = (f(c.cycles for c in self.candidates) for f in (min, max))
        share = best.cycles / highest if highest else 1.0
        floats = [one for one in self.operators if one.precision != "int8"]
        idle = [one.name for one in floats if one.saved <= 0]
        costly = [one.name for one in floats if one.saved > 0]
        sentences = [
            f"{best.label}: {share:.0%} of the modeled cycles of the most expensive choice"
            + (", and the cheapest of all" if best.cycles == lowest else "")
            + f", within {self.budget} ({self.target})"
        ]
        if idle:
            sentences.append(f"int8 saves nothing: {', '.join(idle)}")
        if costly:
            sentences.append(f"the error of int8 is too large: {', '.join(costly)}")
        return sentences

    @staticmethod
    def of(record: Mapping[str, Any]) -> Search:
        """Reads the dictionary that `dataclasses.asdict` makes."""

        def candidate(row: Mapping[str, Any]) -> SearchCandidate:
            return SearchCandidate(**{**row, "accuracy": Accuracy.of(row["accuracy"])})

        rows: Sequence[Mapping[str, Any]] = record["candidates"]
        operators = tuple(OperatorTradeoff(**row) for row in record["operators"])
        candidates = tuple(candidate(row) for row in rows)
        return Search(record["budget"], record["target"], candidates, record["chosen"], operators)
