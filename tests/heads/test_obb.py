"""Oriented boxes beside Ultralytics' post-processing: `non_max_suppression(rotated=True)` of
utils/nms.py, `batch_probiou` of utils/metrics.py and `xywhr2xyxyxyxy` of utils/ops.py, in numpy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.heads.reference import Array
from tests.heads.test_proof import network, results_of
from trimtab import camera, heads
from trimtab.detections import DetectedBoxes
from trimtab.errors import UsageError
from trimtab.program import ModelHints

SIDE, PLACES, CLASSES = 64, 84, 3
METADATA = {"task": "obb", "names": "{0: 'ship', 1: 'plane', 2: 'pool'}"}


def decoded(seed: int = 0, places: int = PLACES) -> Array:
    """An output [4 + classes + 1, places]: many boxes that overlap, with angles of both exports."""
    rng = np.random.default_rng(seed)
    x = np.zeros((4 + CLASSES + 1, places), np.float32)
    x[:2], x[2:4] = rng.uniform(20, 44, (2, places)), rng.uniform(3, 40, (2, places))
    x[4:7], x[7] = rng.random((CLASSES, places)), rng.uniform(-4, 4, places)
    return x


def similarity(p: Array, q: Array) -> Array:
    """ProbIoU of boxes [n, 5] with boxes [m, 5], as x, y, width, height and angle."""

    def covariance(boxes: Array) -> list[Array]:
        a, b, angle = boxes[:, 2] ** 2 / 12, boxes[:, 3] ** 2 / 12, boxes[:, 4]
        cos, sin = np.cos(angle), np.sin(angle)
        return [a * cos**2 + b * sin**2, a * sin**2 + b * cos**2, (a - b) * cos * sin]

    small = 1e-7
    (a1, b1, c1), (a2, b2, c2) = covariance(p), covariance(q)
    a, b, c = a1[:, None] + a2, b1[:, None] + b2, c1[:, None] + c2
    x, y = p[:, :1] - q[:, 0], p[:, 1:2] - q[:, 1]
    below = a * b - c**2
    first = (a * y**2 + b * x**2) / (below + small) / 4 + c * -x * y / (below + small) / 2
    areas = np.sqrt((a1 * b1 - c1**2).clip(0)[:, None] * (a2 * b2 - c2**2).clip(0))
    distance = first + np.log(below / (4 * areas + small) + small) / 2
    return np.asarray(1 - np.sqrt(1 - np.exp(-distance.clip(small, 100)) + small))


def corners_of(boxes: Array) -> Array:
    center, (w, h, angle) = boxes[:, :2], boxes[:, 2:5].T
    first = np.stack([np.cos(angle) * w, np.sin(angle) * w], 1) / 2
    second = np.stack([-np.sin(angle) * h, np.cos(angle) * h], 1) / 2
    signs = [(1, 1), (1, -1), (-1, -1), (-1, 1)]
    return np.stack([center + a * first + b * second for a, b in signs], 1)


def expected(x: Array, options: dict[str, Any]) -> tuple[Array, Array, Array]:
    """The boxes [n, 5], scores and classes that remain."""
    x = x.astype(float)
    scores, classes = x[4:7].max(0), x[4:7].argmax(0)
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] > options.get("score", 0.25)]
    boxes = np.concatenate([x[:4], x[7:]]).T[order]
    shifted = boxes.copy()
    if not options.get("agnostic"):
        shifted[:, :2] += classes[order, None] * 7680
    over = np.triu(similarity(shifted, shifted), 1) >= options.get("iou", 0.45)
    rows = np.flatnonzero(over.sum(0) == 0)[: options.get("max_boxes", 300)]
    return boxes[rows], scores[order][rows], classes[order][rows]


def check(results: dict[str, Array], boxes: Array, scores: Array, classes: Array) -> None:
    count = int(results["count"][0])
    assert count == len(scores)
    corners, rows = corners_of(boxes), results["boxes"][0]
    np.testing.assert_allclose(results["corners"][0, :count], corners, 1e-4, 2e-3)
    around = np.concatenate([corners.min(1), corners.max(1)], 1)
    np.testing.assert_allclose(rows[:count, :4], around, 1e-4, 2e-3)
    np.testing.assert_allclose(rows[:count, 4], scores, 1e-5)
    np.testing.assert_array_equal(rows[:count, 5], classes)
    assert not rows[count:].any()


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    "options", [{}, {"iou": 0.7, "agnostic": True}, {"score": 0.8, "iou": 0.1}, {"max_boxes": 5}]
)
def test_oriented_boxes_are_those_of_ultralytics(seed: int, options: dict[str, Any]) -> None:
    x = decoded(seed)
    program = network({"output0": x[None]}, METADATA)
    results = results_of(trimtab.attach_head(program, "auto", **options))
    rows = expected(x, options)
    assert 2 < len(rows[1]) < PLACES
    check(results, *rows)


def chosen(x: Array, most: int) -> Array:
    """The rows of `OBB.postprocess` in nn/modules/head.py: center, size, score, class and angle."""
    order = np.argsort(-x[4:7].max(0), kind="stable")[:most]
    columns = [x[:4].T, x[4:7].max(0)[:, None], x[4:7].argmax(0)[:, None], x[7:].T]
    return np.concatenate(columns, 1)[order]


@pytest.mark.parametrize("max_boxes", [300, 7])
def test_oriented_boxes_that_the_network_has_chosen_stay(max_boxes: int) -> None:
    x = decoded(3)
    rows = chosen(x, 31)
    program = network({"output0": rows[None]}, {**METADATA, "end2end": "True"})
    options = {"score": 0.7, "max_boxes": max_boxes}
    results = results_of(trimtab.attach_head(program, "auto", **options))
    left = rows[rows[:, 4] > 0.7][:max_boxes]
    assert len(left) >= 7
    check(results, left[:, [0, 1, 2, 3, 6]], left[:, 4], left[:, 5])


@pytest.mark.parametrize("form", ["decoded", "chosen"])
def test_boxes_relative_to_the_image_as_in_tflite_files_are_in_pixels(form: str) -> None:
    x = decoded(4)
    tensor = x[None] if form == "decoded" else chosen(x, 31)[None]
    plain = network({"o": tensor}, METADATA)
    relative = tensor.copy()
    relative[0, slice(None) if form == "chosen" else slice(4), slice(4) if form == "chosen" else slice(None)] /= SIDE  # noqa: E501 # fmt: skip
    program = network({"o": relative}, METADATA)
    program.hints = ModelHints(heads=("yolov8_obb",), labels=("a", "b", "c"), relative=True)
    one, other = (results_of(trimtab.attach_head(net, "yolov8_obb")) for net in (plain, program))
    for name in ("boxes", "corners", "count"):
        np.testing.assert_allclose(other[name], one[name], 1e-4, 1e-3)


def test_oriented_boxes_are_mapped_to_the_frame_of_a_camera_and_beyond_its_edges() -> None:
    x = decoded(5)
    program = network({"output0": x[None]}, METADATA)
    plain = results_of(trimtab.attach_head(program, "auto"))
    count = int(plain["count"][0])
    view = camera.parse("camera(rgb, 200x100) | letterbox(64, 114) | rgb | scale(1/255)")
    behind = trimtab.attach_head(camera.attach(program, view), "auto")
    frame = np.zeros((100, 200, 3), np.uint8)
    results = trimtab.Session(behind, cache=False).run(frame)
    placed = view.placement().to_frame(plain["corners"][0, :count].reshape(-1, 2))
    np.testing.assert_allclose(results["corners"][0, :count].reshape(-1, 2), placed, 1e-4, 1e-2)
    corners = placed.reshape(-1, 4, 2)
    around = np.concatenate([corners.min(1), corners.max(1)], 1).clip(0, [200, 100, 200, 100])
    np.testing.assert_allclose(results["boxes"][0, :count, :4], around, 1e-4, 1e-2)
    mapped = results_of(trimtab.attach_head(program, "auto", scale=(2, 3), offset=(5, -7)))
    np.testing.assert_allclose(
        mapped["corners"][0, :count], plain["corners"][0, :count] * [2, 3] + [5, -7], 1e-4, 1e-3
    )
    assert not mapped["boxes"][0, count:].any()


def test_oriented_boxes_print_their_angles_and_draw_as_they_are_turned() -> None:
    rows = np.array(
        [[40, 50, 30, 10, 0.9, 1, math.radians(100)]]
    )  # as regularize_rboxes: 10 degrees
    padded = np.concatenate([rows, np.zeros((30, 7))])[None]
    program = network({"output0": padded}, {**METADATA, "end2end": "True"})
    boxes = DetectedBoxes.of(results_of(trimtab.attach_head(program, "auto")))
    (box,) = boxes
    assert box.label == "plane"
    assert math.degrees(box.angle) == pytest.approx(10, abs=1e-3)
    assert "10.0°" in str(boxes)
    drawn: Array = np.asarray(boxes.draw(np.zeros((100, 100, 3), np.uint8))).max(2) > 0
    for x, y in corners_of(rows[:, [0, 1, 2, 3, 6]])[0]:
        assert drawn[round(y) - 1 : round(y) + 2, round(x) - 1 : round(x) + 2].any()
    upright = [drawn[round(y), round(x)] for x, y in ((box.xmax, 50), (box.xmin, 40))]
    assert not any(upright)


def test_tensors_that_are_no_oriented_boxes_are_refused() -> None:
    program = network({"output0": np.zeros((1, 5, 84))}, METADATA)
    with pytest.raises(UsageError, match="expects \\[n, 4 \\+ classes \\+ 1, places\\]"):
        heads.prove(program, heads.HeadRequest("yolov8_obb"))
    program = network({"output0": decoded()[None]}, {**METADATA, "names": "{0: 'a'}"})
    with pytest.raises(UsageError, match="would read 3 classes, and the file names 1"):
        trimtab.attach_head(program, "auto")
