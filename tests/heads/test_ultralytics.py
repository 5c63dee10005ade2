"""Exports of Ultralytics whose metadata say the task, from the file to what the head gives."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

import trimtab
from tests.heads import reference
from tests.heads.reference import Array
from tests.heads.test_proof import SIDE, network, of_graph, results_of
from trimtab.errors import UsageError
from trimtab.sight import run as show

PLACES, POINTS = 84, 5
NAMES = "{0: 'cat', 1: 'dog', 2: 'cow'}"
rng = np.random.default_rng(5)


@pytest.mark.parametrize("form", ["decoded", "chosen"])
@pytest.mark.parametrize("per_point", [2, 3])
def test_poses_of_several_classes_have_points_with_or_without_scores(
    per_point: int, form: str
) -> None:
    """`kpt_shape` says the values of a point; without scores, all count: engine/results.py."""
    boxes = np.concatenate([rng.uniform(0, 64, (PLACES, 2)), rng.uniform(5, 30, (PLACES, 2))], 1)
    scores, points = rng.random((PLACES, 3)), rng.uniform(0, 64, (PLACES, POINTS * per_point))
    corners = reference.corners(boxes)
    metadata = {"task": "pose", "names": NAMES, "kpt_shape": f"[{POINTS}, {per_point}]"}
    if form == "decoded":
        x = np.concatenate([boxes, scores, points], 1).T[None]
        expected = reference.detections(corners, scores)
        order = [int(np.argmin(abs(scores.max(1) - score))) for score in expected[:, 4]]
    else:
        best, classes = scores.max(1), scores.argmax(1)
        rows = [corners, best[:, None], classes[:, None], points]
        x, metadata = np.concatenate(rows, 1)[None], {**metadata, "end2end": "True"}
        order = [int(i) for i in np.argsort(-best) if best[i] > 0.25]
        expected = np.concatenate(rows[:3], 1)[order]
    program = network({"output0": x}, metadata)
    results = results_of(trimtab.attach_head(program, "auto"))
    count = int(results["count"][0])
    assert count == len(expected) > 5
    np.testing.assert_allclose(results["boxes"][0, :count], expected, 1e-4, 1e-3)
    expected_points = points[order].reshape(-1, POINTS, per_point)
    np.testing.assert_allclose(
        results["points"][0, :count, :, :per_point], expected_points, 1e-4, 1e-3
    )
    if per_point == 2:
        assert (results["points"][0, :count, :, 2] == 1).all()


def test_a_depth_is_drawn_as_its_pixels() -> None:
    depth = rng.uniform(1, 9, (1, 1, 16, 16)).astype(np.float32)
    program = network({"output0": depth}, {"task": "depth", "names": "{0: 'depth'}"})
    sight = show(program, np.zeros((32, 64, 3), np.uint8))
    np.testing.assert_array_equal(sight.results["depth"], depth[0])
    gray = np.asarray(sight.draw())[..., 0].astype(int)
    assert gray.shape == (32, 64)
    stretched = depth[0, 0].repeat(2, 0).repeat(4, 1)
    low, high = depth.min(), depth.max()
    np.testing.assert_allclose(gray, (stretched - low) / (high - low) * 255, atol=1)


@pytest.mark.parametrize(
    ("output", "to", "expected"),
    [
        (rng.standard_normal((1, 4, 8, 8)), "f32", lambda x: x.argmax(1)),
        (rng.standard_normal((1, 1, 8, 8)), "f32", lambda x: (x > 0)[:, 0]),
        (rng.integers(0, 4, (1, 8, 8)).astype(float), "f32", lambda x: x),
        (rng.integers(0, 4, (1, 8, 8)).astype(float), "u8", lambda x: x),
    ],
)
def test_classes_of_pixels_are_those_of_logits_or_the_networks_own(
    output: Array, to: str, expected: Array
) -> None:
    """The three forms that models/yolo/semantic/predict.py reads; exports write bytes."""
    names = "['road', 'sky', 'car', 'tree']" if output.shape[1] != 1 else "['road']"
    program = network({"output0": output}, {"task": "semantic", "names": names})
    program.outputs = program.block.add_op("cast", program.outputs, {"to": to}, 1)
    results = results_of(trimtab.attach_head(program, "auto"))
    np.testing.assert_array_equal(results["classes"], expected(output))  # type: ignore[operator]
    assert results["labels"].tobytes().startswith(b"road\0")


def test_no_box_is_lost_to_a_limit_of_candidates() -> None:
    """2,000 boxes at ten places of the picture, and 300 alone that are worse than all of them."""
    many = np.tile([[8, 8, 9, 9]], (2000, 1)) + rng.uniform(0, 1e-3, (2000, 4))
    alone = np.stack([np.arange(300) % 20 * 30 + 40, np.arange(300) // 20 * 30 + 40], 1)
    boxes = np.concatenate([many, np.concatenate([alone, np.full((300, 2), 9)], 1)])
    scores = np.concatenate([np.linspace(0.9, 0.8, 2000), np.linspace(0.7, 0.6, 300)])
    x = np.concatenate([boxes, scores[:, None]], 1).T[None]
    program = network({"output0": x}, {"task": "detect", "names": "['one']"})
    results = results_of(trimtab.attach_head(program, "yolov8", classes=1, max_boxes=400))
    assert results["count"][0] == 301
    few = trimtab.attach_head(program, "yolov8", classes=1, max_boxes=400, candidates=1000)
    assert results_of(few)["count"][0] == 1


def test_an_export_in_half_precision_is_read_as_any_other() -> None:
    """`half=True` makes the input and the results f16."""
    boxes, scores = rng.uniform(8, 30, (PLACES, 4)), rng.random((PLACES, 3))
    x = np.concatenate([boxes, scores], 1).T[None].astype(np.float16)
    model = of_graph({"output0": x}, {"task": "detect", "names": NAMES}, TensorProto.FLOAT16)
    sight = show(trimtab.load(model, cache=False), np.zeros((SIDE, SIDE, 3), np.uint8))
    rows = x[0].T.astype(np.float64)
    expected = reference.detections(reference.corners(rows[:, :4]), rows[:, 4:])
    assert len(expected) > 5
    expected[:, :4] = expected[:, :4].clip(0, SIDE)
    count = int(sight.results["count"][0])
    np.testing.assert_allclose(sight.results["boxes"][0, :count], expected, 1e-3, 1e-2)


@pytest.mark.parametrize("count", [2, 3])
def test_boxes_that_rt_detr_has_chosen_are_centers_and_sizes_relative_to_the_picture(
    count: int,
) -> None:
    """RTDETRDecoder.postprocess of nn/modules/head.py, and models/rtdetr/predict.py."""
    boxes = np.concatenate([rng.uniform(0.3, 0.7, (30, 2)), rng.uniform(0.1, 0.3, (30, 2))], 1)
    scores, classes = np.linspace(0.9, 0.1, 30), rng.integers(0, count, 30)
    names = str({i: f"c{i}" for i in range(count)})
    program = network(
        {"first": np.concatenate([boxes, scores[:, None]], 1)[None], "numbers": classes[None]},
        {"task": "detect", "names": names, "head": "RTDETRDecoder"},
    )
    first, numbers = program.outputs
    (numbers,) = program.block.add_op("cast", [numbers], {"to": "i64"}, 1)
    (numbers,) = program.block.add_op("reshape", [numbers], {"shape": (1, 30, 1)}, 1)
    (numbers,) = program.block.add_op("cast", [numbers], {"to": "f32"}, 1)
    program.outputs = program.block.add_op("concat", [first, numbers], {"axis": 2}, 1)
    sight = show(program, np.zeros((48, 96, 3), np.uint8))
    used = scores > 0.25
    assert sight.results["count"][0] == used.sum()
    expected = np.column_stack([reference.corners(boxes) * [96, 48, 96, 48], scores, classes])
    np.testing.assert_allclose(sight.results["boxes"][0, : used.sum()], expected[used], 1e-4, 1e-3)


def test_boxes_relative_to_the_picture_are_none_in_pixels() -> None:
    rows = np.zeros((1, 20, 6))
    rows[0, :5] = [0.2, 0.3, 0.5, 0.6, 0.9, 1]
    program = network({"output0": rows}, {"task": "detect", "names": NAMES, "end2end": "True"})
    with pytest.raises(UsageError, match="boxes would be in pixels") as caught:
        trimtab.attach_head(program, "yolov10")
    assert "yolov10:relative" in str(caught.value.hint)
    results = results_of(trimtab.attach_head(program, "yolov10", relative=True))
    np.testing.assert_allclose(results["boxes"][0, 0, :4], rows[0, 0, :4] * SIDE, 1e-5)
