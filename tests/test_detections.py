"""The typed result of a detector: rows, a table, a drawing."""

from __future__ import annotations

import numpy as np
import pytest

import trimtab
from trimtab.errors import UsageError

RESULTS = {
    "boxes": np.array([[[1, 2, 30, 20, 0.75, 1], [5, 5, 9, 9, 0.5, 7], [0] * 6]], np.float32),
    "count": np.array([2], np.int32),
}


def test_detections_are_rows_with_the_names_of_their_classes() -> None:
    detections = trimtab.DetectedBoxes.of(RESULTS, ["cat", "dog"])
    assert [(row.label, row.class_index, row.score) for row in detections] == [
        ("dog", 1, 0.75),
        ("7", 7, 0.5),
    ]
    assert (detections[0].xmin, detections[0].ymax) == (1, 20)
    assert len(detections[1:]) == 1
    lines = str(detections).splitlines()
    assert lines[0].split() == ["class", "score", "xmin", "ymin", "xmax", "ymax"]
    assert lines[-2].split() == ["dog", "0.750", "1.0", "2.0", "30.0", "20.0"]


def test_detections_draw_themselves_on_a_copy() -> None:
    pixels = np.zeros((24, 40, 3), np.uint8)
    drawn = np.asarray(trimtab.DetectedBoxes.of(RESULTS).draw(pixels))
    assert not pixels.any()
    assert drawn[2, 10].any()
    assert drawn[15, 1].any()
    assert not drawn[22, 35].any()


@pytest.mark.parametrize("image", [-1, 1])
def test_outputs_without_boxes_of_the_image_are_refused(image: int) -> None:
    with pytest.raises(UsageError, match="no boxes of image"):
        trimtab.DetectedBoxes.of(RESULTS, image=image)
    with pytest.raises(UsageError, match="no boxes"):
        trimtab.DetectedBoxes.of({"y": RESULTS["boxes"]})
