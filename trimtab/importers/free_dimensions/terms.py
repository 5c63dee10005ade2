"""Sizes that follow a free dimension: (dimension * multiply + add) / divide, rounded down."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.importers.free_dimensions.bounds import Bounds, Point

_MAX_DIVIDE = 64  # the product of the strides of most networks is smaller


@dataclass(frozen=True)
class SizeTerm:
    """A size; `free` is the number of the free dimension that it follows, -1 if it is `add`."""

    free: int = -1
    multiply: int = 0
    add: int = 0
    divide: int = 1

    def at(self, sizes: NDArray[Any]) -> NDArray[Any]:
        """The value for each size of the free dimension."""
        return (sizes * self.multiply + self.add) // self.divide


REST = SizeTerm(add=-1)
"""Takes the remaining elements of a reshape."""


class AmbiguousError(Exception):
    """Several terms have the same values at all known points, and differ at `point`."""

    def __init__(self, point: Point) -> None:
        super().__init__(point)
        self.point = point


class TermFit:
    """Finds the terms of values that are known at some points of the free dimensions."""

    def __init__(self, bounds: Sequence[Bounds], points: Sequence[Point]) -> None:
        self.bounds, self.points = bounds, points
        self._known: dict[tuple[int, ...], SizeTerm | None] = {}

    def term(self, values: Sequence[int]) -> SizeTerm | None:
        """The only term that has these values at the points; None if there is none.

        AmbiguousError if another point decides between two terms.
        """
        key = tuple(values)
        if key not in self._known:
            self._known[key] = SizeTerm(add=key[0]) if len(set(key)) == 1 else self._fitted(key)
        return self._known[key]

    def _fitted(self, values: Sequence[int]) -> SizeTerm | None:
        terms: dict[int, SizeTerm] = {}
        for number in range(len(self.bounds)):
            candidates = list(self._candidates(number, values))
            if candidates:
                terms[number] = _simplest(*candidates[0])
                # A line that all points meet is no coincidence, and strides have no such result.
                if terms[number].divide > 1:
                    self._compare(terms[number], [term for pair in candidates for term in pair])
        if len(terms) > 1:
            self._separate(*list(terms)[:2])
        return next(iter(terms.values()), None)

    def _candidates(
        self, number: int, values: Sequence[int]
    ) -> Iterator[tuple[SizeTerm, SizeTerm]]:
        """The terms of each slope as those with the smallest and the largest `add`, by divisor."""
        v = np.array(values)
        s = np.array([point[number] for point in self.points])
        first, last = int(s.argmin()), int(s.argmax())
        ds, dv = int(s[last] - s[first]), int(v[last] - v[first])
        if ds == 0 or dv <= 0:
            return
        for q in range(1, _MAX_DIVIDE + 1):
            slopes = np.arange(-((q - 1 - q * dv) // ds), (q * dv + q - 1) // ds + 1)
            rest = q * v - slopes[:, None] * s
            lows, highs = rest.max(axis=1), rest.min(axis=1) + q - 1
            for p, low, high in zip(slopes, lows, highs, strict=True):
                if p >= 1 and low <= high and math.gcd(int(p), q) == 1:
                    yield (
                        SizeTerm(number, int(p), int(low), q),
                        SizeTerm(number, int(p), int(high), q),
                    )
                    if q == 1:
                        return

    def _compare(self, chosen: SizeTerm, others: Sequence[SizeTerm]) -> None:
        """AmbiguousError if a term of the same dimension differs at a size of it."""
        sizes = np.array(self.bounds[chosen.free].sizes)
        expected = chosen.at(sizes)
        for other in others:
            differing = sizes[expected != other.at(sizes)]
            if len(differing):
                raise AmbiguousError(self._at(chosen.free, int(differing[len(differing) // 2])))

    def _separate(self, number: int, other: int) -> None:
        """AmbiguousError at a point where two dimensions that explain the values differ."""
        sizes = self.bounds[number].sizes
        for size in (sizes[len(sizes) // 2], sizes[0]):
            if (point := self._at(number, size)) not in self.points:
                raise AmbiguousError(point)

    def _at(self, number: int, size: int) -> Point:
        """The largest sizes, but for one dimension."""
        point = [bounds.maximum for bounds in self.bounds]
        point[number] = size
        return tuple(point)


def _simplest(low: SizeTerm, high: SizeTerm) -> SizeTerm:
    """The term between two whose `add` is 0, else that which rounds up, else the smallest."""
    for add in (0, low.divide - 1):
        if low.add <= add <= high.add:
            return SizeTerm(low.free, low.multiply, add, low.divide)
    return low


def numbers(terms: Sequence[SizeTerm]) -> tuple[int, ...]:
    """The attribute with the sizes of an operator that follow free dimensions."""
    return tuple(n for t in terms for n in (t.free, t.multiply, t.add, t.divide))
