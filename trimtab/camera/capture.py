"""Videos and cameras, read and written with OpenCV."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from trimtab import files
from trimtab.camera.frame import Frame
from trimtab.errors import FileAccessError, MissingRequirementError, UsageError

DEFAULT_RATE = 25.0


class Video(Iterator[Frame]):
    """The frames of a video file or stream, or of the camera of a number, until it ends. `rate`:
    frames per second, as the source tells them, or `DEFAULT_RATE`.
    """

    def __init__(self, source: str | Path | int) -> None:
        cv2 = _opencv("reading")
        self._capture = cv2.VideoCapture(source if isinstance(source, int) else str(source))
        if not self._capture.isOpened():
            raise UsageError(
                f"cannot open the video or camera {str(source)!r}",
                hint="name a video file that OpenCV reads, or the number of a camera: 0",
            )
        rate = float(self._capture.get(cv2.CAP_PROP_FPS))
        self.rate = rate if 0 < rate <= 1000 else DEFAULT_RATE

    def __next__(self) -> Frame:
        is_read, pixels = self._capture.read()
        if not is_read:
            self._capture.release()
            raise StopIteration
        return Frame(np.asarray(pixels, np.uint8), "bgr")


def frames(source: str | Path | int) -> Video:
    """The frames of a video file or stream, or of the camera of that number, until it ends.

    MissingRequirementError without OpenCV, UsageError if the source cannot be opened.
    """
    return Video(source)


class VideoFile:
    """A video that is being written; its first frame gives its size."""

    def __init__(self, path: Path, rate: float) -> None:
        self._path, self._rate = path, rate
        self._writer: Any = None
        self._cv2: Any = _opencv("writing")

    def add(self, pixels: np.ndarray[Any, Any]) -> None:
        """Adds a frame, RGB uint8[h, w, 3]. FileAccessError if OpenCV cannot write the format."""
        if self._writer is None:
            height, width = pixels.shape[:2]
            codec = self._cv2.VideoWriter.fourcc(*"mp4v")
            self._writer = self._cv2.VideoWriter(
                str(self._path), codec, self._rate, (width, height)
            )
            if not self._writer.isOpened():
                raise FileAccessError(
                    f"OpenCV cannot write a video named {self._path.name}",
                    hint="give a name that ends in .mp4",
                )
        self._writer.write(np.ascontiguousarray(pixels[..., ::-1]))

    def close(self) -> bool:
        """Ends the file; whether it has frames."""
        if self._writer is not None:
            self._writer.release()
        return self._writer is not None


@contextmanager
def video_file(path: Path, rate: float) -> Iterator[VideoFile]:
    """A video of `rate` frames per second, which replaces `path` at the end of the block.

    MissingRequirementError without OpenCV; FileAccessError.
    """
    files.check_writable(path)
    with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
        video = VideoFile(Path(folder) / path.name, rate)
        try:
            yield video
        finally:
            has_frames = video.close()
        if has_frames:
            with files.replacing(path) as part:
                shutil.copyfile(Path(folder) / path.name, part)


def _opencv(purpose: str) -> ModuleType:
    try:
        import cv2
    except ImportError as error:
        raise MissingRequirementError(
            f"{purpose} a video needs OpenCV", hint="pip install opencv-python-headless"
        ) from error
    return cv2
