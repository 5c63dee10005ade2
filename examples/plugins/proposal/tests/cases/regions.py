"""The operator against numpy, written from the paper and not from the C++."""

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


_NINE = [(-84, -40, 99, 55), (-56, -56, 71, 71), (-36, -80, 51, 95)]

CASES = [
    _proposal(_NINE, 7, 9, (110.0, 140.0, 1.0)),
    _proposal(_NINE, 5, 3, (80.0, 48.0, 1.6), candidates=11, keep=4, threshold=0.3),
    _proposal([(-8, -8, 23, 23)], 1, 1, (16.0, 16.0, 1.0), keep=3),
    _proposal(_NINE[:1], 4, 4, (64.0, 64.0, 1.0), least=1000.0),
]
