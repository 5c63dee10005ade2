"""Videos that are written and read again, beside OpenCV's own reading of the file."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from trimtab.camera import frames, video_file
from trimtab.errors import FileAccessError, UsageError


def test_a_video_keeps_frames_colors_and_rate(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    red, blue = np.zeros((2, 48, 64, 3), np.uint8)
    red[..., 0] = blue[..., 2] = 200
    with video_file(path, 12.5) as file:
        for pixels in (red, blue, red):
            file.add(pixels)
        assert not path.exists()  # it is not whole
    capture = cv2.VideoCapture(str(path))
    assert capture.get(cv2.CAP_PROP_FPS) == pytest.approx(12.5)
    video = frames(path)
    assert video.rate == pytest.approx(12.5)
    for expected in (red, blue, red):
        frame = next(video)
        np.testing.assert_array_equal(frame.pixels, capture.read()[1])
        np.testing.assert_allclose(frame.pixels[..., ::-1].astype(int), expected, atol=12)
    assert next(video, None) is None


def cut_short(path: Path) -> None:
    with video_file(path, 25) as file:
        file.add(np.zeros((16, 16, 3), np.uint8))
        raise ZeroDivisionError


def test_a_video_that_fails_or_has_no_frames_leaves_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_text("earlier")
    with video_file(path, 25):
        pass
    with pytest.raises(ZeroDivisionError):
        cut_short(path)
    assert path.read_text() == "earlier"
    with (
        pytest.raises(FileAccessError, match=r"ends in \.mp4"),
        video_file(tmp_path / "a.x", 25) as file,
    ):
        file.add(np.zeros((16, 16, 3), np.uint8))
    with pytest.raises(UsageError, match="cannot open"):
        frames(tmp_path / "none.mp4")
