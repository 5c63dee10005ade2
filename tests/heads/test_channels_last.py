"""Networks whose pictures are [n, h, w, c], as in TFLite: their heads, cameras and metadata."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import interpreter

import trimtab
from tests.heads import reference
from tests.heads.reference import Array
from tests.importers.tflite_writer import Model
from trimtab import camera, heads
from trimtab.errors import UsageError
from trimtab.sight import run as show

SIZE = (48, 64)  # height, width
rng = np.random.default_rng(11)


def results_of(head: str, maps: list[Array], *, is_last: bool, **options: Any) -> dict[str, Array]:
    """A head on maps [n, c, h, w], which a network of pictures [n, h, w, c] has as [n, h, w, c]."""
    program = trimtab.Program(head)
    image = np.zeros((1, *SIZE, 3) if is_last else (1, 3, *SIZE), np.float32)
    program.add_input("image", image.shape)
    feeds = {"image": image}
    for i, x in enumerate(maps):
        moved = np.moveaxis(x, 1, -1) if is_last and x.ndim == 4 else x
        feeds[f"x{i}"] = np.ascontiguousarray(moved, np.float32)
        program.add_input(f"x{i}", feeds[f"x{i}"].shape)
    program.outputs = [name for name in feeds if name != "image"]
    return trimtab.Session(trimtab.attach_head(program, head, **options), cache=False).run(feeds)


def maps_of(channels: list[int], strides: tuple[int, ...]) -> list[Array]:
    return [
        rng.standard_normal((1, c, SIZE[0] // s, SIZE[1] // s)) for s in strides for c in channels
    ]


HEADS: dict[str, tuple[list[Array], dict[str, Any]]] = {
    "yolov3": (maps_of([21], (8, 16)), {}),
    "yolov8": (maps_of([64, 3], (8, 16)), {}),
    "centernet": (maps_of([3, 2, 2], (4,)), {}),
    "fcos": (maps_of([3, 4, 1], (8, 16)), {}),
    "rtmdet": (maps_of([3, 4], (8, 16)), {}),
    "arg_max": (maps_of([5], (2,)), {}),
    "yolov8_seg": ([rng.uniform(0, 40, (1, 4 + 2 + 8, 63)), *maps_of([8], (4,))], {}),
    "nanodet": (maps_of([3, 32], (8, 16)), {}),
}


@pytest.mark.parametrize("head", HEADS)
def test_heads_read_maps_in_the_order_of_the_pictures(head: str) -> None:
    maps, options = HEADS[head]
    first, last = (results_of(head, maps, is_last=order, **options) for order in (False, True))
    assert first.keys() == last.keys()
    assert first["classes" if head == "arg_max" else "count"].any()
    for name, values in first.items():
        np.testing.assert_array_equal(last[name], values)


def test_keypoints_of_movenet_are_no_map() -> None:
    points = rng.random((1, 1, 17, 3)).astype(np.float32)
    program = trimtab.Program("movenet")
    program.add_input("image", (1, *SIZE, 3))
    program.add_input("persons", points.shape)
    program.outputs = ["persons"]
    behind = trimtab.attach_head(program, "movenet")
    feeds = {"image": np.zeros((1, *SIZE, 3), np.float32), "persons": points}
    result = trimtab.Session(behind, cache=False).run(feeds)["points"]
    np.testing.assert_allclose(result, points[..., [1, 0, 2]] * [SIZE[1], SIZE[0], 1], 1e-6)


def segmentation() -> Model:
    """A convolution of windows of 8 x 8 to five classes, as TFLite writes it."""
    model = Model()
    image = model.input(np.zeros((1, *SIZE, 3), np.float32))
    weights = model.constant(rng.standard_normal((5, 8, 8, 3)).astype(np.float32))
    bias = model.constant(np.zeros(5, np.float32))
    shape = (1, SIZE[0] // 8, SIZE[1] // 8, 5)
    model.outputs = model.add(
        "CONV_2D", [image, weights, bias], [shape], "Conv2DOptions",
        Padding=1, StrideW=8, StrideH=8,
    )  # fmt: skip
    return model


def of_litert(data: bytes, image: Array) -> list[Array]:
    network = interpreter.Interpreter(model_content=data)
    network.allocate_tensors()
    network.set_tensor(network.get_input_details()[0]["index"], image.astype(np.float32))
    network.invoke()
    return [network.get_tensor(detail["index"]) for detail in network.get_output_details()]


def with_metadata(data: bytes, **metadata: Any) -> bytes:
    """A TFLite file with the metadata.json that Ultralytics appends."""
    archive = io.BytesIO(data)
    with zipfile.ZipFile(archive, "a") as file:
        file.writestr("metadata.json", json.dumps(metadata))
    return archive.getvalue()


@pytest.mark.parametrize("behind_camera", [False, True])
def test_pictures_of_a_tflite_network_are_segmented_as_litert_does(behind_camera: bool) -> None:
    names = {str(i): name for i, name in enumerate(("road", "sky", "car", "tree", "man"))}
    data = with_metadata(segmentation().bytes(), task="semantic", names=names)
    picture = rng.integers(0, 256, (*SIZE, 3)).astype(np.uint8)
    expected = of_litert(data, picture[None] / 255)[0].argmax(-1)
    program = trimtab.load(data, cache=False)
    if behind_camera:
        view = camera.attach(program, f"camera(rgb, {SIZE[1]}x{SIZE[0]}) | auto")
        behind = trimtab.attach_head(view, "auto")
        np.testing.assert_array_equal(
            trimtab.Session(behind, cache=False).run(picture)["classes"], expected
        )
        return
    sight = show(program, picture)
    np.testing.assert_array_equal(sight.results["classes"], expected)
    assert {row["class"] for row in sight.table().records()} == {
        names[str(i)] for i in np.unique(expected)
    }
    assert sight.draw().size == SIZE[::-1]


def test_boxes_of_ultralytics_tflite_files_are_in_pixels() -> None:
    """Boxes are relative to the image, by `_NormalizeCoords` of utils/export/litert.py; they are
    denormalized as nn/backends/litert.py does.
    """
    places = 63
    boxes = rng.uniform(0.2, 0.6, (places, 4)).astype(np.float32)
    scores = rng.random((places, 3)).astype(np.float32)
    model = Model()
    image = model.input(np.zeros((1, *SIZE, 3), np.float32))
    axes = model.constant([1, 2, 3])
    (mean,) = model.add("MEAN", [image, axes], [(1,)], "ReducerOptions")
    (none,) = model.add(
        "MUL", [mean, model.constant(np.zeros(1, np.float32))], [(1,)], "MulOptions"
    )
    stored = model.constant(np.concatenate([boxes, scores], 1).T[None].copy())
    model.outputs = model.add("ADD", [stored, none], [(1, 7, places)], "AddOptions")
    names = {"0": "a", "1": "b", "2": "c"}
    data = with_metadata(model.bytes(), task="detect", names=names, end2end=False)
    sight = show(trimtab.load(data, cache=False), np.zeros((*SIZE, 3), np.uint8))
    in_pixels = reference.corners(boxes * np.array([*SIZE[::-1]] * 2))
    expected = reference.detections(in_pixels, scores)
    assert len(expected) > 5
    count = int(sight.results["count"][0])
    limits = np.array([*SIZE[::-1]] * 2)
    expected[:, :4] = expected[:, :4].clip(0, limits)
    np.testing.assert_allclose(sight.results["boxes"][0, :count], expected, 1e-4, 1e-3)
    assert sight.boxes is not None
    assert sight.boxes[0].label == names[str(int(expected[0, 5]))]


def test_detectors_that_tflite_ends_with_draw_their_boxes() -> None:
    model = Model()
    image = model.input(np.zeros((1, *SIZE, 3), np.float32))
    axes = model.constant([1, 2, 3])
    (mean,) = model.add("MEAN", [image, axes], [(1,)], "ReducerOptions")
    (none,) = model.add(
        "MUL", [mean, model.constant(np.zeros(1, np.float32))], [(1,)], "MulOptions"
    )
    raw = []
    for values in (rng.standard_normal((1, 40, 4)), rng.random((1, 40, 4))):
        stored = model.constant(values.astype(np.float32))
        raw += model.add("ADD", [stored, none], [values.shape], "AddOptions")
    anchors = model.constant(rng.uniform(0.2, 0.5, (40, 4)).astype(np.float32))
    model.outputs = model.add(
        "TFLite_Detection_PostProcess", [*raw, anchors], [(1, 10, 4), (1, 10), (1, 10), (1,)],
        max_detections=10, max_classes_per_detection=1, detections_per_class=100, num_classes=3,
        use_regular_nms=False, nms_score_threshold=0.3, nms_iou_threshold=0.6,
        y_scale=10.0, x_scale=10.0, h_scale=5.0, w_scale=5.0,
    )  # fmt: skip
    data = model.bytes()
    boxes, classes, scores, count = of_litert(data, np.zeros((1, *SIZE, 3)))
    used = int(count[0])
    assert used > 3
    program = trimtab.load(data, cache=False)
    behind = trimtab.attach_head(program, "auto", score=0.35)
    results = trimtab.Session(behind, cache=False).run(np.zeros((1, *SIZE, 3), np.float32))
    left = scores[0, :used] > 0.35
    height, width = SIZE
    corners = boxes[0, :used][left][:, [1, 0, 3, 2]] * [width, height, width, height]
    rows = results["boxes"][0, : int(results["count"][0])]
    np.testing.assert_allclose(rows[:, :4], corners, 1e-4, 1e-3)
    np.testing.assert_allclose(rows[:, 4], scores[0, :used][left], 1e-5)
    np.testing.assert_array_equal(rows[:, 5], classes[0, :used][left])
    with pytest.raises(UsageError, match="tflite_ssd expects boxes"):
        heads.prove(trimtab.load(segmentation().bytes()), heads.HeadRequest("tflite_ssd"))
