"""Einstein summation by matrix multiplication (numpy.einsum, ONNX Einsum)."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.importers._graph import Operand, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary import matrix
from trimtab.importers.vocabulary.reduction import reduced

_TERM = re.compile(r"[A-Za-z]*(?:\.\.\.)?[A-Za-z]*")


@dataclass(frozen=True)
class Term:
    """An operand with a label for each of its dimensions."""

    x: Operand
    labels: tuple[str, ...]

    def size(self, label: str) -> int:
        """The length of a dimension; 1 if the operand does not have it."""
        return self.x.shape[self.labels.index(label)] if label in self.labels else 1


def einsum(layer: ImportedLayer, equation: str, operands: Sequence[Operand]) -> Value:
    """Computes the operands two at a time, from left to right. Labels of one term must differ."""
    terms, result = _parsed(layer, equation, operands)
    term = terms[0]
    for i, other in enumerate(terms[1:], 1):
        later = {label for later in terms[i + 1 :] for label in later.labels}
        term = _product(layer, term, other, [*result, *sorted(later - {*result})])
    term = _summed(layer, term, result)
    absent = [label for label in result if label not in term.labels]
    if absent:
        raise layer.invalid(f"no operand of {equation} has {', '.join(absent)}")
    order = [term.labels.index(label) for label in result]
    return layer.value(layer.transpose(term.x, order))


def _parsed(
    layer: ImportedLayer, equation: str, operands: Sequence[Operand]
) -> tuple[list[Term], tuple[str, ...]]:
    """The terms of an equation and the labels of its result; those of an ellipsis are numbers,
    counted from its end.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    texts = left.split(",")
    if not all(_TERM.fullmatch(text) for text in (*texts, right)) or len(texts) != len(operands):
        raise layer.invalid(f"{equation} is not an equation of {len(operands)} operands")
    longest = 0
    terms = []
    for text, x in zip(texts, operands, strict=True):
        missing = len(x.shape) - len(text.replace("...", ""))
        if missing < 0 or (missing > 0 and "..." not in text):
            raise layer.invalid(f"{text} of {equation} does not fit {list(x.shape)}")
        terms.append(Term(x, _labels(text, missing)))
        longest = max(longest, missing)
    if arrow:
        result = _labels(right, longest if "..." in right else 0)
    else:
        letters = "".join(texts).replace(".", "")
        once = sorted(letter for letter in {*letters} if letters.count(letter) == 1)
        result = (*_labels("...", longest), *once)
    for labels in (*(term.labels for term in terms), result):
        if len({*labels}) < len(labels):
            raise layer.unsupported(f"a term of {equation} repeats a label")
    return terms, result


def _labels(text: str, ellipsis: int) -> tuple[str, ...]:
    before, _, after = text.partition("...")
    return (*before, *(str(i) for i in reversed(range(ellipsis))), *after)


def _summed(layer: ImportedLayer, term: Term, outer: Collection[str]) -> Term:
    """Sums over all labels but `outer`."""
    axes = [i for i, label in enumerate(term.labels) if label not in outer]
    if not axes:
        return term
    labels = tuple(label for label in term.labels if label in outer)
    if isinstance(term.x, np.ndarray):
        return Term(term.x.sum(tuple(axes)), labels)
    return Term(reduced(layer, "sum", term.x, axes, keep_dims=False), labels)


def _product(layer: ImportedLayer, a: Term, b: Term, outer: Sequence[str]) -> Term:
    """The product of two terms, summed over all labels but `outer`."""
    a, b = _without_broadcast(layer, a, b), _without_broadcast(layer, b, a)
    a = _summed(layer, a, {*outer, *b.labels})
    b = _summed(layer, b, {*outer, *a.labels})
    both = [label for label in a.labels if label in b.labels]
    for label in both:
        if a.size(label) != b.size(label):
            raise layer.invalid(f"its operands have {a.size(label)} and {b.size(label)} of {label}")
    stack = [label for label in both if label in outer]
    depth = [label for label in both if label not in outer]
    rows = [label for label in a.labels if label not in both]
    columns = [label for label in b.labels if label not in both]
    labels = (*stack, *rows, *columns)
    sizes = [max(a.size(label), b.size(label)) for label in labels]
    if not depth:
        left, right = (_aligned(layer, term, labels) for term in (a, b))
        return Term(layer.add("mul", layer.value(left), layer.value(right)), labels)
    left = _as_matrices(layer, a, stack, rows, depth)
    right = _as_matrices(layer, b, stack, depth, columns)
    return Term(layer.reshape(matrix.mat_mul(layer, left, right), sizes), labels)


def _without_broadcast(layer: ImportedLayer, term: Term, other: Term) -> Term:
    """The term without its dimensions of 1 that the other term has with another length."""
    labels = tuple(
        label for label in term.labels if term.size(label) != 1 or other.size(label) == 1
    )
    return Term(layer.reshape(term.x, [term.size(label) for label in labels]), labels)


def _aligned(layer: ImportedLayer, term: Term, labels: Sequence[str]) -> Operand:
    """The term with the dimensions `labels`, of length 1 where it has none."""
    order = [term.labels.index(label) for label in labels if label in term.labels]
    x = layer.transpose(term.x, order)
    return layer.reshape(x, [term.size(label) for label in labels])


def _as_matrices(
    layer: ImportedLayer,
    term: Term,
    stack: Sequence[str],
    rows: Sequence[str],
    columns: Sequence[str],
) -> Operand:
    """The term as [stack, rows, columns]; without a stack as a matrix."""
    groups = [stack, rows, columns] if stack else [rows, columns]
    order = [term.labels.index(label) for group in groups for label in group]
    x = layer.transpose(term.x, order)
    return layer.reshape(x, [math.prod(term.size(label) for label in group) for group in groups])
