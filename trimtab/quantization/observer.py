"""Observers: the statistics of a tensor that calibration collects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

BINS = 2048
FLOAT32_MAX = float(np.finfo(np.float32).max)
_MIN_SCALE = float(np.finfo(np.float32).tiny)
_INT8_STEPS = 255  # from -128 to 127


@dataclass(frozen=True)
class Range:
    """The interval of float32 values that the int8 values of a tensor represent."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """Length of the interval."""
        return self.high - self.low

    @property
    def has_scale(self) -> bool:
        """True if the interval is wide enough for a float32 scale; false if all values were 0."""
        return self.width / _INT8_STEPS >= _MIN_SCALE

    def union(self, other: Range) -> Range:
        """The smallest range that contains both."""
        return Range(min(self.low, other.low), max(self.high, other.high))


@dataclass
class Observer:
    """Statistics of one tensor.

    `extremes`: the range of each sample, in order. `counts`: a histogram with `BINS` equal bins
    over the whole range, one of whose edges is 0; collected in a second pass over the samples.
    `sums`: the sum over samples of the mean of each channel. `function`: the function that alone
    reads the tensor, if there is one: then the errors of its results count. `histogram_range`: the
    range that the bins divide, if it differs from that of these samples. `is_finite`: whether all
    values are.
    """

    extremes: list[Range] = field(default_factory=list)
    counts: Array | None = None
    sums: Array | None = None
    function: Callable[[Array], Array] | None = None
    histogram_range: Range | None = None
    is_finite: bool = True

    @property
    def whole(self) -> Range:
        """The range of all samples, extended to contain 0, the value of padding."""
        ranges = [Range(0.0, 0.0), *self.extremes]
        return Range(min(r.low for r in ranges), max(r.high for r in ranges))

    def merged(self, other: Observer) -> Observer:
        """The statistics of the samples of both, whose histograms have the same bins."""
        return Observer(
            [*self.extremes, *other.extremes],
            _sum(self.counts, other.counts),
            _sum(self.sums, other.sums),
            self.function,
            self.histogram_range,
            self.is_finite and other.is_finite,
        )

    def add_extremes(self, values: Array) -> None:
        """Adds the range of a sample; ignores infinities and NaN."""
        low, high = values.min(initial=np.inf), values.max(initial=-np.inf)  # NaN if one is
        if values.size and not np.isfinite([low, high]).all():
            self.is_finite = False
            values = values[np.isfinite(values)]
            low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
        if values.size:
            self.extremes.append(Range(float(low), float(high)))

    def add_means(self, values: Array, axis: int) -> None:
        """Adds the mean of each channel of a sample; `axis` is that of the channels."""
        others = tuple(i for i in range(values.ndim) if i != axis % values.ndim)
        means = values.mean(axis=others, dtype=np.float64)
        self.sums = _sum(self.sums, means)

    def add_counts(self, values: Array) -> None:
        """Adds a sample to the histogram; all extremes must be known."""
        width, below = self._bins
        # The bins are equally wide: a division finds them, where np.histogram would sort.
        bins = (values if self.is_finite else values[np.isfinite(values)]) / width
        np.floor(bins, out=bins)
        bins += below
        np.clip(bins, 0, BINS - 1, out=bins)
        self.counts = _sum(self.counts, np.bincount(bins.astype(np.intp).ravel(), minlength=BINS))

    @property
    def edges(self) -> Array:
        """The BINS + 1 edges of the bins; one of them is 0."""
        width, below = self._bins
        return (np.arange(BINS + 1) - below) * width

    @property
    def _bins(self) -> tuple[float, int]:
        """Width of a bin, and number of bins below 0."""
        whole = self.histogram_range or self.whole
        width = (whole.high - whole.low) / BINS or 1.0
        below = round(-whole.low / width)
        # Slightly wider than the range, so that 0 is an edge.
        return max(
            -whole.low / below if below else 0, whole.high / (BINS - below or 1), 1e-30
        ), below

    @property
    def histogram(self) -> tuple[Array, Array]:
        """Count and center of each bin."""
        edges = self.edges
        counts = np.zeros(BINS) if self.counts is None else self.counts.astype(np.float64)
        return counts, (edges[:-1] + edges[1:]) / 2


def _sum(a: Array | None, b: Array | None) -> Array | None:
    """Sum of two optional arrays."""
    return a if b is None else b if a is None else np.asarray(a + b)
