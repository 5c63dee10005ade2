"""Prior boxes of single-shot detectors, which depend on sizes only: constants of the program.

Liu et al. 2016, "SSD: Single Shot MultiBox Detector", section 2.2; the order of boxes, and the
memory layout, are those of its Caffe layer, which ncnn shares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.importers._graph import Array
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary.window import Pair

# Boxes that one layer may make; a damaged file asks for any number.
MOST_BOXES = 2**22


@dataclass(frozen=True)
class PriorBoxes:
    """The boxes of every pixel of a feature map.

    Sizes in pixels of the image: one square per `min_sizes`, one between it and the entry of
    `max_sizes`, one of the area of the former per ratio. `steps` (height, width) in pixels; 0:
    image size / feature size. `variances`: none (0.1), one, or four.
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
        """What is wrong with these parameters for such a feature map and image; empty: nothing."""
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
        return f"{count} boxes are too many" if count > MOST_BOXES else ""

    def shapes(self) -> list[tuple[float, float]]:
        """Width and height of the boxes of one pixel."""
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
        """float32[1, 2, boxes * 4]: xmin, ymin, xmax, ymax of every box relative to the image, then
        their variances; `features` and `image` are (height, width). Refuses wrong parameters.
        """
        if reason := self._error(features, image):
            raise layer.invalid(reason)
        steps = [
            step or size / n for step, size, n in zip(self.steps, image, features, strict=True)
        ]
        y, x = ((np.arange(n) + self.offset) * s for n, s in zip(features, steps, strict=True))
        shapes = np.array(self.shapes())
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
