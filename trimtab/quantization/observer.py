"""What calibration sees of a tensor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

BINS = 2048
MOST_REAL = float(np.finfo(np.float32).max)
_LEAST_STEP = float(np.finfo(np.float32).tiny)  # that a scale can be
_STEPS = 255  # from the least to the largest integer


@dataclass(frozen=True)
class Range:
    """The least and the largest real number that the integers of a tensor stand for."""

    least: float
    most: float

    @property
    def width(self) -> float:
        """From end to end."""
        return self.most - self.least

    @property
    def has_steps(self) -> bool:
        """Whether a scale can be that of its integers: not where all that was seen is 0."""
        return self.width / _STEPS >= _LEAST_STEP

    def joined(self, other: Range) -> Range:
        """The range that holds both."""
        return Range(min(self.least, other.least), max(self.most, other.most))


@dataclass
class Seen:
    """The extremes of each sample in their order and, after a second look, how often values were
    in each of `BINS` equal parts of the whole range, of which one ends at 0. `sums`: of samples'
    means by channel, for those that `add` was told of. `function`: what is computed of each value,
    where nothing else reads the tensor: then only what becomes of the values counts. `counted`: the
    range that has the parts, where it is that of more samples than these.
    """

    extremes: list[Range] = field(default_factory=list)
    counts: Array | None = None
    sums: Array | None = None
    function: Callable[[Array], Array] | None = None
    counted: Range | None = None

    @property
    def whole(self) -> Range:
        """From the least to the largest value, with 0, which padding needs."""
        ends = [Range(0.0, 0.0), *self.extremes]
        return Range(min(r.least for r in ends), max(r.most for r in ends))

    def joined(self, other: Seen) -> Seen:
        """What was seen of the samples of both, whose values were counted in the same parts."""
        return Seen(
            [*self.extremes, *other.extremes],
            _sum(self.counts, other.counts),
            _sum(self.sums, other.sums),
            self.function,
            self.counted,
        )

    def look(self, values: Array) -> None:
        """Notes the extremes of a sample; what is not finite does not count."""
        finite = values[np.isfinite(values)]
        if finite.size:
            self.extremes.append(Range(float(finite.min()), float(finite.max())))

    def add(self, values: Array, axis: int) -> None:
        """Adds a sample to the sums along every axis but that of the channels."""
        rest = tuple(i for i in range(values.ndim) if i != axis % values.ndim)
        means = values.mean(axis=rest, dtype=np.float64)
        self.sums = _sum(self.sums, means)

    def count(self, values: Array) -> None:
        """Counts the values of a sample, once all extremes are known."""
        width, below = self._parts
        # All are equally wide: a division finds them, where np.histogram would sort.
        parts = np.floor(values[np.isfinite(values)] / width) + below
        found = np.bincount(np.clip(parts, 0, BINS - 1).astype(np.int64), minlength=BINS)
        self.counts = _sum(self.counts, found)

    @property
    def edges(self) -> Array:
        """The ends of the parts, BINS + 1 of them, of which one is 0."""
        width, below = self._parts
        return (np.arange(BINS + 1) - below) * width

    @property
    def _parts(self) -> tuple[float, int]:
        """How wide a part is, and how many lie below 0."""
        whole = self.counted or self.whole
        width = (whole.most - whole.least) / BINS or 1.0
        below = round(-whole.least / width)
        # A little wider than the range, so that 0 is an end.
        return max(
            -whole.least / below if below else 0, whole.most / (BINS - below or 1), 1e-30
        ), below

    @property
    def histogram(self) -> tuple[Array, Array]:
        """How often values were in each part, and the middle of the part."""
        edges = self.edges
        counts = np.zeros(BINS) if self.counts is None else self.counts.astype(np.float64)
        return counts, (edges[:-1] + edges[1:]) / 2


def _sum(a: Array | None, b: Array | None) -> Array | None:
    """Of what there is."""
    return a if b is None else b if a is None else np.asarray(a + b)
