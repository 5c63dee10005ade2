"""Half of the squared distance."""

from __future__ import annotations

from trimtab.learning.losses import Terms

NORMALIZATION, ABSORBS = "batch_size", ""


def target(shape: tuple[int, ...]) -> tuple[tuple[int, ...], str]:
    """A target for each element."""
    return shape, "f32"


def errors(terms: Terms) -> str:
    """Half of each squared difference."""
    difference = terms.add("sub", terms.prediction, terms.target)
    return terms.times(terms.add("mul", difference, difference), 0.5)
