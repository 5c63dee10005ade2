"""Calibration samples."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.camera import parse_view
from trimtab.errors import CalibrationError
from trimtab.quantization import picture_samples, samples

INPUTS = {"data": ((1, 3, 4, 6), "float32")}


# Samples.


def test_arrays_are_samples_along_their_first_axis(tmp_path: Path) -> None:
    data = np.arange(7 * 3 * 4 * 6, dtype=np.float32).reshape(7, 3, 4, 6)
    np.savez(tmp_path / "s.npz", data=data)
    result = picture_samples.read(tmp_path / "s.npz", INPUTS)
    assert result.count == 7
    for i, feed in enumerate(result):
        assert feed["data"].shape == (1, 3, 4, 6)
        assert feed["data"].dtype == np.float32
        np.testing.assert_array_equal(feed["data"][0], data[i])
    whole = samples.of_arrays({"data": data[:, np.newaxis]}, INPUTS)
    np.testing.assert_array_equal(whole.feed(6)["data"], result.feed(6)["data"])


@pytest.mark.parametrize(("count", "held_out"), [(4, [0, 1, 2, 3]), (5, [4]), (11, [4, 9])])
def test_every_fifth_sample_is_held_out(count: int, held_out: list[int]) -> None:
    data = np.arange(count, dtype=np.float32).reshape(-1, 1)
    result = samples.of_arrays({"x": data}, {"x": ((1, 1), "float32")})
    numbers = [int(feed["x"][0, 0]) for feed in result.held_out]
    rest = [int(feed["x"][0, 0]) for feed in result.calibrating]
    assert numbers == held_out
    assert rest == [i for i in range(count) if i % 5 != 4]


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ({}, "the inputs of the network are data"),
        ({"data": np.zeros((2, 3, 4, 5), np.float32)}, r"has the shape \[2, 3, 4, 5\]"),
        ({"data": np.zeros((0, 3, 4, 6), np.float32)}, "must be equal and not 0"),
        ({"data": np.full((1, 3, 4, 6), np.nan, np.float32)}, "not finite numbers"),
        ({"data": np.full((1, 3, 4, 6), "a")}, "not numbers"),
        ({"image": np.zeros((2, 3, 4, 6))}, "the inputs of the network are data"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    arrays: Mapping[str, Any], text: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "s.npz", **arrays)
    with pytest.raises(CalibrationError, match=text) as caught:
        picture_samples.read(tmp_path / "s.npz", INPUTS)
    assert caught.value.where == str(tmp_path / "s.npz")


@given(st.binary(max_size=64))
def test_arbitrary_bytes_are_refused(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.npz"
        path.write_bytes(content)
        with pytest.raises(CalibrationError):
            picture_samples.read(path, INPUTS)


def test_pictures_equal_those_that_opencv_reads(tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2")
    pixels = np.random.default_rng(1).integers(0, 256, (4, 6, 3), np.uint8)  # b, g, r
    cv2.imwrite(str(tmp_path / "a.png"), pixels)
    (tmp_path / "notes.txt").write_text("no picture")
    (tmp_path / picture_samples.SETTINGS).write_text(
        'mean = [10, 20, 30]\nscale = 0.5\nchannels = "bgr"\n'
    )
    result = picture_samples.read(tmp_path, INPUTS)
    assert result.count == 1
    expected = (pixels.astype(np.float32) - [10, 20, 30]) * 0.5
    np.testing.assert_allclose(result.feed(0)["data"][0], expected.transpose(2, 0, 1), rtol=1e-6)
    (tmp_path / picture_samples.SETTINGS).unlink()
    rgb = picture_samples.read(tmp_path, INPUTS).feed(0)["data"][0]
    np.testing.assert_allclose(rgb, pixels[:, :, ::-1].transpose(2, 0, 1) / 255, rtol=1e-5)
    gray = picture_samples.read(tmp_path, {"x": ((1, 1, 4, 6), "float32")}).feed(0)["x"]
    reference = cv2.imread(str(tmp_path / "a.png"), cv2.IMREAD_GRAYSCALE) / 255
    np.testing.assert_allclose(gray[0, 0], reference, atol=1.01 / 255)


LAYOUTS = {"first": ((1, 3, 4, 6), (2, 0, 1)), "last": ((1, 4, 6, 3), (0, 1, 2))}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("source", ["input", "file", "model"])
def test_pictures_take_the_steps_of_the_input_in_both_layouts(
    source: str, layout: str, tmp_path: Path
) -> None:
    cv2 = pytest.importorskip("cv2")
    pixels = np.random.default_rng(1).integers(0, 256, (4, 6, 3), np.uint8)  # b, g, r
    cv2.imwrite(str(tmp_path / "a.png"), pixels)
    steps = "resize(auto) | bgr | mean(10, 20, 30) | scale(0.5)"
    if source == "file":
        text = 'mean = [10, 20, 30]\nscale = 0.5\nchannels = "bgr"\n'
        (tmp_path / picture_samples.SETTINGS).write_text(text)
    elif source == "input":  # comes before what the folder says
        (tmp_path / picture_samples.SETTINGS).write_text("scale = 3\n")
    shape, order = LAYOUTS[layout]
    result = picture_samples.read(
        tmp_path,
        {"data": (shape, "float32")},
        views=dict([parse_view(f"data={steps}")]) if source == "input" else None,
        steps=steps if source == "model" else "",
    )
    expected = (pixels.astype(np.float32) - [10, 20, 30]) * 0.5
    np.testing.assert_allclose(result.feed(0)["data"][0], expected.transpose(order), rtol=1e-5)


def test_a_crop_has_the_proportions_of_the_input(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    ops = pytest.importorskip("PIL.ImageOps")
    grid = np.add.outer(np.arange(40) * 3, np.arange(60) * 2).astype(np.uint8)
    picture = image.fromarray(np.stack([grid, grid // 2, 255 - grid], axis=-1))
    picture.save(tmp_path / "a.png")
    (tmp_path / picture_samples.SETTINGS).write_text('scale = 1\nresize = "crop"\n')
    result = picture_samples.read(tmp_path, {"x": ((1, 3, 10, 20), "float32")}).feed(0)["x"][0]
    expected = np.asarray(ops.fit(picture, (20, 10), image.Resampling.BILINEAR), np.float32)
    np.testing.assert_allclose(result.transpose(1, 2, 0), expected, atol=2)


@pytest.mark.parametrize("resize", ["stretch", "crop", "letterbox"])
def test_pictures_are_resized(resize: str, tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2")
    halves = np.zeros((40, 20, 3), np.uint8)
    halves[20:] = 200
    cv2.imwrite(str(tmp_path / "a.png"), halves)
    (tmp_path / picture_samples.SETTINGS).write_text(f'scale = 1\nresize = "{resize}"\n')
    picture = picture_samples.read(tmp_path, {"x": ((1, 3, 20, 20), "float32")}).feed(0)["x"][0, 0]
    assert picture[2, 10] == 0
    assert picture[17, 10] == 200
    assert (picture[:, 0] == 114).all() == (resize == "letterbox")


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ("mean = 'a'", "`mean` must be a number"),
        ("scale = [1, 2]", "`scale` must be a float32 number, or one per channel"),
        ("channels = 'hsv'", "one of rgb, bgr"),
        ("resize = 3", "one of stretch, crop, letterbox"),
        ("sigma = 3", "unknown key `sigma`"),
        ("= =", "not a TOML file"),
    ],
)
def test_invalid_settings_are_refused(settings: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / picture_samples.SETTINGS).write_text(settings)
    with pytest.raises(CalibrationError, match=text):
        picture_samples.read(tmp_path, INPUTS)


def test_invalid_pictures_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match="has no pictures"):
        picture_samples.read(tmp_path, INPUTS)
    (tmp_path / "a.jpg").write_bytes(b"JFIF, or so")
    with pytest.raises(CalibrationError, match="is not a picture"):
        picture_samples.read(tmp_path, INPUTS).feed(0)
    with pytest.raises(CalibrationError, match="no such file"):
        picture_samples.read(tmp_path / "absent", INPUTS)
    with pytest.raises(CalibrationError, match="do not fit"):
        picture_samples.read(tmp_path, {"x": ((1, 10), "float32")})
