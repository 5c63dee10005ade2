"""Single-shot detectors of Caffe against OpenCV: prior boxes and non-maximum suppression."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers.caffe_writer import head, layer, random, write
from tests.importers.opencv import opencv_caffe
from tests.ops.cases.case import Array
from trimtab.errors import ImportModelError

# OpenCV has other defaults: it requires the variance, and clips.
FOUR = "variance: 0.1 variance: 0.1 variance: 0.2 variance: 0.2"
PRIORS = (
    "min_size: 30 clip: false variance: 0.1",
    "min_size: 30 max_size: 60 aspect_ratio: 2 clip: false variance: 0.1",
    "min_size: 30 max_size: 60 aspect_ratio: 2 aspect_ratio: 3 flip: false clip: true variance: 1",
    "min_size: 20 min_size: 40 aspect_ratio: 1 aspect_ratio: 0.5 clip: false variance: 0.2",
    f"min_size: 30 step: 20 offset: 0.3 clip: false {FOUR}",
)


@pytest.mark.parametrize("param", PRIORS)
def test_prior_boxes_are_those_of_opencv(param: str, tmp_path: Path) -> None:
    text = head({"x": (1, 4, 5, 7), "data": (1, 3, 100, 140)})
    text += layer("PriorBox", "x data", "boxes", f"prior_box_param {{ {param} }}")
    # A computed tensor, because a network of constants has nothing to run.
    text += layer("ReLU", "x", "y")
    inputs = {"x": random(1, 4, 5, 7), "data": random(1, 3, 100, 140)}
    (expected,) = opencv_caffe(text, {}, inputs, ["boxes"])
    actual = trimtab.Session(trimtab.load(write(tmp_path, text))).run(inputs)["boxes"]
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, 1e-5, 1e-6)


def detector(images: int, classes: int, param: str, shared: bool = True) -> str:
    """A detector of 5 x 7 pixels with four priors each; its heads are inputs."""
    priors = 5 * 7 * 4
    locations = 4 * priors * (1 if shared else classes)
    text = head(
        {
            "x": (images, 4, 5, 7),
            "data": (images, 3, 100, 140),
            "loc": (images, locations),
            "conf": (images, priors * classes),
        }
    )
    text += layer(
        "PriorBox",
        "x data",
        "priors",
        f"prior_box_param {{ min_size: 30 max_size: 60 aspect_ratio: 2 clip: false {FOUR} }}",
    )
    shape = f"reshape_param {{ shape {{ dim: 0 dim: -1 dim: {classes} }} }}"
    text += layer("Reshape", "conf", "rows", shape)
    text += layer("Softmax", "rows", "scores", "softmax_param { axis: 2 }")
    text += layer("Flatten", "scores", "flat")
    if "background" not in param:
        param += " background_label_id: 0"
    body = f"num_classes: {classes} share_location: {str(shared).lower()} {param}"
    return text + layer(
        "DetectionOutput", "loc flat priors", "found", f"detection_output_param {{ {body} }}"
    )


def _rows(detections: Array) -> Array:
    """The used rows."""
    rows = detections.reshape(-1, 7)
    return rows[rows[:, 2] > 0]


SUPPRESSIONS = (
    "code_type: CENTER_SIZE keep_top_k: 50 confidence_threshold: 0.3"
    " nms_param { nms_threshold: 0.45 top_k: 100 }",
    "code_type: CENTER_SIZE keep_top_k: 7 confidence_threshold: 0.2"
    " nms_param { nms_threshold: 0.3 }",
    "code_type: CORNER keep_top_k: 50 confidence_threshold: 0.2"
    " nms_param { nms_threshold: 0.3 top_k: 5 }",
    "code_type: CENTER_SIZE keep_top_k: 100 confidence_threshold: 0.2 background_label_id: 2"
    " nms_param { nms_threshold: 0.45 top_k: 20 }",
)


@pytest.mark.parametrize("param", SUPPRESSIONS)
@pytest.mark.parametrize(("images", "shared"), [(1, True), (1, False), (2, True)])
def test_detections_are_those_of_opencv(
    param: str, images: int, shared: bool, tmp_path: Path
) -> None:
    text = detector(images, 4, param, shared)
    program = trimtab.load(write(tmp_path, text))
    inputs = {
        name: random(*program.vars[name].shape, seed=i, low=-3, high=3)
        for i, name in enumerate(program.inputs)
    }
    (expected,) = opencv_caffe(text, {}, inputs, ["found"])
    detections = trimtab.Session(program).run(inputs)["found"]
    assert detections.shape == expected.shape
    assert len(_rows(expected)) > 5
    np.testing.assert_allclose(detections, expected, 1e-4, 1e-5)


def _suppressed(
    boxes: Array, scores: Array, threshold: float, eta: float
) -> list[tuple[int, float]]:
    """Index and score of the boxes that Caffe's loop selects, best first."""
    selected: list[int] = []
    for i in np.argsort(-scores):
        low = np.maximum(boxes[selected, :2], boxes[i, :2])
        high = np.minimum(boxes[selected, 2:], boxes[i, 2:])
        common = (high - low).clip(0).prod(1)
        areas = (boxes[:, 2:] - boxes[:, :2]).prod(1)
        if (common / (areas[selected] + areas[i] - common) <= threshold).all():
            selected.append(int(i))
            threshold *= eta if threshold > 0.5 else 1.0
    return [(i, float(scores[i])) for i in selected]


