"""Tables, JSON and drawings of each kind of result of a picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from trimtab.camera import parse
from trimtab.sight import Sight

LABELS = np.frombuffer(b"cat\0dog\0", np.uint8)
BOXES = {
    "boxes": np.array([[[10, 20, 60, 40, 0.75, 1], [0] * 6]], np.float32),
    "count": np.array([1], np.int32),
    "labels": LABELS,
}


def sight(results: dict[str, Any], steps: str = "letterbox(40)", ms: float | None = None) -> Sight:
    """The results for a black picture of 80 x 60."""
    camera = parse(f"camera(rgb, 80x60) | {steps}")
    size = camera.size
    assert size
    return Sight(np.zeros((60, 80, 3), np.uint8), results, camera.placement(), size, ms)


def drawn(one: Sight) -> np.ndarray[Any, Any]:
    return np.asarray(one.draw()).astype(int)


def test_boxes_are_rows_with_names_and_are_drawn_where_they_are() -> None:
    one = sight(BOXES, ms=2.5)
    assert one.table().text().splitlines()[-1].split() == [
        "dog",
        "0.750",
        *["10.0", "20.0", "60.0", "40.0"],
    ]
    facts = one.to_json()
    assert facts["milliseconds"] == 2.5
    assert facts["boxes"] == [
        {"label": "dog", "class": 1, "score": 0.75, "box": [10.0, 20.0, 60.0, 40.0]}
    ]
    pixels = drawn(one)
    assert pixels[20, 30].any()
    assert pixels[40, 30].any()
    assert not pixels[50:].any()
    assert not one.pixels.any()


def test_keypoints_with_a_score_are_dots() -> None:
    points = np.array([[[[30, 30, 0.9], [70, 50, 0.1]], [[0, 0, 0]] * 2]], np.float32)
    one = sight({**BOXES, "points": points})
    assert drawn(one)[30, 30].any()
    assert not drawn(one)[50, 70].any()
    np.testing.assert_allclose(one.to_json()["boxes"][0]["points"], points[0, 0])


def test_a_mask_tints_its_pixels_of_the_picture() -> None:
    masks = np.zeros((1, 2, 10, 10), np.float32)
    # Of the input of 40 x 40 the picture takes the rows 5 to 35; a cell has 4 of its pixels.
    masks[0, 0, 5, 2:5] = 1.0
    pixels = drawn(sight({**BOXES, "masks": masks}))
    inside = {(y, x) for y, x in np.argwhere(pixels.any(axis=2)) if 22 <= y <= 38 and 12 <= x <= 58}
    # Rows 20 to 24 of the input are rows (20 - 5) * 2 to (24 - 5) * 2 of the picture.
    tinted = {(y, x) for y in range(30, 38) for x in range(16, 40)}
    assert tinted <= inside
    assert len(inside - tinted) < 150  # the text


def test_the_best_classes_are_listed_and_written() -> None:
    results = {
        "scores": np.array([[0.8, 0.1]], np.float32),
        "classes": np.array([[1, 5]], np.int32),
        "labels": LABELS,
    }
    one = sight(results)
    assert [label for label, _ in one.best] == ["dog", "5"]
    np.testing.assert_allclose([score for _, score in one.best], [0.8, 0.1], 1e-6)
    assert [line.split() for line in one.table().text().splitlines()[2:]] == [
        ["dog", "0.8000"],
        ["5", "0.1000"],
    ]
    assert [row["label"] for row in one.to_json()["classes"]] == ["dog", "5"]
    assert drawn(one).any()


def test_a_segmentation_has_the_share_of_each_class_and_colors() -> None:
    areas = np.zeros((1, 40, 40), np.int32)
    areas[0, :, 20:] = 1
    one = sight({"classes": areas, "labels": LABELS}, "resize(40)")
    assert sorted(line.split()[0] for line in one.table().text().splitlines()[2:]) == ["cat", "dog"]
    pixels = drawn(one)
    assert not pixels[:, :39].any()
    assert pixels[:, 41:].any(axis=2).all()


def test_a_depth_is_a_gray_picture_of_its_range() -> None:
    depth = np.tile(np.linspace(3, 5, 40, dtype=np.float32), (1, 1, 40, 1))
    pixels = drawn(sight({"depth": depth}, "resize(40)"))
    assert pixels.shape == (60, 80, 3)
    assert (pixels[:, 0].max(), pixels[:, -1].min()) == (0, 255)
    assert np.all(np.diff(pixels[30, :, 0]) >= 0)


def test_pixels_that_the_network_does_not_see_have_no_class_and_no_mask() -> None:
    # Of the 80 x 60 pixels a center crop of half the picture takes 30 x 30.
    areas = sight({"classes": np.ones((1, 8, 16), np.int32)}, "center_crop(16, 32)")
    masks = {**BOXES, "masks": np.ones((1, 2, 8, 16), np.float32)}
    for pixels in (drawn(areas), drawn(sight(masks, "center_crop(16, 32)"))):
        assert pixels[30, 40].any()
        assert not pixels[2, 70:].any()
        assert not pixels[57:, :5].any()


def test_a_narrow_output_is_no_picture() -> None:
    assert sight({"line": np.ones((1, 1, 2, 40), np.float32)}, "resize(40)").draw() is None


def test_other_outputs_are_told_by_shape_and_range_and_not_drawn() -> None:
    one = sight({"a": np.array([[1.0, 3.0]], np.float32), "none": np.zeros((0, 2), np.int64)})
    assert [line.split() for line in one.table().text().splitlines()[2:]] == [
        ["a", "float32", "1x2", "1", "2", "3"],
        ["none", "int64", "0x2"],
    ]
    assert one.draw() is None
    assert len(one.to_json()["outputs"]) == 2
