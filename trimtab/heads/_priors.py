"""Priors of face detectors: squares of fixed sides at each place of several grids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray


def squares(height: int, width: int, sides: Mapping[int, Sequence[int]]) -> NDArray[np.float32]:
    """x and y of the center, width and height of each prior, relative to the image: [priors, 4].

    `sides`: the sides of the squares of each stride, in pixels.
    """
    rows = []
    for step, lengths in sides.items():
        y, x = np.mgrid[: -(-height // step), : -(-width // step)] + 0.5
        for_sides = [np.stack([x * step, y * step, x * 0 + s, y * 0 + s], -1) for s in lengths]
        rows.append(np.stack(for_sides, 2).reshape(-1, 4))
    return np.asarray(np.concatenate(rows) / ([width, height] * 2), np.float32)
