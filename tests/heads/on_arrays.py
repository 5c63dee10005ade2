"""Heads on arrays in place of tensors, and the boxes that remain after OpenCV's suppression."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

import trimtab
from tests.heads.reference import Array

SIZE = (96, 128)  # height, width
SCORE, IOU = 0.4, 0.45


def run(head: str, arrays: dict[str, Array], size: tuple[int, int] = SIZE, **options: Any) -> Any:
    """The results of a head on arrays, behind an image of `size`."""
    program = trimtab.Program(head)
    program.add_input("image", (1, 3, *size))
    for name, array in arrays.items():
        program.add_input(name, array.shape)
    program.outputs = list(arrays)
    behind = trimtab.attach_head(program, head, score=SCORE, **options)
    feeds = {name: array.astype(np.float32) for name, array in arrays.items()}
    return trimtab.Session(behind, cache=False).run(
        {**feeds, "image": np.zeros((1, 3, *size), np.float32)}
    )


def selected(boxes: Array, scores: Array) -> Array:
    """The numbers of the boxes [m, 4] that OpenCV keeps of each class of scores [m, classes], best
    first.
    """
    best, classes = scores.max(1).astype(float), scores.argmax(1)
    rectangles = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], 1)
    arguments = rectangles.tolist(), best.tolist(), classes.tolist(), SCORE, IOU
    chosen = np.asarray(cv2.dnn.NMSBoxesBatched(*arguments)).ravel()
    return np.asarray(chosen[np.argsort(-best[chosen], kind="stable")])


def check(results: Any, boxes: Array, scores: Array, chosen: Array) -> None:
    count = int(results["count"][0])
    assert count == len(chosen) > 3
    rows = results["boxes"][0, :count]
    np.testing.assert_allclose(rows[:, :4], boxes[chosen], 1e-4, 1e-3)
    np.testing.assert_allclose(rows[:, 4], scores[chosen].max(1), 1e-4, 1e-5)
    np.testing.assert_array_equal(rows[:, 5], scores[chosen].argmax(1))
    assert not results["boxes"][0, count:].any()
