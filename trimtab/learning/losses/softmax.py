"""Softmax with cross entropy: labels are class indices; classes are dimension 1."""

from __future__ import annotations

import numpy as np

from trimtab.learning.losses import Terms

NORMALIZATION, ABSORBS = "valid", "softmax"


def target(shape: tuple[int, ...]) -> tuple[tuple[int, ...], str]:
    """A label for each place of each example."""
    return (shape[0], *shape[2:]), "i32"


def errors(terms: Terms) -> str:
    """The negative logarithm of the label's probability."""
    _, classes, *places = terms.shape(terms.prediction)
    labels = terms.reshape(terms.target, terms.shape(terms.target)[0], 1, *places)
    index = np.arange(classes).reshape(classes, *(1 for _ in places))
    is_label = terms.add("compare", labels, terms.constant(index, "int32"), relation="equal")
    logarithms = terms.add("log_softmax", terms.prediction, axis=1)
    chosen = terms.add("where", is_label, logarithms, terms.constant([0.0]))
    return terms.add("neg", terms.sum(chosen, 1))
