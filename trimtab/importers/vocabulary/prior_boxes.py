"""Prior boxes of single-shot detectors: constants that depend on the input sizes alone.

Liu et al. 2016, "SSD: Single Shot MultiBox Detector", section 2.2. The order of the boxes and their
layout are those of SSD's Caffe layer and of ncnn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.importers._graph import Array
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary.window import Pair

MAX_BOXES = 2**22
"""Limit of boxes per layer, against damaged files."""


@dataclass(frozen=True)
class PriorBoxes:
    """The boxes of each pixel of a feature map. Sizes are in pixels of the image.

    Each entry of `min_sizes` gives one square, one square of the geometric mean with its entry of
    `max_sizes`, and one box of the same area per aspect ratio. `steps` is the distance of boxes
    (height, width); 0 stands for image size / feature size. `variances`: none (0.1), one, or four.
    """

    min_sizes: Sequence[float]
    max_sizes: Sequence[float] = ()
    ratios: Sequence[float] = ()
    flip: bool = True
    clip: bool = False
    variances: Sequence[float] = ()
    steps: tuple[float, float] = (0.0, 0.0)
    offset: float = 0.5

    def _error(self, features: Pair, image: Pair) -> str:
        """The error in the parameters for these sizes; empty if they are valid."""
        numbers = (*self.min_sizes, *self.max_sizes, *self.ratios, *self.variances, *self.steps)
        if not all(math.isfinite(number) for number in (*numbers, self.offset)):
            return "its numbers must be finite"
        if not self.min_sizes or min(self.min_sizes) <= 0:
            return "min_size must be given, and positive"
        if self.max_sizes and len(self.max_sizes) != len(self.min_sizes):
            return "max_size must be given as often as min_size"
        if any(
            large <= small for small, large in zip(self.min_sizes, self.max_sizes, strict=False)
        ):
            return "max_size must be greater than min_size"
        if min(self.ratios, default=1.0) <= 0:
            return "aspect_ratio must be positive"
        if len(self.variances) not in (0, 1, 4) or min(self.variances, default=1.0) <= 0:
            return "variance must be given once or four times, and positive"
        if min(*features, *image) < 1 or min(self.steps) < 0:
            return "sizes must be positive"
        count = len(self.min_sizes) * (2 + 2 * len(self.ratios)) * features[0] * features[1]
        return f"{count} boxes are too many" if count > MAX_BOXES else ""

    def shapes(self) -> list[tuple[float, float]]:
        """Width and height of each box of a pixel."""
        ratios: list[float] = []
        for ratio in self.ratios:
            if all(abs(ratio - r) >= 1e-6 for r in (1.0, *ratios)):
                ratios += [ratio, 1.0 / ratio] if self.flip else [ratio]
        result = []
        for i, small in enumerate(self.min_sizes):
            result.append((small, small))
            if self.max_sizes:
                side = float(np.sqrt(small * self.max_sizes[i]))
                result.append((side, side))
            result += [(small * np.sqrt(r), small / np.sqrt(r)) for r in ratios]
        return result

    def make(self, layer: ImportedLayer, features: Pair, image: Pair) -> Array:
        """The boxes float32[1, 2, boxes * 4]: xmin, ymin, xmax, ymax relative to the image, then
        the variances. `features` and `image` are (height, width). Rejects invalid parameters.
        """
        if reason := self._error(features, image):
            raise layer.invalid(reason)
        steps = [
            step or size / n for step, size, n in zip(self.steps, image, features, strict=True)
        ]
        y, x = ((np.arange(n) + self.offset) * s for n, s in zip(features, steps, strict=True))
        shapes = np.array(self.shapes())
        layer.check_elements((4, features[0], features[1], len(shapes), 4), 8)
        boxes = np.empty((features[0], features[1], len(shapes), 4))
        half_w, half_h = shapes[:, 0] / 2, shapes[:, 1] / 2
        boxes[..., 0] = (x[None, :, None] - half_w) / image[1]
        boxes[..., 1] = (y[:, None, None] - half_h) / image[0]
        boxes[..., 2] = (x[None, :, None] + half_w) / image[1]
        boxes[..., 3] = (y[:, None, None] + half_h) / image[0]
        if self.clip:
            boxes = boxes.clip(0.0, 1.0)
        variances = np.broadcast_to(self.variances or (0.1,), 4)
        rows = [boxes.reshape(-1), np.tile(variances, boxes.size // 4)]
        return np.stack(rows)[np.newaxis].astype(np.float32)
