"""Pools of regions in numpy, written from the papers and not from the C++."""

from __future__ import annotations

import numpy as np

from tests.ops.cases.case import Array


def roi_pooling(x: Array, regions: Array, height: int, width: int, scale: float) -> Array:
    """Girshick 2015, section 2.1: windows of about h/H x w/W cells, rounded outwards."""
    result = np.zeros((len(regions), x.shape[1], height, width), np.float32)
    for r, (image, *corners) in enumerate(regions):
        xmin, ymin, xmax, ymax = (int(np.floor(c * scale + 0.5)) for c in corners)
        bin_h, bin_w = max(ymax - ymin + 1, 1) / height, max(xmax - xmin + 1, 1) / width
        for i in range(height):
            rows = slice(
                *np.clip(
                    [np.floor(i * bin_h) + ymin, np.ceil((i + 1) * bin_h) + ymin], 0, x.shape[2]
                ).astype(int)
            )
            for j in range(width):
                cols = slice(
                    *np.clip(
                        [np.floor(j * bin_w) + xmin, np.ceil((j + 1) * bin_w) + xmin], 0, x.shape[3]
                    ).astype(int)
                )
                cells = x[int(image), :, rows, cols]
                if cells.size:
                    result[r, :, i, j] = cells.max((1, 2))
    return result


def psroi_pooling(x: Array, regions: Array, bins: int, scale: float) -> Array:
    """Dai et al. 2016, equation 1: bin (i, j) averages over score maps of its own."""
    channels = x.shape[1] // bins**2
    maps = x.reshape(len(x), channels, bins, bins, *x.shape[2:])
    result = np.zeros((len(regions), channels, bins, bins), np.float32)
    for r, (image, *corners) in enumerate(regions):
        xmin, ymin, xmax, ymax = (np.floor(c + 0.5) for c in corners)
        left, top = xmin * scale, ymin * scale
        bin_w = max((xmax + 1) * scale - left, 0.1) / bins
        bin_h = max((ymax + 1) * scale - top, 0.1) / bins
        for i in range(bins):
            rows = slice(
                *np.clip(
                    [np.floor(i * bin_h + top), np.ceil((i + 1) * bin_h + top)], 0, x.shape[2]
                ).astype(int)
            )
            for j in range(bins):
                cols = slice(
                    *np.clip(
                        [np.floor(j * bin_w + left), np.ceil((j + 1) * bin_w + left)], 0, x.shape[3]
                    ).astype(int)
                )
                cells = maps[int(image), :, i, j, rows, cols]
                if cells.size:
                    result[r, :, i, j] = cells.mean((1, 2))
    return result
