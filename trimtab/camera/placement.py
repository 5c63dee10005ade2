"""The placement of a frame in the image that a network sees, to map points back to the frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab.errors import UsageError

ROTATIONS = (0, 90, 180, 270)


@dataclass(frozen=True)
class FramePlacement:
    """The place of a frame's pixels in the input of a network.

    `width`, `height`: the frame's size. It is turned clockwise by `rotation` degrees, and the point
    (x, y) of the turned frame becomes (x * scale_x + left, y * scale_y + top). Coordinates are in
    pixels and continuous: the first pixel extends from 0 to 1, and its center is at 0.5.
    """

    width: int
    height: int
    scale_x: float
    scale_y: float
    left: float = 0.0
    top: float = 0.0
    rotation: int = 0

    def __post_init__(self) -> None:
        if self.rotation not in ROTATIONS:
            raise UsageError(
                f"a frame cannot be turned by {self.rotation} degrees", hint="use 0, 90, 180 or 270"
            )

    def to_frame(self, points: ArrayLike) -> NDArray[Any]:
        """Points [..., 2] (x, y) of the network's input, in the frame's pixels."""
        array = np.asarray(points, float)
        x = (array[..., 0] - self.left) / self.scale_x
        y = (array[..., 1] - self.top) / self.scale_y
        turned = {
            0: (x, y),
            90: (y, self.height - x),
            180: (self.width - x, self.height - y),
            270: (self.width - y, x),
        }
        return np.stack(turned[self.rotation], axis=-1)

    def to_input(self, points: ArrayLike) -> NDArray[Any]:
        """Points [..., 2] (x, y) of the frame, in pixels of the network's input."""
        array = np.asarray(points, float)
        x, y = array[..., 0], array[..., 1]
        turned_x, turned_y = {
            0: (x, y),
            90: (self.height - y, x),
            180: (self.width - x, self.height - y),
            270: (y, self.width - x),
        }[self.rotation]
        return np.stack(
            [turned_x * self.scale_x + self.left, turned_y * self.scale_y + self.top], axis=-1
        )

    def boxes_to_frame(self, boxes: ArrayLike) -> NDArray[Any]:
        """Boxes [..., 4] (left, top, right, bottom) of the network's input, in the frame's pixels
        and limited to the frame.
        """
        array = np.asarray(boxes, float)
        one, other = self.to_frame(array[..., :2]), self.to_frame(array[..., 2:])
        corners = np.concatenate([np.minimum(one, other), np.maximum(one, other)], axis=-1)
        low, high = np.zeros(4), np.array([self.width, self.height] * 2, float)
        return np.asarray(np.minimum(np.maximum(corners, low), high))
