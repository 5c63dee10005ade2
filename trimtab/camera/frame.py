"""Frames as arrays, and their planes in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.camera.formats import FORMATS
from trimtab.errors import UsageError, whole_number

_CROP = ("left", "top", "width", "height")
_MOST = 2**31 - 1
_BY_CHANNELS = {3: "rgb", 4: "rgba"}


@dataclass(frozen=True)
class Frame:
    """An image for a network behind a camera; its pixels are not copied.

    `pixels`: uint8, as docs/camera.md lists for `format`, one of its names. `width`: in pixels, if
    the array has more columns; 0: all. `crop`: left, top, width, height of the part to use, for
    cameras whose frames differ in size.
    """

    pixels: NDArray[np.uint8]
    format: str
    crop: tuple[int, int, int, int] | None = None
    width: int = 0

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise UsageError(
                f"there is no pixel format {self.format!r}", hint=f"one of {', '.join(FORMATS)}"
            )
        pixels, kind = self.pixels, FORMATS[self.format]
        if not isinstance(pixels, np.ndarray):
            raise UsageError(
                f"the pixels of a frame are a {type(pixels).__name__}, not an array",
                hint="numpy.asarray(pixels, numpy.uint8)",
            )
        whole_number("width", self.width, 0, _MOST)
        if self.crop is not None:
            if len(self.crop) != len(_CROP):
                raise UsageError(f"a crop has {len(self.crop)} numbers, not {', '.join(_CROP)}")
            for name, value in zip(_CROP, self.crop, strict=True):
                whole_number(f"crop: {name}", value, -_MOST, _MOST)
        last = (kind.channels,) if kind.channels > 1 else ()
        is_fitting = pixels.shape[2:] == last and min(pixels.shape, default=0) > 0
        if is_fitting and kind.paired:
            is_fitting = pixels.shape[1] % 2 == 0
        if is_fitting and kind.halved:  # rows of luma, and half as many of chroma, rounded up
            is_fitting = pixels.shape[0] % 3 != 1
        if is_fitting and self.width:
            is_fitting = 0 < self.width <= replace(self, width=0).size[0]
        if pixels.dtype != np.uint8 or pixels.ndim != 2 + len(last) or not is_fitting:
            raise UsageError(
                f"a frame of {self.format} cannot be {pixels.dtype}{list(pixels.shape)}",
                hint="docs/camera.md lists the arrays of frames",
            )

    @staticmethod
    def of(image: Any, format: str = "") -> Frame:
        """The frame of an array, or of a Pillow image, which becomes RGB. `format`, default: that
        of an array's channels, rgb, rgba or gray.
        """
        if isinstance(image, Frame):
            return image
        if hasattr(image, "convert"):
            return Frame(np.asarray(image.convert("RGB")), "rgb")
        pixels = np.asarray(image)
        if not format:
            format = _BY_CHANNELS.get(pixels.shape[-1], "") if pixels.ndim == 3 else "gray"
        return Frame(pixels, format)

    @property
    def number(self) -> int:
        """The format's number in trimtab.h."""
        return list(FORMATS).index(self.format) + 1

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        kind, (rows, columns) = FORMATS[self.format], self.pixels.shape[:2]
        height = rows * 2 // 3 if kind.halved else rows  # half a row of chroma, rounded up
        width = columns if kind.channels > 1 else columns // kind.bytes
        return self.width or width, height

    def planes(self) -> list[NDArray[np.uint8]]:
        """The planes, as arrays whose rows are contiguous."""
        kind, (_, height), pixels = FORMATS[self.format], self.size, self.pixels
        row = pixels.shape[1] * (kind.bytes if kind.channels > 1 else 1)
        if pixels.strides[1:] != (kind.bytes, 1)[-pixels.ndim + 1 :] or pixels.strides[0] < row:
            pixels = np.ascontiguousarray(pixels)
        if not kind.halved:
            return [pixels]
        luma, chroma = pixels[:height], pixels[height:]
        if self.format != "i420":
            return [luma, chroma]
        # Rows of U and then of V, each half as long.
        halves = np.ascontiguousarray(chroma).reshape(2, (height + 1) // 2, -1)
        return [luma, halves[0], halves[1]]
