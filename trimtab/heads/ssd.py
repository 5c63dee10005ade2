"""SSD with the anchors of TensorFlow's detection API (MobileNet-SSD): reads raw offsets [n,
anchors, 4], y before x, and logits [n, anchors, classes + 1], of which the first is the background;
the grids follow from an image whose strides are 16, 32 and so on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trimtab.heads._builder import HeadBuilder
from trimtab.heads.ultraface import pair
from trimtab.program import Program

LEVELS, MIN_SCALE, MAX_SCALE = 6, 0.2, 0.95
RATIOS = (1.0, 2.0, 1 / 2, 3.0, 1 / 3)
"""Width to height of anchors."""


def anchors(height: int, width: int) -> NDArray[np.float32]:
    """x and y of the center, width and height of each anchor, relative to the image."""
    scales = [*np.linspace(MIN_SCALE, MAX_SCALE, LEVELS), 1.0]
    rows, step = [], 16
    for level in range(LEVELS):
        sizes = [(scales[level] * r**0.5, scales[level] / r**0.5) for r in RATIOS]
        if level == 0:  # fewer on the finest grid
            sizes = [(0.1, 0.1), *sizes[1:3]]
        else:
            sizes.append((float(np.sqrt(scales[level] * scales[level + 1])),) * 2)
        grid = (-(-height // step), -(-width // step))
        y, x = (np.mgrid[: grid[0], : grid[1]] + 0.5) / np.array(grid).reshape(2, 1, 1)
        cells = np.stack([x, y], -1)[:, :, None].repeat(len(sizes), 2)
        extent = np.broadcast_to(np.array(sizes), (*grid, len(sizes), 2))
        rows.append(np.concatenate([cells, extent], -1).reshape(-1, 4))
        step *= 2
    return np.concatenate(rows).astype(np.float32)


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Boxes of the raw outputs."""
    scores, boxes = pair(builder)
    height, width = builder.image_size()
    rows = anchors(height, width)
    if scores.shape[1] != len(rows):
        raise builder.invalid(f"{len(rows)} anchors")
    x, y = builder.request.scale
    builder.boxes(
        [boxes.name, scores.name, builder.constant(rows, "anchors")],
        parts=2,
        box="prior",
        y_first=True,
        variances=builder.request.variances,
        scores="sigmoid",
        classes=scores.shape[2],
        background=0,
        scale=(x * width, y * height),
    )
