"""Placements of frames: points of a network's input and of the frame."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.camera.frames import network
from trimtab.camera import Frame, FramePlacement, attach, parse
from trimtab.errors import UsageError
from trimtab.session import Session

FITS = [
    "line(64x20, 127.5)",
    "center_crop(24, 28, rounded)",
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


# Frame, network, and left, top, width, height by hand: sides are rounded half to even, and of an
# odd border the smaller part comes first, as in Ultralytics' LetterBox.
ROUNDED = [
    ((1281, 720), (640, 640), (0, 140, 640, 360)),  # 359.7 rows
    ((64, 33), (32, 32), (0, 8, 32, 16)),  # 16.5 rows: 16
    ((64, 35), (32, 32), (0, 7, 32, 18)),  # 17.5 rows: 18
    ((64, 37), (32, 32), (0, 7, 32, 18)),  # 18.5 rows: 18
    ((33, 64), (32, 32), (8, 0, 16, 32)),
    ((64, 30), (32, 32), (0, 8, 32, 15)),  # 17 rows are left: 8 above, 9 below
    ((30, 64), (32, 32), (8, 0, 15, 32)),
    ((100, 67), (64, 64), (0, 10, 64, 43)),  # 42.9 rows, 21 left: 10 and 11
    ((60, 1), (20, 8), (0, 3, 20, 1)),  # a third of a row: one; 7 left: 3 and 4
    ((20, 8), (40, 20), (0, 2, 40, 16)),
]


@pytest.mark.parametrize(("frame", "size", "place"), ROUNDED)
@pytest.mark.parametrize("bounds", ["", "1x1.."])
def test_a_letterbox_is_rounded_as_that_of_ultralytics(
    frame: tuple[int, int], size: tuple[int, int], place: tuple[int, int, int, int], bounds: str
) -> None:
    """In the description, and in pixels: a white frame on black, with frames of one or any size."""
    (width, height), (across, down) = frame, size
    text = f"camera(rgb, {bounds}{width}x{height}) | letterbox({across}x{down}, 0)"
    assert parse(text).content(size) == place
    session = Session(attach(network((1, 3, down, across)), text), cache=False)
    white = np.full((height, width, 3), 255, np.uint8)
    (y,) = session.run(Frame(white, "rgb")).values()
    expected = np.zeros((down, across), bool)
    left, top, w, h = place
    expected[top : top + h, left : left + w] = True
    np.testing.assert_array_equal(y[0, 0] != 0, expected)


def of_ultralytics(width: int, height: int, size: tuple[int, int]) -> tuple[int, ...]:
    """left, top, width, height as in ultralytics.data.augment.LetterBox."""
    across, down = size
    ratio = min(across / width, down / height)
    w, h = max(1, round(width * ratio)), max(1, round(height * ratio))
    return round((across - w) / 2 - 0.1), round((down - h) / 2 - 0.1), w, h


def of_torchvision(width: int, height: int, size: tuple[int, int], short: int) -> tuple[int, ...]:
    """left, top, width, height of Resize(short) and CenterCrop(size)."""
    if width <= height:
        w, h = short, int(short * height / width)
    else:
        w, h = int(short * width / height), short
    return -round((w - size[0]) / 2.0), -round((h - size[1]) / 2.0), w, h


def of_paddle(width: int, height: int, size: tuple[int, int], short: int) -> tuple[int, ...]:
    """left, top, width, height of PaddleClas' ResizeImage(resize_short) and CropImage(size)."""
    percent = float(short) / min(width, height)
    w, h = round(width * percent), round(height * percent)
    return -((w - size[0]) // 2), -((h - size[1]) // 2), w, h


def line_of_paddle(width: int, height: int, size: tuple[int, int]) -> tuple[int, ...]:
    """left, top, width, height of PaddleOCR's RecResizeImg."""
    w = math.ceil(size[1] * (width / float(height)))
    return 0, 0, size[0] if w > size[0] else w, size[1]


def test_the_place_of_a_picture_is_that_of_other_programs() -> None:
    rng = np.random.default_rng(4)
    for _ in range(500):
        width, height, across, down = (int(n) for n in rng.integers(1, 2000, 4))
        short = int(rng.integers(max(across, down), 2001))
        frame, size = f"camera(rgb, {width}x{height})", (across, down)
        boxed = parse(f"{frame} | letterbox").content(size)
        assert boxed == of_ultralytics(width, height, size)
        corner = parse(f"{frame} | letterbox(auto, top_left)").content(size)
        assert corner == (0, 0, *boxed[2:])
        rounded = parse(f"{frame} | center_crop(auto, {short}, rounded)").content(size)
        assert rounded == of_paddle(width, height, size, short)
        assert parse(f"{frame} | line").content(size) == line_of_paddle(width, height, size)
        turned = parse(f"{frame} | rotate(90) | center_crop(auto, {short})").content(size)
        assert turned == of_torchvision(height, width, size, short)
        assert parse(f"{frame} | resize").content(size) == (0, 0, *size)


def test_boxes_are_limited_to_the_frame_and_keep_their_order_when_it_is_turned() -> None:
    camera = parse("camera(rgb, 40x20) | rotate(180) | letterbox(40)")
    boxes = camera.placement().boxes_to_frame([[-5, 12, 10, 14], [0, 0, 40, 40]])
    assert boxes.tolist() == [[30, 16, 40, 18], [0, 0, 40, 20]]


def test_another_angle_is_an_error() -> None:
    with pytest.raises(UsageError, match="45 degrees"):
        FramePlacement(1, 1, 1.0, 1.0, rotation=45)
