"""PriorBox and DetectionOutput (SSD)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.ncnn_ops.layer import NONE, NcnnLayer, handles
from trimtab.importers.vocabulary.movement import axis_slice
from trimtab.importers.vocabulary.prior_boxes import MAX_BOXES, PriorBoxes

_VARIANCES = (0.1, 0.1, 0.2, 0.2)


@dataclass(frozen=True)
class _Boxes(PriorBoxes):
    """ncnn uses all aspect ratios, where Caffe drops repeated ones."""

    def shapes(self) -> list[tuple[float, float]]:
        """Width and height of each box of a pixel."""
        result = []
        for i, small in enumerate(self.min_sizes):
            result.append((small, small))
            if self.max_sizes:
                side = math.sqrt(small * self.max_sizes[i])
                result.append((side, side))
            for ratio in self.ratios:
                wide = (small * math.sqrt(ratio), small / math.sqrt(ratio))
                result += [wide, wide[::-1]] if self.flip else [wide]
        return result


@handles("PriorBox")
def prior_box(layer: NcnnLayer) -> Results:
    """Prior boxes of a feature map (first operand) in an image (second operand)."""
    p = layer.param
    features = layer.image().shape[2:]
    width, height = p.integer("image_width", 0), p.integer("image_height", 0)
    if not layer.has(1) and (width, height) == (NONE, NONE) and not p.reals("max_sizes"):
        return _multi_box_prior(layer, (features[0], features[1]))
    height = layer.image(1).shape[2] if height == NONE else height
    width = layer.image(1).shape[3] if width == NONE else width
    steps, offset = [p.real("step_height", NONE), p.real("step_width", NONE)], p.real("offset", 0.0)
    rounded, centered = p.integer("step_mmdetection", 0), p.integer("center_mmdetection", 0)
    for i, (size, count) in enumerate(zip((height, width), features, strict=True)):
        if steps[i] == NONE:
            steps[i] = float(math.ceil(size / count)) if rounded else size / count
    if centered:
        if steps[0] != steps[1] or steps[0] <= 0:
            raise layer.unsupported(f"its steps {steps} differ")
        offset *= (steps[0] - 1) / steps[0]
    boxes = _Boxes(
        min_sizes=p.reals("min_sizes"),
        max_sizes=p.reals("max_sizes"),
        ratios=p.reals("aspect_ratios"),
        flip=bool(p.integer("flip", 1)),
        clip=bool(p.integer("clip", 0)),
        variances=[p.real(f"variance_{i}", value) for i, value in enumerate(_VARIANCES)],
        steps=(steps[0], steps[1]),
        offset=offset,
    )
    sizes = (features[0], features[1]), (height, width)
    return layer.constant(boxes.make(layer, *sizes), "boxes")


def _multi_box_prior(layer: NcnnLayer, features: tuple[int, int]) -> Value:
    """MXNet's boxes [1, 4 * boxes], relative to the image: one per size, then one per ratio but the
    first, with the first size.
    """
    p = layer.param
    sizes, ratios, (h, w) = p.reals("min_sizes"), p.reals("aspect_ratios"), features
    for name in ("flip", *(f"variance_{i}" for i in range(4))):
        p.text(name)
    numbers = [*sizes, *ratios, offset := p.real("offset", 0.0)]
    if not sizes or min(ratios, default=1.0) <= 0 or not all(map(math.isfinite, numbers)):
        raise layer.invalid("its sizes and ratios must be positive numbers")
    shapes = [(size * h / w, size) for size in sizes]
    for ratio in map(math.sqrt, ratios[1:]):
        shapes.append((sizes[0] * h / w * ratio, sizes[0] / ratio))
    if h * w * len(shapes) > MAX_BOXES:
        raise layer.invalid(f"{h * w * len(shapes)} boxes are too many")
    layer.check_elements((3, h, w, len(shapes), 4), 8)
    distances = p.real("step_height", NONE), p.real("step_width", NONE)
    steps = [1 / n if step == NONE else step for step, n in zip(distances, features, strict=True)]
    y, x = ((np.arange(n) + offset) * step for n, step in zip(features, steps, strict=True))
    half = np.array(shapes) / 2
    centers = np.stack(np.broadcast_arrays(x[None, :], y[:, None]), -1)[:, :, np.newaxis]
    boxes = np.concatenate([centers - half, centers + half], -1)
    if p.integer("clip", 0):
        boxes = boxes.clip(0.0, 1.0)
    return layer.constant(boxes.reshape(1, -1), "boxes")


@handles("DetectionOutput")
def detection_output(layer: NcnnLayer) -> Results:
    """Decodes locations, scores and priors to rows of class, score and box; unused rows are 0."""
    p = layer.param
    classes = p.integer("num_class", 0)
    locations, scores, priors = layer.x(0), layer.x(1), layer.x(2)
    variances = [p.real(f"variance_{i}", value) for i, value in enumerate(_VARIANCES)]
    if classes == NONE:
        # MXNet has a row per class, and one variance for all boxes.
        if len(scores.shape) != 3:
            raise layer.invalid("its scores are not a matrix")
        classes = scores.shape[1]
        scores = layer.add("transpose", scores, permutation=(0, 2, 1))
        boxes = layer.reshape(priors, (1, 1, priors.count))
        layer.check_elements((2, priors.count))
        repeated = np.tile(np.array(variances, np.float32), priors.count // 4)[None, None]
        priors = layer.add("concat", boxes, layer.constant(repeated, "variances"), axis=1)
    rows = layer.add(
        "detection_output",
        layer.reshape(locations, (1, locations.count)),
        layer.reshape(scores, (1, scores.count)),
        priors,
        classes=classes,
        code_type="center_size",
        confidence_threshold=p.real("confidence_threshold", 0.5),
        nms_threshold=p.real("nms_threshold", 0.05),
        nms_top_k=p.integer("nms_top_k", 300),
        keep_top_k=p.integer("keep_top_k", 100),
    )
    rows = axis_slice(layer, rows, 3, 1, 7)
    return layer.reshape(rows, (1, *rows.shape[2:]))
