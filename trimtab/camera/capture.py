"""Frames of cameras and video files, read with OpenCV."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from trimtab.camera.frame import Frame
from trimtab.errors import MissingRequirementError, UsageError


def frames(source: str | Path | int) -> Iterator[Frame]:
    """The frames of a video file or stream, or of the camera of that number, until it ends.

    MissingRequirementError without OpenCV, UsageError if the source cannot be opened.
    """
    try:
        import cv2
    except ImportError as error:
        raise MissingRequirementError(
            "reading a video or a camera needs OpenCV", hint="pip install opencv-python-headless"
        ) from error
    capture = cv2.VideoCapture(source if isinstance(source, int) else str(source))
    try:
        if not capture.isOpened():
            raise UsageError(
                f"cannot open the video or camera {str(source)!r}",
                hint="name a video file that OpenCV reads, or the number of a camera: 0",
            )
        while True:
            is_read, pixels = capture.read()
            if not is_read:
                return
            yield Frame(np.asarray(pixels, np.uint8), "bgr")
    finally:
        capture.release()
