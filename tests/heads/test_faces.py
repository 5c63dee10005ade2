"""Detectors of faces beside OpenCV's own reader of YuNet, and the formulas of InsightFace."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest

import trimtab
from tests.heads.on_arrays import SIZE, check, run, selected
from tests.heads.reference import Array
from trimtab.errors import UsageError

STRIDES = (8, 16, 32)
# The outputs of YuNet, their values, and the gain of the seeded weights.
KINDS = {"cls": (1, 2.0), "obj": (1, 2.0), "bbox": (4, 0.6), "kps": (10, 1.0)}


def yunet(path: Path) -> Path:
    """A network with the outputs of YuNet's files: a convolution of each stride and kind."""
    rng = np.random.default_rng(3)
    nodes, weights, outputs = [], [], []
    for kind, (values, gain) in KINDS.items():
        shape = onnx.numpy_helper.from_array(np.array([1, -1, values]), f"{kind}_shape")
        weights.append(shape)
        for step in STRIDES:
            name = f"{kind}_{step}"
            w = rng.standard_normal((values, 3, step, step)) * gain / (100 * step)
            weights.append(onnx.numpy_helper.from_array(w.astype(np.float32), f"{name}_w"))
            rows = f"{name}_rows" if kind in ("cls", "obj") else name
            nodes += [
                onnx.helper.make_node("Conv", ["input", f"{name}_w"], [f"{name}_map"],
                                      strides=[step, step]),
                onnx.helper.make_node("Transpose", [f"{name}_map"], [f"{name}_last"],
                                      perm=[0, 2, 3, 1]),
                onnx.helper.make_node("Reshape", [f"{name}_last", f"{kind}_shape"], [rows]),
            ]  # fmt: skip
            if rows != name:
                nodes.append(onnx.helper.make_node("Sigmoid", [rows], [name]))
            places = SIZE[0] * SIZE[1] // step**2
            outputs.append(onnx.helper.make_tensor_value_info(name, 1, [1, places, values]))
    inputs = [onnx.helper.make_tensor_value_info("input", 1, [1, 3, *SIZE])]
    graph = onnx.helper.make_graph(nodes, "yunet", inputs, outputs, weights)
    opset = [onnx.helper.make_opsetid("", 13)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path


def test_faces_of_yunet_are_those_of_opencv(tmp_path: Path) -> None:
    path = yunet(tmp_path / "yunet.onnx")
    image = np.random.default_rng(4).integers(0, 256, (*SIZE, 3), np.uint8)
    detector = cv2.FaceDetectorYN.create(str(path), "", SIZE[::-1], 0.6, 1.0, 5000)
    faces = detector.detect(image)[1]
    faces = faces[np.argsort(-faces[:, 14], kind="stable")]
    program = trimtab.attach_head(trimtab.load(path), "yunet", score=0.6, iou=1.0)
    x = image.transpose(2, 0, 1)[None].astype(np.float32)
    results = trimtab.Session(program, cache=False).run({"input": x})
    count = int(results["count"][0])
    assert count == len(faces) > 20
    boxes, points = results["boxes"][0, :count], results["points"][0, :count]
    corners = np.concatenate([faces[:, :2], faces[:, :2] + faces[:, 2:4]], 1)
    np.testing.assert_allclose(boxes[:, :4], corners, 1e-3, 1e-2)
    np.testing.assert_allclose(boxes[:, 4], faces[:, 14], 1e-4)
    np.testing.assert_allclose(points[..., :2], faces[:, 4:14].reshape(-1, 5, 2), 1e-3, 1e-2)
    assert (points[..., 2] == 1).all()


@pytest.mark.parametrize("images", [0, 1], ids=["without images", "one image"])
@pytest.mark.parametrize("has_points", [True, False])
def test_faces_of_scrfd_are_distances_from_the_corner_of_a_cell(
    images: int, has_points: bool
) -> None:
    """distance2bbox and distance2kps of insightface/model_zoo/scrfd.py."""
    rng = np.random.default_rng(5)
    arrays: dict[str, Array] = {}
    parts: list[tuple[Array, Array, Array]] = []
    for step in STRIDES:
        y, x = np.mgrid[: SIZE[0] // step, : SIZE[1] // step]
        centers = np.repeat(np.stack([x, y], -1).reshape(-1, 2) * step, 2, axis=0)
        scores = rng.random((len(centers), 1)) ** 2
        sides = rng.uniform(0, 3, (len(centers), 4))
        marks = rng.standard_normal((len(centers), 10))
        arrays |= {f"s{step}": scores, f"b{step}": sides}
        arrays |= {f"k{step}": marks} if has_points else {}
        corners = np.concatenate([centers - sides[:, :2] * step, centers + sides[:, 2:] * step], 1)
        points = centers[:, None] + marks.reshape(-1, 5, 2) * step
        parts.append((corners, scores, points))
    boxes, values, points = map(np.concatenate, zip(*parts, strict=True))
    if images:
        arrays = {name: array[None] for name, array in arrays.items()}
    results = run("scrfd", arrays)
    chosen = selected(boxes, values)
    check(results, boxes, values, chosen)
    assert ("points" in results) is has_points
    if has_points:
        marked = results["points"][0, : len(chosen)]
        np.testing.assert_allclose(marked[..., :2], points[chosen], 1e-4, 1e-3)
        assert (marked[..., 2] == 1).all()


@pytest.mark.parametrize("head", ["yunet", "scrfd"])
def test_tensors_of_another_grid_are_refused(head: str) -> None:
    places = [SIZE[0] * SIZE[1] // step**2 for step in STRIDES]
    arrays = {f"{n}_{v}": np.zeros((1, n + 1, v)) for n in places for v in (1, 4)}
    with pytest.raises(UsageError, match=f"{head} expects .* for each of "):
        run(head, arrays)
