"""Placements of frames: points of a network's input and of the frame."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.camera import FramePlacement, parse
from trimtab.errors import UsageError

FITS = [
    "letterbox(64, 114)",
    "letterbox(64x20, 0, top_left)",
    "resize(31x17)",
    "center_crop(24, 28)",
]


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("crop", ["", "crop(6, 2, 30, 18) | "])
def test_the_corners_of_the_region_are_those_of_the_picture(
    fit: str, rotation: int, crop: str
) -> None:
    camera = parse(f"camera(rgb, 40x24) | {crop}rotate({rotation}) | {fit}")
    assert camera.size
    left, top, width, height = camera.content(camera.size)
    x, y, across, down = camera.region
    # The corner that numpy's rotation moves to the top left.
    corners = np.array([[[x, y], [x + across, y]], [[x, y + down], [x + across, y + down]]], float)
    turned = np.rot90(corners, -rotation // 90)
    placement = camera.placement()
    expected = [
        [[left, top], [left + width, top]],
        [[left, top + height], [left + width, top + height]],
    ]
    np.testing.assert_allclose(placement.to_input(turned), expected)
    np.testing.assert_allclose(placement.to_frame(expected), turned, atol=1e-9)


def test_a_letterbox_centers_a_wide_frame_and_keeps_its_shape() -> None:
    placement = parse("camera(nv12, 1920x1080) | letterbox(640, 114)").placement()
    assert placement == FramePlacement(1920, 1080, 1 / 3, 1 / 3, 0.0, 140.0)
    assert placement.to_frame([320, 320]).tolist() == [960, 540]


def test_boxes_are_limited_to_the_frame_and_keep_their_order_when_it_is_turned() -> None:
    camera = parse("camera(rgb, 40x20) | rotate(180) | letterbox(40)")
    boxes = camera.placement().boxes_to_frame([[-5, 12, 10, 14], [0, 0, 40, 40]])
    assert boxes.tolist() == [[30, 16, 40, 18], [0, 0, 40, 20]]


def test_another_angle_is_an_error() -> None:
    with pytest.raises(UsageError, match="45 degrees"):
        FramePlacement(1, 1, 1.0, 1.0, rotation=45)
