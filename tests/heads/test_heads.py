"""Heads against numpy references behind onnxruntime's raw results."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import trimtab
from tests.heads import detectors, reference
from tests.heads.reference import Array
from tests.ops import oracle
from trimtab import heads


def picture(model: onnx.ModelProto, seed: int = 3) -> Array:
    dims = model.graph.input[0].type.tensor_type.shape.dim
    rng = np.random.default_rng(seed)
    return rng.standard_normal([dim.dim_value for dim in dims]).astype(np.float32)


def found(program: trimtab.Program, x: Array) -> list[Array]:
    """The used rows of each image; the others must be 0."""
    results = trimtab.Session(program).run(x)
    boxes, counts = results["boxes"], results["count"]
    for rows, count in zip(boxes, counts, strict=True):
        assert not rows[count:].any()
    return [rows[:count] for rows, count in zip(boxes, counts, strict=True)]


def check(actual: Array, expected: Array) -> None:
    assert len(actual) == len(expected)
    np.testing.assert_array_equal(actual[:, 5], expected[:, 5])
    np.testing.assert_allclose(actual, expected, 1e-4, 2e-3)


@pytest.mark.parametrize("options", [{}, {"agnostic": True}, {"multi_label": True, "iou": 0.7},
                                     {"score": 0.0, "max_boxes": 9}, {"score": 1.0}])  # fmt: skip
@pytest.mark.parametrize("form", ["recognized", "decoded", "raw"])
def test_boxes_of_yolov8_are_those_of_its_reference(form: str, options: dict[str, Any]) -> None:
    model = detectors.yolov8(images=2)
    x = picture(model)
    (output,) = oracle.run(model, {"images": x}).values()
    program = trimtab.load(model)
    if form == "raw":  # one tensor of each level
        joined = [op.outputs[0] for op in program.ops if op.type == "concat"][:3]
        program = trimtab.load(model, outputs=joined)
    if form == "decoded":
        request = heads.HeadRequest.of("yolov8", options)
        program = heads.with_head(program, request)
    else:
        program = trimtab.attach_head(program, "yolov8", **options)
    assert ("softmax" in [op.type for op in program.ops]) == (form == "decoded")
    for rows, image in zip(found(program, x), output, strict=True):
        settings = {"threshold": options.get("score", 0.25), "iou": options.get("iou", 0.45)}
        settings |= {"limit": options.get("max_boxes", 300)}
        settings |= {key: options.get(key, False) for key in ("agnostic", "multi_label")}
        expected = reference.detections(reference.corners(image[:4].T), image[4:].T, **settings)
        assert len(expected) > 3 or options.get("score") == 1.0
        check(rows, expected)
