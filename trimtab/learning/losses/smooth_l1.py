"""Smooth L1 (Girshick 2015): quadratic below 1 / sigma^2, then linear."""

from __future__ import annotations

from trimtab.learning.losses import Terms

NORMALIZATION, ABSORBS = "batch_size", ""


def target(shape: tuple[int, ...]) -> tuple[tuple[int, ...], str]:
    """A target for each element."""
    return shape, "f32"


def errors(terms: Terms) -> str:
    """sigma^2 m (d - m / 2), where d is the distance and m = min(d, 1 / sigma^2)."""
    square = terms.loss.sigma**2
    distance = terms.add("abs", terms.add("sub", terms.prediction, terms.target))
    bounded = terms.add("clip", distance, beta=1 / square)
    rest = terms.add("sub", distance, terms.times(bounded, 0.5))
    return terms.times(terms.add("mul", bounded, rest), square)
