"""A recipe with a head: the commands of docs/boxes.md, and boxes in the frame of a camera."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import trimtab
from tests.heads import detectors
from trimtab import camera, heads
from trimtab.pipeline.loaded import load
from trimtab.pipeline.recipe import Recipe


def test_a_zoo_network_with_a_head_computes_boxes() -> None:
    request = heads.HeadRequest.parse("yolov3:score=0.4,iou=0.5,classes=80")
    loaded = load(Recipe(model="yolo_fastest", head=request))
    session = trimtab.Session(loaded.network.program)
    results = session.run(np.random.default_rng(1).random((1, 3, 320, 320), np.float32))
    rows = results["boxes"][0, : results["count"][0]]
    assert len(rows) > 0
    assert (rows[:, 4] > 0.4).all()
    assert (np.diff(rows[:, 4]) <= 0).all()


def test_boxes_behind_a_camera_are_in_the_pixels_of_its_frame(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(detectors.yolov8(size=(64, 64)).SerializeToString())
    one = camera.parse("camera(rgb, 320x160) | letterbox(64, 114) | rgb | scale(1/255)")
    request = heads.HeadRequest("yolov8", score=0.02)
    frame = np.random.default_rng(2).integers(0, 256, one.frame_shape, np.uint8)
    loaded = load(Recipe(model=str(path), head=request, cameras={"images": one}))
    results = trimtab.Session(loaded.network.program).run(frame)
    plain = camera.attach(trimtab.attach_head(trimtab.load(path), "yolov8", score=0.02), one)
    behind = trimtab.attach_head(camera.attach(trimtab.load(path), one), "yolov8", score=0.02)
    expected = trimtab.Session(plain).run(frame)
    count = int(expected["count"][0])
    assert count > 3
    assert results["count"][0] == count
    again = trimtab.Session(behind).run(frame)
    for name, values in results.items():
        np.testing.assert_array_equal(values, again[name])
    mapped = one.placement((64, 64)).boxes_to_frame(expected["boxes"][0, :count, :4])
    np.testing.assert_allclose(results["boxes"][0, :count, :4], mapped, 1e-4, 1e-2)
