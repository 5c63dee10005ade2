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

from trimtab.errors import CalibrationError
from trimtab.quantization import samples

INPUTS = {"data": ((1, 3, 4, 6), "float32")}


# Samples.


def test_arrays_are_samples_along_their_first_axis(tmp_path: Path) -> None:
    data = np.arange(7 * 3 * 4 * 6, dtype=np.float32).reshape(7, 3, 4, 6)
    np.savez(tmp_path / "s.npz", data=data)
    result = samples.read(tmp_path / "s.npz", INPUTS)
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
        samples.read(tmp_path / "s.npz", INPUTS)
    assert caught.value.where == str(tmp_path / "s.npz")


@given(st.binary(max_size=64))
def test_arbitrary_bytes_are_refused(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.npz"
        path.write_bytes(content)
        with pytest.raises(CalibrationError):
            samples.read(path, INPUTS)


def test_pictures_equal_those_that_opencv_reads(tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2")
    pixels = np.random.default_rng(1).integers(0, 256, (4, 6, 3), np.uint8)  # b, g, r
    cv2.imwrite(str(tmp_path / "a.png"), pixels)
    (tmp_path / "notes.txt").write_text("no picture")
    (tmp_path / samples.SETTINGS).write_text('mean = [10, 20, 30]\nscale = 0.5\nchannels = "bgr"\n')
    result = samples.read(tmp_path, INPUTS)
    assert result.count == 1
    expected = (pixels.astype(np.float32) - [10, 20, 30]) * 0.5
    np.testing.assert_allclose(result.feed(0)["data"][0], expected.transpose(2, 0, 1), rtol=1e-6)
    (tmp_path / samples.SETTINGS).unlink()
    rgb = samples.read(tmp_path, INPUTS).feed(0)["data"][0]
    np.testing.assert_allclose(rgb, pixels[:, :, ::-1].transpose(2, 0, 1) / 255, rtol=1e-5)
    gray = samples.read(tmp_path, {"x": ((1, 1, 4, 6), "float32")}).feed(0)["x"]
    reference = cv2.imread(str(tmp_path / "a.png"), cv2.IMREAD_GRAYSCALE) / 255
    np.testing.assert_allclose(gray[0, 0], reference, atol=1.01 / 255)


@pytest.mark.parametrize("resize", ["stretch", "crop", "letterbox"])
def test_pictures_are_resized(resize: str, tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2")
    halves = np.zeros((40, 20, 3), np.uint8)
    halves[20:] = 200
    cv2.imwrite(str(tmp_path / "a.png"), halves)
    (tmp_path / samples.SETTINGS).write_text(f'scale = 1\nresize = "{resize}"\n')
    picture = samples.read(tmp_path, {"x": ((1, 3, 20, 20), "float32")}).feed(0)["x"][0, 0]
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
    (tmp_path / samples.SETTINGS).write_text(settings)
    with pytest.raises(CalibrationError, match=text):
        samples.read(tmp_path, INPUTS)


def test_invalid_pictures_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match="has no pictures"):
        samples.read(tmp_path, INPUTS)
    (tmp_path / "a.jpg").write_bytes(b"JFIF, or so")
    with pytest.raises(CalibrationError, match="is not a picture"):
        samples.read(tmp_path, INPUTS).feed(0)
    with pytest.raises(CalibrationError, match="no such file"):
        samples.read(tmp_path / "absent", INPUTS)
    with pytest.raises(CalibrationError, match="do not fit"):
        samples.read(tmp_path, {"x": ((1, 10), "float32")})
