"""Boxes of a detector that another version of it keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import heads
from trimtab.detections import overlaps
from trimtab.heads import HeadRequest
from trimtab.program import Program

Array = NDArray[Any]

MIN_OVERLAP = 0.5  # intersection over union of a box and its counterpart


def with_boxes(program: Program, head: HeadRequest | None) -> tuple[Program, list[str]]:
    """A copy whose outputs are also the boxes of its head, and the names of the program's own
    outputs in it: a head takes the names `boxes` and `scores`. The program itself without a head.
    """
    if head is None:
        return program, list(program.outputs)
    raw = program.copy()
    heads.free_names(raw)
    whole = heads.with_head(program, head)
    whole.outputs = [*whole.outputs, *(name for name in raw.outputs if name not in whole.outputs)]
    return whole, list(raw.outputs)


def has_boxes(program: Program) -> bool:
    """Whether a head in the network itself computes boxes."""
    return {"boxes", "count"} <= {*program.outputs}


def rows(results: Mapping[str, Array]) -> Array | None:
    """The boxes of the first image: [n, 6], corners, score, class; None if there are no boxes."""
    boxes, count = results.get("boxes"), results.get("count")
    if boxes is None or count is None or boxes.ndim != 3 or boxes.shape[2] < 6:
        return None
    return np.array(boxes[0, : int(count[0]), :6], float)


def kept(expected: Sequence[Array], actual: Sequence[Array]) -> float | None:
    """The share of boxes that both versions of a detector have, in all images: the smaller one of
    the share of `expected` that has a counterpart in `actual`, and the reverse.

    A counterpart has the same class and an overlap of at least `MIN_OVERLAP`; no two boxes share
    one. None without any expected box.
    """
    expected_count, actual_count = (sum(map(len, boxes)) for boxes in (expected, actual))
    if not expected_count:
        return None
    matches = sum(len(pairs(a, b)) for a, b in zip(expected, actual, strict=True))
    return matches / max(expected_count, actual_count)


def pairs(expected: Array, actual: Array) -> list[tuple[int, int, float]]:
    """The boxes of `expected` and their counterparts in `actual`, both [n, 6] as `rows` gives them:
    row, row and overlap, the best overlaps first.
    """
    both = overlaps(expected, actual) * (expected[:, None, 5] == actual[None, :, 5])
    matches = []
    while both.size and both.max() >= MIN_OVERLAP:
        row, column = map(int, np.unravel_index(both.argmax(), both.shape))
        matches.append((row, column, float(both[row, column])))
        both[row], both[:, column] = 0, 0
    return matches
