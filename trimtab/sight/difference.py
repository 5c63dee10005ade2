"""The results of a network for a picture beside those of a reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.quantization import boxes
from trimtab.quantization.accuracy import Deviation

Array = NDArray[Any]


@dataclass(frozen=True)
class BoxDifference:
    """Boxes: those of the reference, those of them with a counterpart, those without any there;
    of the counterparts the smallest overlap and the largest difference of scores.
    """

    expected: int
    matched: int
    others: int
    overlap: float
    score: float

    def __str__(self) -> str:
        text = f"{self.matched} of {self.expected} boxes, {self.others} others"
        fits = f"; overlap at least {self.overlap:.4f}, scores within {self.score:.4f}"
        return text + fits * bool(self.matched)


@dataclass(frozen=True)
class ClassDifference:
    """Whether the best class is that of the reference, and the largest difference of the scores
    of classes that both have among their best.
    """

    is_same: bool
    score: float

    def __str__(self) -> str:
        same = "the same best class" if self.is_same else "another best class"
        return f"{same}; scores within {self.score:.4f}"


@dataclass(frozen=True)
class OutputDifference:
    """The output that differs most from the reference: the share of equal values of whole numbers,
    such as classes of pixels; of others the cosine similarity.
    """

    output: str
    likeness: float
    is_whole_numbers: bool

    def __str__(self) -> str:
        if self.is_whole_numbers:
            return f"{self.output}: {self.likeness:.2%} of the values are equal"
        return f"{self.output}: cosine similarity {self.likeness:.6f}"


Difference = BoxDifference | ClassDifference | OutputDifference


def difference(expected: Mapping[str, Array], actual: Mapping[str, Array]) -> Difference:
    """How results differ from those of a reference, both as `Session.run` gives them: in boxes, in
    the best classes, or in the values of outputs.
    """
    theirs, ours = boxes.rows(expected), boxes.rows(actual)
    if theirs is not None and ours is not None:
        pairs = boxes.pairs(theirs, ours)
        scores = [abs(float(theirs[row, 4] - ours[column, 4])) for row, column, _ in pairs]
        overlap = min((pair[2] for pair in pairs), default=0.0)
        others = len(ours) - len(pairs)
        return BoxDifference(len(theirs), len(pairs), others, overlap, max(scores, default=0.0))
    if {"scores", "classes"} <= expected.keys():
        best, own = (
            dict(zip(map(int, r["classes"][0]), map(float, r["scores"][0]), strict=True))
            for r in (expected, actual)
        )
        errors = [abs(best[index] - own[index]) for index in best.keys() & own.keys()]
        return ClassDifference(next(iter(best)) == next(iter(own)), max(errors, default=np.inf))
    likeness = {name: _likeness(array, actual[name]) for name, array in expected.items()}
    worst = min(likeness, key=likeness.__getitem__)
    return OutputDifference(worst, likeness[worst], expected[worst].dtype.kind in "iub")


def _likeness(expected: Array, actual: Array) -> float:
    """0 for results of another size."""
    if expected.shape != actual.shape:
        return 0.0
    if expected.dtype.kind in "iub":
        return float(np.mean(expected == actual)) if expected.size else 1.0
    return Deviation.of(expected, actual).cosine
