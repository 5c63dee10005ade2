"""Mean average precision of boxes, as COCO defines it: precision at 101 levels of recall, averaged
over classes with labels and, in `mean`, over overlaps of 0.5 to 0.95.

Of a picture's boxes, the 100 with the highest scores count. A box matches the free label of its
class that it overlaps most, if that overlap (intersection over union) reaches the threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.detections import overlaps

Array = NDArray[np.float64]

OVERLAPS = np.linspace(0.5, 0.95, 10)
_RECALLS = np.linspace(0, 1, 101)
_MAX_BOXES = 100


@dataclass(frozen=True)
class AveragePrecision:
    """`mean`: over all overlaps; `at_half`: with an overlap of 0.5."""

    mean: float
    at_half: float


def average_precision(labels: Sequence[Array], detected: Sequence[Array]) -> AveragePrecision:
    """Precision on pictures, each with labels [n, 5] (corners, class) and detected boxes [m, 6]
    (corners, score, class). Both figures are 0 without any label.
    """
    detected = [boxes[np.argsort(-boxes[:, 4], kind="stable")][:_MAX_BOXES] for boxes in detected]
    classes = sorted({int(index) for boxes in labels for index in boxes[:, 4]})
    by_class = [_of_class(index, labels, detected) for index in classes]
    means = np.mean(by_class, axis=0) if by_class else np.zeros(len(OVERLAPS))
    return AveragePrecision(float(means.mean()), float(means[0]))


def _of_class(index: int, labels: Sequence[Array], detected: Sequence[Array]) -> Array:
    """The average precision of a class at each overlap."""
    scores: list[float] = []
    hits: list[Array] = []
    count = 0
    for truth, boxes in zip(labels, detected, strict=True):
        mine, same = truth[truth[:, 4] == index], boxes[boxes[:, 5] == index]
        count += len(mine)
        scores += same[:, 4].tolist()
        hits.append(_matches(overlaps(same, mine)))
    order = np.argsort(-np.array(scores), kind="stable")
    ranked = np.concatenate(hits)[order]
    return np.array([_area(ranked[:, i], count) for i in range(len(OVERLAPS))])


def _matches(overlap: Array) -> Array:
    """Whether each box, best first, matches a label at each overlap: [boxes, overlaps]."""
    matches = np.zeros((len(overlap), len(OVERLAPS)))
    for column, threshold in enumerate(OVERLAPS):
        free = np.ones(overlap.shape[1], bool)
        for row, values in enumerate(overlap):
            candidates = np.where(free, values, -1)
            best = int(candidates.argmax()) if len(candidates) else -1
            if best >= 0 and candidates[best] >= threshold:
                free[best] = False
                matches[row, column] = 1
    return matches


def _area(hits: Array, labels: int) -> float:
    """Average precision of boxes in the order of their scores; `hits` is 1 for each right one."""
    if not len(hits):
        return 0.0
    right = hits.cumsum()
    recall, precision = right / labels, right / np.arange(1, len(hits) + 1)
    best = np.maximum.accumulate(precision[::-1])[::-1]  # at this recall or a higher one
    places = np.searchsorted(recall, _RECALLS)
    return float(np.where(places < len(best), best[np.minimum(places, len(best) - 1)], 0).mean())
