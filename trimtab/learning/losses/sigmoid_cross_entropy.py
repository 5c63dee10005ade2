"""Sigmoid with cross entropy, for targets from 0 to 1."""

from __future__ import annotations

from trimtab.learning.losses import Terms

NORMALIZATION, ABSORBS = "batch_size", "sigmoid"


def target(shape: tuple[int, ...]) -> tuple[tuple[int, ...], str]:
    """A target for each element."""
    return shape, "f32"


def errors(terms: Terms) -> str:
    """The cross entropy: softplus(x) - t x."""
    product = terms.add("mul", terms.prediction, terms.target)
    return terms.add("sub", terms.add("softplus", terms.prediction), product)
