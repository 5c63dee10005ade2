"""Boxes as the papers and the reference implementations compute them, in numpy and float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def sigmoid(x: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-x.astype(np.float64))))


def overlap(box: Array, boxes: Array) -> Array:
    """Intersection over union of a box with others."""
    low, high = np.maximum(boxes[:, :2], box[:2]), np.minimum(boxes[:, 2:], box[2:])
    common = (high - low).clip(0).prod(1)
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    union = areas + (box[2:] - box[:2]).prod() - common
    return np.asarray(np.where(common > 0, common / np.where(union > 0, union, 1), 0))


def cropped(masks: Array, boxes: Array) -> Array:
    """Masks [m, h, w] with zeros outside of the boxes [m, 4], in the masks' pixels, as Ultralytics
    crops them.
    """
    _, height, width = masks.shape
    x1, y1, x2, y2 = (boxes[:, i][:, None, None] for i in range(4))
    x, y = np.arange(width)[None, None], np.arange(height)[None, :, None]
    return masks * ((x >= x1) & (x < x2) & (y >= y1) & (y < y2))


def corners(boxes: Array) -> Array:
    """x, y, width, height -> xmin, ymin, xmax, ymax."""
    return np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], 1)


def detections(
    boxes: Array,
    scores: Array,
    threshold: float = 0.25,
    iou: float = 0.45,
    *,
    agnostic: bool = False,
    multi_label: bool = False,
    limit: int = 300,
) -> Array:
    """Rows of box, score and class from boxes [m, 4] and scores [m, classes]: greedy suppression of
    the boxes above the threshold, best first.
    """
    scores = scores.astype(np.float64)
    pairs = [
        (float(row[c]), i, c)
        for i, row in enumerate(scores)
        for c in (range(len(row)) if multi_label else [int(np.nanargmax(row))])
        if row[c] > threshold
    ]
    rows: list[Array] = []
    for score, i, c in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
        box = boxes[i].astype(np.float64)
        same = np.array([row[:4] for row in rows if agnostic or row[5] == c]).reshape(-1, 4)
        if len(rows) < limit and (overlap(box, same) <= iou).all():
            rows.append(np.array([*box, score, c]))
    return np.array(rows).reshape(-1, 6)
