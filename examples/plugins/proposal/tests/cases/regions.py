"""The three operators against numpy, written from the papers and not from the C++."""

import numpy as np

from trimtab import OperatorCase

_RNG = np.random.default_rng(5)


def proposal(scores, deltas, image, anchors, stride, candidates, keep, threshold, least):
    """Ren et al. 2015, section 3.1, one region after the other."""
    count, (height, width) = len(anchors), scores.shape[2:]
    regions = []
    for y in range(height):
        for x in range(width):
            for a, (xmin, ymin, xmax, ymax) in enumerate(anchors.astype(np.float64)):
                dx, dy, dw, dh = deltas[0, 4 * a : 4 * a + 4, y, x].astype(np.float64)
                w, h = xmax - xmin + 1, ymax - ymin + 1
                cx = xmin + x * stride + w / 2 + dx * w
                cy = ymin + y * stride + h / 2 + dy * h
                w, h = w * np.exp(dw), h * np.exp(dh)
                box = np.array([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2])
                box = np.clip(box, 0, np.array([image[0, 1], image[0, 0]] * 2) - 1)
                if min(box[2] - box[0], box[3] - box[1]) + 1 >= least * image[0, 2]:
                    regions.append((scores[0, count + a, y, x], box))
    regions.sort(key=lambda region: -region[0])
    remaining = []
    for _, box in regions[:candidates]:
        if len(remaining) < keep and all(overlap(box, other) <= threshold for other in remaining):
            remaining.append(box)
    result = np.zeros((keep, 5), np.float32)
    for row, box in zip(result, remaining, strict=False):
        row[1:] = box
    return result


def overlap(a, b):
    """Intersection over union of boxes whose corners are pixels of theirs."""
    w = min(a[2], b[2]) - max(a[0], b[0]) + 1
    h = min(a[3], b[3]) - max(a[1], b[1]) + 1
    if w <= 0 or h <= 0:
        return 0.0
    size = [(c[2] - c[0] + 1) * (c[3] - c[1] + 1) for c in (a, b)]
    return w * h / (sum(size) - w * h)


def roi_pooling(x, regions, height, width, scale):
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


def psroi_pooling(x, regions, bins, scale):
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


def _proposal(anchors, height, width, image, **attributes):
    scores = _RNG.permutation(2 * len(anchors) * height * width).astype(np.float32)
    scores = scores.reshape(1, -1, height, width) / scores.size
    deltas = (_RNG.normal(size=(1, 4 * len(anchors), height, width)) * 0.2).astype(np.float32)
    inputs = [scores, deltas, np.array([image], np.float32)]
    boxes = np.array(anchors, np.float32)
    common = {"stride": 16, "candidates": 6000, "keep": 20, "threshold": 0.7, "least": 16.0}
    return OperatorCase(
        "proposal", inputs, proposal, common | attributes, [boxes], rtol=1e-4, atol=1e-4
    )


def _regions(count, images, height, width):
    corners = _RNG.uniform([-20, -20], [width + 20, height + 20], size=(2, count, 2))
    low, high = corners.min(0), corners.max(0)
    # Away from halves, where roundings differ.
    low, high = np.round(low) + 0.25, np.round(high) + 0.25
    return np.column_stack([_RNG.integers(images, size=count), low, high]).astype(np.float32)


def _features(*shape):
    return _RNG.normal(size=shape).astype(np.float32)


_NINE = [(-84, -40, 99, 55), (-56, -56, 71, 71), (-36, -80, 51, 95)]

CASES = [
    _proposal(_NINE, 7, 9, (110.0, 140.0, 1.0)),
    _proposal(_NINE, 5, 3, (80.0, 48.0, 1.6), candidates=11, keep=4, threshold=0.3),
    _proposal([(-8, -8, 23, 23)], 1, 1, (16.0, 16.0, 1.0), keep=3),
    _proposal(_NINE[:1], 4, 4, (64.0, 64.0, 1.0), least=1000.0),
    OperatorCase(
        "roi_pooling",
        [_features(1, 3, 13, 17), _regions(5, 1, 208, 272)],
        roi_pooling,
        {"height": 7, "width": 7, "scale": 0.0625},
    ),
    OperatorCase(
        "roi_pooling",
        [_features(2, 5, 6, 4), _regions(9, 2, 48, 32)],
        roi_pooling,
        {"height": 2, "width": 3, "scale": 0.125},
    ),
    OperatorCase(
        "psroi_pooling",
        [_features(1, 18, 13, 17), _regions(6, 1, 208, 272)],
        psroi_pooling,
        {"bins": 3, "scale": 0.0625},
    ),
    OperatorCase(
        "psroi_pooling",
        [_features(2, 49, 5, 7), _regions(3, 2, 80, 112)],
        psroi_pooling,
        {"bins": 7, "scale": 0.0625},
    ),
]
