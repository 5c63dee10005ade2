"""Proposal: the regions of a two-stage detector (Faster R-CNN)."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers._layer import Results
from trimtab.importers.ncnn_ops.layer import NcnnLayer, handles
from trimtab.importers.vocabulary.movement import axis_slice
from trimtab.importers.vocabulary.prior_boxes import MAX_BOXES

# The only ones that ncnn has.
_RATIOS, _SCALES = (0.5, 1.0, 2.0), (8.0, 16.0, 32.0)

_LOWEST = float(np.finfo(np.float32).min)


@handles("Proposal")
def proposal(layer: NcnnLayer) -> Results:
    """Regions [1, rows, 1, 4] that may hold an object, best first, and their scores: anchors moved
    by offsets and clipped to the frame, without small ones, after non-maximum suppression (Ren et
    al. 2015, section 3.1). Unused rows are -1.
    """
    p = layer.param
    stride, base = p.integer("feat_stride", 16), p.integer("base_size", 16)
    candidates, keep = p.integer("pre_nms_topN", 6000), p.integer("after_nms_topN", 300)
    overlap, smallest = p.real("nms_thresh", 0.7), p.integer("min_size", 16)
    if min(stride, base, keep) < 1:
        raise layer.invalid(f"its stride is {stride}, its base size {base}, it keeps {keep}")
    anchors, scores, offsets, frame = _anchors(base), layer.image(0), layer.image(1), layer.x(2)
    kinds, (rows, columns) = len(anchors), scores.shape[2:]
    layer.check_shape("scores", scores.shape, (1, 2 * kinds, rows, columns))
    layer.check_shape("offsets", offsets.shape, (1, 4 * kinds, rows, columns))
    layer.check_shape("frame", frame.shape, (1, 3))
    count = kinds * rows * columns
    if count > MAX_BOXES:
        raise layer.invalid(f"{count} anchors are too many")
    layer.check_elements((3, count, 4))
    by_anchor = layer.reshape(offsets, (kinds, 4, rows * columns))
    by_box = layer.reshape(layer.transpose(by_anchor, (0, 2, 1)), (1, count, 4))
    priors = layer.constant(_shifted(anchors, rows, columns, stride), "anchors")
    boxes = _clipped(layer, layer.add("box_coder", priors, by_box, variance=()), frame)
    objects = layer.reshape(axis_slice(layer, scores, 1, kinds, 2 * kinds), (1, 1, count))
    least = layer.scaled(axis_slice(layer, frame, 1, 2, 3), float(smallest))
    is_large = layer.add("compare", least, _sides(layer, boxes), relation="less_or_equal")
    # A score that suppression drops.
    nothing = layer.constant(np.full((1, 1, 1), -math.inf, np.float32), "nothing")
    y, _, _ = layer.add_many(
        "multiclass_nms",
        boxes,
        layer.add("where", layer.reshape(is_large, (1, 1, count)), objects, nothing),
        outputs=3,
        background=-1,
        score_threshold=_LOWEST,
        nms_threshold=overlap,
        nms_top_k=candidates if candidates > 0 else -1,
        keep_top_k=keep,
    )
    regions = layer.reshape(axis_slice(layer, y, 1, 2, 6), (1, y.shape[0], 1, 4))
    if len(layer.outputs) == 1:
        return regions
    return regions, layer.reshape(axis_slice(layer, y, 1, 1, 2), (1, y.shape[0], 1, 1))


def _anchors(base: int) -> Array:
    """Boxes of each ratio and scale with the center of the first cell, [ratios * scales, 4]."""
    boxes = []
    for ratio in _RATIOS:
        width = _rounded(base / math.sqrt(ratio))
        height = _rounded(width * ratio)
        for scale in _SCALES:
            half = np.array([width, height]) * scale / 2
            boxes.append([*(base / 2 - half), *(base / 2 + half)])
    return np.array(boxes, np.float32)


def _rounded(value: float) -> int:
    """Rounds half away from zero."""
    return math.floor(value + 0.5)


def _shifted(anchors: Array, rows: int, columns: int, stride: int) -> Array:
    """The anchors of all cells [anchors * rows * columns, 4], by anchor, then by row."""
    y, x = (np.arange(n, dtype=np.float32) * stride for n in (rows, columns))
    shifts = np.stack(np.broadcast_arrays(x[None, :], y[:, None], x[None, :], y[:, None]), -1)
    return np.asarray(anchors[:, None] + shifts.reshape(1, -1, 4), np.float32).reshape(-1, 4)


def _clipped(layer: NcnnLayer, boxes: Value, frame: Value) -> Value:
    """Boxes [1, count, 4] inside of a frame [1, 3]: height, width and its scale."""
    height, width = axis_slice(layer, frame, 1, 0, 1), axis_slice(layer, frame, 1, 1, 2)
    ends = layer.shifted(layer.add("concat", width, height, width, height, axis=1), -1.0)
    return layer.add("relu", layer.add("min", boxes, layer.reshape(ends, (1, 1, 4))))


def _sides(layer: NcnnLayer, boxes: Value) -> Value:
    """The shorter side of each box [1, count, 4] in pixels, [1, count]."""
    begins, ends = axis_slice(layer, boxes, 2, 0, 2), axis_slice(layer, boxes, 2, 2, 4)
    sides = layer.shifted(layer.add("sub", ends, begins), 1.0)
    return layer.add("reduce_min", sides, axes=(2,), keep_dims=False)
