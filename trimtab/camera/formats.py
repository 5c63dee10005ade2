"""The pixel formats of cameras, and the arrays that hold a frame."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PixelFormat:
    """A pixel format. `bytes`: per pixel in a row of the array; `channels`: those of an array
    [h, w, channels], 0 for an array of rows of bytes; `halved`: the array has half a row of
    chroma per row of pixels, below all of them; `paired`: two neighboring pixels share chroma.
    """

    bytes: int
    channels: int = 0
    halved: bool = False
    paired: bool = False

    @property
    def is_yuv(self) -> bool:
        """Whether pixels are luma and chroma."""
        return self.paired

    def row_bytes(self, width: int) -> int:
        """The minimum number of bytes of a row of `width` pixels."""
        return (width + width % 2 if self.paired else width) * self.bytes

    def shape(self, width: int, height: int, stride: int = 0) -> tuple[int, ...]:
        """The shape of the array of a frame; `stride`: bytes of a row, 0: as few as possible."""
        rows = height + (height + 1) // 2 if self.halved else height
        if self.channels > 1 and not stride:
            return rows, width, self.channels
        return rows, stride or self.row_bytes(width)


# The names are the values of the attribute `format` of the operator `camera_image`.
FORMATS = {
    "nv12": PixelFormat(1, halved=True, paired=True),
    "nv21": PixelFormat(1, halved=True, paired=True),
    "i420": PixelFormat(1, halved=True, paired=True),
    "yuyv": PixelFormat(2, paired=True),
    "uyvy": PixelFormat(2, paired=True),
    "rgb": PixelFormat(3, channels=3),
    "bgr": PixelFormat(3, channels=3),
    "rgba": PixelFormat(4, channels=4),
    "bgra": PixelFormat(4, channels=4),
    "gray": PixelFormat(1),
}