def test_an_adaptive_threshold_shrinks_after_every_kept_box(tmp_path: Path) -> None:
    param = (
        "confidence_threshold: 0 nms_param { nms_threshold: 0.9 eta: 0.95 } code_type: CORNER_SIZE"
    )
    text = detector(1, 2, param).replace('"flat"\n  bottom: "priors', '"conf"\n  bottom: "priors')
    program = trimtab.load(write(tmp_path, text))
    rng = np.random.default_rng(5)
    inputs = {
        name: rng.uniform(0.01, 1, program.vars[name].shape).astype(np.float32)
        for name in program.inputs
    }
    detections = _rows(trimtab.Session(program).run(inputs)["found"])
    priors, variances = (
        next(v.data for v in program.constants() if v.data is not None and v.shape[:2] == (1, 2))[0]
        .reshape(2, -1, 4)
        .astype(np.float64)
    )
    sizes = np.tile(priors[:, 2:] - priors[:, :2], 2)
    boxes = priors + inputs["loc"].reshape(-1, 4) * variances * sizes
    expected = _suppressed(boxes, inputs["conf"].reshape(-1, 2)[:, 1].astype(np.float64), 0.9, 0.95)
    assert len(detections) == len(expected)
    np.testing.assert_allclose(detections[:, 2], [score for _, score in expected], 1e-6)
    np.testing.assert_allclose(detections[:, 3:], boxes[[i for i, _ in expected]], 1e-5, 1e-6)


def test_locations_with_encoded_variances_are_not_scaled(tmp_path: Path) -> None:
    param = "code_type: CENTER_SIZE keep_top_k: 50 confidence_threshold: 0.2"
    param += " nms_param { nms_threshold: 0.45 }"
    text = detector(1, 4, param)
    encoded = write(tmp_path, detector(1, 4, param + " variance_encoded_in_target: true"))
    program = trimtab.load(encoded)
    inputs = {name: random(*program.vars[name].shape, low=-3, high=3) for name in program.inputs}
    (expected,) = opencv_caffe(text, {}, inputs, ["found"])
    inputs["loc"] = inputs["loc"] * np.tile(np.array([0.1, 0.1, 0.2, 0.2], np.float32), 140)
    detections = trimtab.Session(program).run(inputs)["found"]
    np.testing.assert_allclose(_rows(detections), _rows(expected), 1e-4, 1e-5)


def test_the_image_size_of_prior_boxes_can_be_given(tmp_path: Path) -> None:
    text = head({"x": (1, 4, 5, 7), "data": (1, 3, 100, 140)})
    param = "prior_box_param { min_size: 30 img_w: 210 img_h: 100 }"
    text += layer("PriorBox", "x data", "boxes", param) + layer("ReLU", "x", "y")
    program = trimtab.load(write(tmp_path, text))
    inputs = {name: random(*program.vars[name].shape) for name in program.inputs}
    boxes = trimtab.Session(program).run(inputs)["boxes"]
    expected = [0.0, -5 / 100, 30 / 210, 25 / 100]
    np.testing.assert_allclose(boxes[0, 0, :4], expected, 1e-5, 1e-6)
    np.testing.assert_allclose(boxes[0, 1], 0.1, 1e-6)


def test_rows_without_a_detection_are_filled_with_zeros(tmp_path: Path) -> None:
    text = detector(1, 3, "keep_top_k: 20 code_type: CENTER_SIZE confidence_threshold: 2")
    program = trimtab.load(write(tmp_path, text))
    inputs = {name: random(*program.vars[name].shape) for name in program.inputs}
    detections = trimtab.Session(program).run(inputs)["found"]
    assert detections.shape == (1, 1, 20, 7)
    assert (detections == 0).all()


@pytest.mark.parametrize(
    "param",
    [
        "max_size: 60",
        "min_size: 30 max_size: 20",
        "min_size: 30 aspect_ratio: -1",
        "min_size: 30 variance: 1 variance: 2",
        "min_size: -30",
        "min_size: nan",
        "min_size: 30 img_size: -5",
        "min_size: 30 step: -5",
        "min_size: 30 offset: abc",
    ],
)
def test_impossible_prior_boxes_are_refused(param: str, tmp_path: Path) -> None:
    text = head({"x": (1, 4, 5, 7), "data": (1, 3, 100, 140)})
    text += layer("PriorBox", "x data", "boxes", f"prior_box_param {{ {param} }}")
    with pytest.raises(ImportModelError, match=r"layer 'boxes'|'offset'"):
        trimtab.load(write(tmp_path, text))


def test_a_detector_whose_heads_do_not_fit_its_priors_is_refused(tmp_path: Path) -> None:
    text = detector(1, 4, "keep_top_k: 5").replace("num_classes: 4", "num_classes: 5")
    with pytest.raises(ImportModelError, match="do not fit the priors"):
        trimtab.load(write(tmp_path, text))
