"""Detections of detectors: decoding, suppression and matching."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lab.accuracy import detectors
from lab.accuracy.detectors import HEADS, Detections
from tests.ops.cases.case import Array
from tests.some import some
from trimtab.detections import overlaps
from trimtab.errors import UsageError

RNG = np.random.default_rng(11)


def boxes(corners: list[list[float]], scores: list[float], classes: list[int]) -> Detections:
    return Detections(np.array(corners, float).reshape(-1, 4), np.array(scores), np.array(classes))


def test_overlaps_equal_the_ratio_of_counted_pixels() -> None:
    def mask(box: Array) -> Array:
        grid = np.zeros((20, 20), bool)
        grid[box[1] : box[3], box[0] : box[2]] = True
        return grid

    low = RNG.integers(0, 12, (8, 2))
    corners = np.concatenate([low, low + RNG.integers(1, 9, (8, 2))], axis=1)
    result = overlaps(corners[:4], corners[4:])
    for i, a in some(enumerate(corners[:4])):
        for j, b in some(enumerate(corners[4:])):
            both, either = mask(a) & mask(b), mask(a) | mask(b)
            assert result[i, j] == pytest.approx(both.sum() / either.sum())


def test_suppression_keeps_the_boxes_that_opencv_keeps() -> None:
    cv2 = pytest.importorskip("cv2")
    low = RNG.integers(0, 60, (200, 2))
    corners = np.concatenate([low, low + RNG.integers(10, 40, (200, 2))], axis=1).astype(float)
    scores = RNG.permutation(200) / 200
    result = detectors.suppress(Detections(corners, scores, np.zeros(200, int)), 0.301, 0.4)
    sized = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)
    survivors = cv2.dnn.NMSBoxes(sized.tolist(), scores.tolist(), 0.301, 0.4)
    np.testing.assert_array_equal(result.corners, corners[np.asarray(survivors).reshape(-1)])


def test_boxes_of_different_classes_neither_suppress_nor_match_each_other() -> None:
    pair = boxes([[0, 0, 10, 10], [0, 0, 10, 10]], [0.9, 0.8], [0, 1])
    assert len(detectors.suppress(pair, 0.5, 0.5).scores) == 2
    other = boxes([[0, 0, 10, 9]], [0.9], [1])
    np.testing.assert_allclose(detectors.best_overlaps(pair, other), [0, 0.9])
    none = boxes([], [], [])
    np.testing.assert_array_equal(detectors.best_overlaps(pair, none), [0, 0])
    assert detectors.best_overlaps(none, pair).shape == (0,)


def test_heads_decode_the_outputs_of_their_kind_of_network() -> None:
    corners, scores = RNG.random((1, 5, 4)), RNG.random((1, 5, 3))
    decoded = HEADS["corners"]({"scores": scores, "boxes": corners})
    np.testing.assert_array_equal(decoded.corners, corners[0])
    np.testing.assert_array_equal(decoded.scores, scores[0, :, 1:].max(1))

    row = np.array([[0.5, 0.4, 0.2, 0.1, 0.9, 0.1, 0.8]])
    decoded = HEADS["rows"]({"a": row, "b": row[None]})
    np.testing.assert_allclose(decoded.corners, [[0.4, 0.35, 0.6, 0.45]] * 2)
    assert (decoded.scores.tolist(), decoded.classes.tolist()) == ([0.8, 0.8], [1, 1])

    logits, offsets = np.zeros((1, 2, 3, 4)), np.zeros((1, 4, 3, 4))
    logits[0, :, 1, 2] = 0, np.log(3)
    offsets[0, :, 1, 2] = 0.5, -0.5, 0.25, 0
    decoded = HEADS["cells"](
        {"off": offsets, "landmarks": np.zeros((1, 10, 3, 4)), "logits": logits}
    )
    assert decoded.scores[6] == pytest.approx(0.75)
    np.testing.assert_allclose(decoded.corners[6], [4 + 6, 2 - 6, 4 + 12 + 3, 2 + 12])


def test_zero_offsets_are_the_priors_and_others_move_and_stretch_them() -> None:
    offsets = np.zeros((2 * 3 * 2 + 1, 4))
    offsets[1] = 10, 0, np.log(2) / 0.2, 0
    result = detectors.decoded(offsets, [[8, 4, 6], [32, 20]], (16, 24)) * [24, 16, 24, 16]
    np.testing.assert_allclose(result[0], [2, 2, 6, 6])
    np.testing.assert_allclose(result[1], [4 + 6 - 6, 1, 4 + 6 + 6, 7])
    np.testing.assert_allclose(result[2], [10, 2, 14, 6])
    np.testing.assert_allclose(result[-1], [6, 6, 26, 26])


ROW = '[net]\nmodel = "m.onnx"\nhead = "rows"\nscore = 0.5\noverlap = 0.4\n'


def test_a_file_names_detectors_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "d.toml"
    path.write_text(ROW + "inputs = { x = [1, 3, 4, 4] }\n")
    (detector,) = detectors.read(path)
    assert (detector.name, detector.path) == ("net", tmp_path / "m.onnx")
    assert detector.inputs == {"x": (1, 3, 4, 4)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("= =", "not a TOML file"),
        ("net = 3", "`net` must be a table"),
        (ROW.replace("rows", "ssd"), r"`net\.head` must be one of corners"),
        (ROW + "nms = 3\n", r"unknown key `net\.nms`"),
        (ROW.replace("score = 0.5", 'score = "high"'), r"`net\.score` must be a number"),
    ],
)
def test_invalid_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "d.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message) as caught:
        detectors.read(path)
    assert caught.value.where == str(path)
