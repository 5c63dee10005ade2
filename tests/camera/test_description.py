"""Descriptions of cameras as text."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.camera import parse
from trimtab.camera.families import FAMILIES
from trimtab.errors import UsageError


def test_a_description_is_read_in_the_order_of_its_steps() -> None:
    camera = parse(
        "camera(nv12, 1920x1080, full, bt709, stride 2048) | crop(8, 4, 800, 600) | rotate(90) |"
        "letterbox(640x384, 1, 2, 3, area, top_left) | bgr | scale(1/255) | mean(.5) | std(.25)"
    )
    assert camera.frame_shape == (1620, 2048)
    assert (camera.range, camera.matrix, camera.rotation) == ("full", "bt709", 90)
    assert camera.content((640, 384)) == (0, 0, 288, 384)
    assert (camera.color, camera.method, camera.channels) == ((1, 2, 3), "area", "bgr")
    np.testing.assert_allclose(camera.scale, 4 / 255)
    np.testing.assert_allclose(camera.offset, -2)


@pytest.mark.parametrize(
    ("source", "shape"),
    [
        ("nv12, 6x4", (6, 6)),
        ("i420, 7x5", (8, 8)),
        ("yuyv, 7x5", (5, 16)),
        ("uyvy, 6x5, stride 20", (5, 20)),
        ("rgb, 7x5", (5, 7, 3)),
        ("bgr, 7x5, stride 24", (5, 24)),
        ("rgba, 7x5", (5, 7, 4)),
        ("gray, 7x5", (5, 7)),
    ],
)
def test_a_frame_is_an_array_of_its_format(source: str, shape: tuple[int, ...]) -> None:
    assert parse(f"camera({source})").frame_shape == shape


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_is_a_name_and_may_have_a_size(family: str) -> None:
    assert parse(f"camera(rgb, 640x480) | {family}").size is None
    assert parse(f"camera(rgb, 640x480) | {family}(96x64)").size == (96, 64)


def test_imagenet_is_the_preprocessing_of_torchvision() -> None:
    camera = parse("camera(rgb, 500x375) | imagenet")
    assert camera.content((224, 224)) == (-58, -16, 341, 256)
    pixel, mean, std = np.array([0, 128, 255]), [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    result = pixel * camera.scale + camera.offset
    np.testing.assert_allclose(result, (pixel / 255 - mean) / std)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot read the step"),
        ("webcam(nv12, 4x4)", "write it as camera"),
        ("camera(p010, 4x4)", "formats are nv12"),
        ("camera(nv12, 4)x4", "cannot read"),
        ("camera(nv12, 0x4)", "camera(FORMAT, WIDTHxHEIGHT)"),
        ("camera(nv12, 99999x4)", "cannot read"),
        ("camera(nv12, 6x4, stride 5)", "does not fit 5 bytes"),
        ("camera(nv12, 6x4, stride 7)", "even stride"),
        ("camera(nv12, 6x4, bt2020)", "bt601 or bt709"),
        ("camera(rgb, 6x4) | crop(0, 0, 7, 4)", "exceeds the frame of 6x4"),
        ("camera(rgb, 6x4) | crop(0, 0, 7)", "crop(left, top, width, height)"),
        ("camera(rgb, 6x4) | rotate(45)", "clockwise"),
        ("camera(rgb, 6x4) | letterbox(640, 300)", "letterbox(640x384, 114)"),
        ("camera(rgb, 6x4) | letterbox(640, 1, 2)", "letterbox(640x384, 114)"),
        ("camera(rgb, 6x4) | resize(4) | letterbox(4)", "cannot follow"),
        ("camera(rgb, 6x4) | rgb | resize(4)", "the order is crop, rotate"),
        ("camera(rgb, 6x4) | center_crop(224, 100)", "shorter side is 256"),
        ("camera(rgb, 6x4) | sepia", "unknown step 'sepia'"),
        ("camera(rgb, 6x4) | rgb(3)", "write it as rgb"),
        ("camera(rgb, 6x4) | scale(1/0)", "a factor for each channel"),
        ("camera(rgb, 6x4) | scale(nan)", "a factor for each channel"),
        ("camera(rgb, 6x4) | gray | mean(1, 2, 3)", "which is subtracted"),
        ("camera(rgb, 6x4) | yolo(64, 3)", "yolo(SIZE)"),
    ],
)
def test_a_malformed_description_is_an_error_that_says_how_to_write_it(
    text: str, message: str
) -> None:
    with pytest.raises(UsageError) as error:
        parse(text)
    assert message in f"{error.value} {error.value.hint}"


def test_a_size_that_nothing_says_is_an_error() -> None:
    with pytest.raises(UsageError, match="has no size"):
        parse("camera(rgb, 6x4) | yolo").placement()
