"""TFLite_Detection_PostProcess against LiteRT's own results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ai_edge_litert import interpreter

import trimtab
from tests.importers.tflite_writer import Model
from tests.ops.cases.case import Array
from trimtab.errors import UnsupportedOperatorError


def model_of(count: int, classes: int, offset: int = 1, **options: Any) -> Model:
    rng = np.random.default_rng(count)
    model = Model()
    boxes = model.input(rng.standard_normal((1, count, 4)).astype(np.float32))
    scores = model.input(rng.random((1, count, classes + offset)).astype(np.float32))
    anchors = rng.uniform(0.1, 0.5, (count, 4)).astype(np.float32)
    settings: dict[str, Any] = {
        "max_detections": 10,
        "max_classes_per_detection": 1,
        "detections_per_class": 100,
        "use_regular_nms": False,
        "nms_score_threshold": 0.5,
        "nms_iou_threshold": 0.6,
        "num_classes": classes,
        "y_scale": 10.0,
        "x_scale": 9.0,
        "h_scale": 5.0,
        "w_scale": 4.0,
    }
    settings |= options
    rows = settings["max_detections"]
    shapes: list[tuple[int, ...]] = [(1, rows, 4), (1, rows), (1, rows), (1,)]
    inputs = [boxes, scores, model.constant(anchors)]
    model.outputs = model.add("TFLite_Detection_PostProcess", inputs, shapes, **settings)
    return model


def expected(model: Model) -> list[Array]:
    network = interpreter.Interpreter(model_content=model.bytes())
    network.allocate_tensors()
    for detail, value in zip(network.get_input_details(), model.feeds, strict=True):
        network.set_tensor(detail["index"], value)
    network.invoke()
    return [network.get_tensor(detail["index"]) for detail in network.get_output_details()]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"nms_score_threshold": 0.0, "max_detections": 25},
        {"nms_iou_threshold": 0.2},
        {"nms_score_threshold": 0.999},
        {"use_regular_nms": True},
        {"use_regular_nms": True, "detections_per_class": 2, "max_detections": 7},
        {"use_regular_nms": True, "nms_score_threshold": 0.9, "max_detections": 40},
    ],
)
@pytest.mark.parametrize(("count", "classes", "offset"), [(61, 3, 1), (100, 1, 0), (7, 5, 1)])
def test_boxes_are_those_of_litert(
    count: int, classes: int, offset: int, options: dict[str, Any]
) -> None:
    model = model_of(count, classes, offset, **options)
    program = trimtab.load(model.bytes())
    feeds = dict(zip(program.inputs, model.feeds, strict=True))
    actual = list(trimtab.Session(program).run(feeds).values())
    want = expected(model)
    used = int(want[3][0])
    np.testing.assert_array_equal(actual[3], [used])
    for one, other in zip(actual[:3], want[:3], strict=True):
        assert one.shape[:2] == (1, options.get("max_detections", 10))
        np.testing.assert_allclose(one[0, :used], other[0, :used], 1e-5, 1e-6)
        assert not one[0, used:].any()


def test_several_classes_of_a_box_are_refused() -> None:
    with pytest.raises(UnsupportedOperatorError, match="max_classes_per_detection"):
        trimtab.load(model_of(9, 3, max_classes_per_detection=2).bytes())
