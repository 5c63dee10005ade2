"""Detectors of ncnn against ncnn itself: prior boxes, detection output, YOLO."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers.caffe_writer import random
from tests.importers.ncnn_writer import Param, head, line, run_ncnn, write
from tests.ops.cases.case import Array
from trimtab.errors import ImportModelError
from trimtab.importers.ncnn_ops import detection


def _compare(path: Path, inputs: dict[str, Array], tolerance: float = 1e-5) -> Array:
    """The rows of ncnn must be the first rows of trimtab; all others must be 0."""
    (expected,) = run_ncnn(path, inputs, ["y"])
    program = trimtab.load(path)
    batch = {name: value[np.newaxis] for name, value in inputs.items()}
    actual = trimtab.Session(program).run(batch)["y"][0]
    if expected.ndim == 2 and expected.shape[1] == 6:
        assert not actual[len(expected) :].any()
        actual = actual[: len(expected)]
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, 1e-5, tolerance)
    return expected


PRIORS: dict[str, dict[int, Param]] = {
    "plain": {0: [20.0, 30.0], 2: [2.0, 3.0], 9: -233, 10: -233, 13: 0.5},
    "maximum": {0: [20.0], 1: [40.0], 2: [2.0], 7: 0, 8: 1, 9: 60, 10: 50, 13: 0.5},
    "ratios twice": {0: [20.0], 2: [1.0, 2.0, 2.0], 9: -233, 10: -233, 13: 0.5},
    "steps": {0: [20.0], 2: [2.0], 9: -233, 10: -233, 11: 16.0, 12: 8.0, 13: 0.5, 3: 0.2},
    "rounded": {0: [20.0], 2: [2.0], 9: -233, 10: -233, 13: 0.5, 14: 1},
    "centered": {0: [9.0], 2: [2.0], 9: 30, 10: 40, 11: 8.0, 12: 8.0, 13: 0.5, 15: 1},
}


@pytest.mark.parametrize("name", PRIORS)
def test_prior_boxes_are_those_of_ncnn(name: str, tmp_path: Path) -> None:
    inputs = {"x0": random(4, 5, 7), "x1": random(3, 50, 60)}
    lines = head({name: value.shape for name, value in inputs.items()})
    path = write(tmp_path, [*lines, line("PriorBox", "x0 x1", "y", PRIORS[name])])
    _compare(path, inputs)


def test_prior_boxes_of_mxnet_are_those_of_ncnn(tmp_path: Path) -> None:
    params: dict[int, Param] = {0: [0.2, 0.3], 2: [1.0, 2.0, 0.5], 9: -233, 10: -233, 13: 0.5, 8: 1}
    inputs = {"x0": random(4, 5, 7)}
    path = write(tmp_path, [*head({"x0": (4, 5, 7)}), line("PriorBox", "x0", "y", params)])
    _compare(path, inputs)


def test_as_many_boxes_of_mxnet_as_the_limit_are_allowed_and_one_more_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sizes in each of 5 x 7 cells."""
    params: dict[int, Param] = {0: [0.2, 0.3], 9: -233, 10: -233, 13: 0.5}
    path = write(tmp_path, [*head({"x0": (4, 5, 7)}), line("PriorBox", "x0", "y", params)])
    monkeypatch.setattr(detection, "MAX_BOXES", 70)
    assert trimtab.load(path).vars["y"].shape[-1] == 70 * 4
    monkeypatch.setattr(detection, "MAX_BOXES", 69)
    with pytest.raises(ImportModelError, match="70 boxes are too many"):
        trimtab.load(path)


def _softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    y: Array = e / e.sum(axis, keepdims=True)
    return y


def test_detections_of_a_single_shot_detector_match_ncnn(tmp_path: Path) -> None:
    inputs = {
        "x0": random(4, 3, 4),
        "x1": random(3, 40, 50),
        "loc": random(3 * 4 * 3 * 4, seed=2),
        "conf": _softmax(random(36, 5, seed=3) * 4, 1).reshape(-1).astype(np.float32),
    }
    lines = head({name: value.shape for name, value in inputs.items()})
    prior: dict[int, Param] = {0: [10.0], 2: [2.0], 9: -233, 10: -233, 13: 0.5}
    lines.append(line("PriorBox", "x0 x1", "p", prior))
    output: dict[int, Param] = {0: 5, 1: 0.45, 2: 20, 3: 12, 4: 0.25}
    path = write(tmp_path, [*lines, line("DetectionOutput", "loc conf p", "y", output)])
    assert len(_compare(path, inputs)) > 3


def test_detections_of_a_detector_of_mxnet_match_ncnn(tmp_path: Path) -> None:
    inputs = {
        "x0": random(4, 3, 4),
        "loc": random(3 * 4 * 3 * 4, seed=2),
        "conf": _softmax(random(5, 36, seed=3) * 4, 0).astype(np.float32),
    }
    lines = head({name: value.shape for name, value in inputs.items()})
    prior: dict[int, Param] = {0: [0.2, 0.3], 2: [1.0, 2.0], 9: -233, 10: -233, 13: 0.5}
    lines.append(line("PriorBox", "x0", "p", prior))
    lines.append(line("Reshape", "p", "rows", {0: 4, 1: -1}))
    output: dict[int, Param] = {0: -233, 1: 0.45, 2: 20, 3: 12, 4: 0.25}
    path = write(tmp_path, [*lines, line("DetectionOutput", "loc conf rows", "y", output)])
    assert len(_compare(path, inputs)) > 3


ANCHORS = [1.0, 1.5, 2.0, 3.0, 3.0, 1.0]


# By type: parameters, and the sizes of two heads.
YOLO: dict[str, dict[int, Param]] = {
    "YoloDetectionOutput": {0: 4, 1: 3, 2: 0.3, 3: 0.45, 4: ANCHORS},
    "Yolov3DetectionOutput": {
        0: 4,
        1: 3,
        2: 0.5,
        3: 0.45,
        4: [float(v) for v in (10, 14, 23, 27, 37, 58, 81, 82, 135, 169, 344, 319)],
        5: [3.0, 4.0, 5.0, 0.0, 1.0, 2.0],
        6: [33.6, 16.8],
    },
}


@pytest.mark.parametrize(
    ("type", "second"), [("YoloDetectionOutput", (3, 4)), ("Yolov3DetectionOutput", (10, 14))]
)
def test_yolo_detections_match_ncnn(type: str, second: tuple[int, int], tmp_path: Path) -> None:
    inputs = {"x0": random(27, 5, 7, seed=1) * 3, "x1": random(27, *second, seed=2) * 3}
    lines = head({name: value.shape for name, value in inputs.items()})
    path = write(tmp_path, [*lines, line(type, "x0 x1", "y", YOLO[type])])
    assert len(_compare(path, inputs)) > 3
