"""YoloDetectionOutput (YOLOv2) and Yolov3DetectionOutput."""

from __future__ import annotations

import math
import struct

from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.ncnn_ops.layer import NcnnLayer, handles
from trimtab.importers.vocabulary import movement

# Columns of a box: x, y, width, height, objectness, then the scores.
_BOX, _OBJECTNESS, _SCORES = 4, 4, 5


@handles("YoloDetectionOutput")
def yolo_v2(layer: NcnnLayer) -> Results:
    """Anchors are in cells of each head; scores are the softmax over the classes."""
    boxes, anchors = layer.param.integer("num_box", 5), layer.param.reals("biases")
    _check(layer, boxes, anchors, boxes)
    heads = []
    for i in range(len(layer.inputs)):
        height, width = layer.image(i).shape[2:]
        scaled = [a / (height if j % 2 else width) for j, a in enumerate(anchors[: 2 * boxes])]
        heads.append(_decode(layer, layer.image(i), scaled, "softmax"))
    rows = layer.value(movement.concat(layer, heads, 1))
    return _select(layer, rows, _columns(layer, rows, _SCORES))


@handles("Yolov3DetectionOutput")
def yolo_v3(layer: NcnnLayer) -> Results:
    """Anchors are in pixels of the image, whose size follows from that of each head."""
    p = layer.param
    boxes, anchors = p.integer("num_box", 5), p.reals("biases")
    mask, scales = [_mask_index(value) for value in p.reals("mask")], p.reals("anchors_scale")
    count = len(layer.inputs)
    _check(layer, boxes, anchors, 1)
    if len(mask) < boxes * count or len(scales) < count or min(scales, default=0) <= 0:
        raise layer.invalid(f"{len(mask)} mask indices, {len(scales)} scales for {count} heads")
    if not all(0 <= i < len(anchors) // 2 for i in mask):
        raise layer.invalid(f"its mask {mask} does not fit {len(anchors) // 2} anchors")
    heads = []
    for i in range(count):
        sizes = [int(scales[i] * size) for size in layer.image(i).shape[2:]]
        scaled = [
            anchors[2 * index + j] / max(1, sizes[1 - j])
            for index in mask[i * boxes : (i + 1) * boxes]
            for j in (0, 1)
        ]
        heads.append(_decode(layer, layer.image(i), scaled, "sigmoid"))
    rows = layer.value(movement.concat(layer, heads, 1))
    product = _columns(layer, rows, _SCORES)
    objectness = _columns(layer, rows, _OBJECTNESS, _SCORES)
    # ncnn's score is 1 / (1 + e^-o (1 + e^-c)): not the product of both sigmoids o' c', but
    # o' c' / (o' c' + 1 - o').
    complement = layer.add("sub", layer.constant(1.0, "one"), objectness)
    return _select(layer, rows, layer.add("div", product, layer.add("add", product, complement)))


def _mask_index(value: float) -> int:
    """An index of a mask; some tools write the bits of a float32 as an integer."""
    if not math.isfinite(value):
        return -1
    if 2**29 < value < 2**31:
        value = struct.unpack("<f", struct.pack("<i", int(value)))[0]
    return int(value)


def _check(layer: NcnnLayer, boxes: int, anchors: list[float], min_anchors: int) -> None:
    classes = layer.param.integer("num_class", 20)
    layer.x()
    if not 1 <= boxes <= 2**10 or len(anchors) < 2 * min_anchors or classes < 1:
        raise layer.invalid(f"{boxes} boxes, {len(anchors)} anchors and {classes} classes")
    if not all(math.isfinite(anchor) for anchor in anchors):
        raise layer.invalid("its anchors must be finite")
    expected = boxes * (_SCORES + classes)
    for i in range(len(layer.inputs)):
        if layer.image(i).shape[1] != expected:
            raise layer.invalid(f"it reads {expected} channels, not {layer.image(i).shape[1]}")


def _decode(layer: NcnnLayer, x: Value, anchors: list[float], scores: str) -> Value:
    return layer.add("yolo", x, anchors=anchors, scores=scores, threshold=0.0)


def _columns(layer: NcnnLayer, rows: Value, begin: int, end: int = movement.END) -> Value:
    return movement.axis_slice(layer, rows, len(rows.shape) - 1, begin, end)


def _select(layer: NcnnLayer, rows: Value, scores: Value) -> Value:
    """Selects the best boxes; a box has its best class, and a better box of any class suppresses
    it. The result [1, boxes, 6] has rows of class (from 1), score and box; unused rows are 0.
    """
    half = layer.scaled(_columns(layer, rows, 2, _BOX), 0.5)
    center = _columns(layer, rows, 0, 2)
    corners = [layer.add(op, center, half) for op in ("sub", "add")]
    boxes = layer.add("concat", *corners, axis=2)
    best = layer.add("reduce_max", scores, axes=(2,))
    detections, indices, _ = layer.add_many(
        "multiclass_nms",
        boxes,
        layer.reshape(best, (1, 1, best.count)),
        outputs=3,
        background=-1,
        score_threshold=layer.param.real("confidence_threshold", 0.01),
        nms_threshold=layer.param.real("nms_threshold", 0.45),
    )
    # multiclass_nms returns class 0 for every box, and class -1 in unused rows.
    is_used = layer.shifted(_columns(layer, detections, 0, 1), 1.0)
    labels = layer.add("cast", layer.add("arg_max", scores, axis=2), to="f32")
    labels = layer.shifted(layer.reshape(labels, (labels.count, 1)), 1.0)
    flat_indices = layer.reshape(indices, (indices.count,))
    box_labels = layer.add("gather", labels, flat_indices, axis=0)
    table = layer.add("concat", box_labels, _columns(layer, detections, 1, 6), axis=1)
    table = layer.add("mul", table, is_used)
    return layer.reshape(table, (1, *table.shape))
