"""The custom operators that decode the boxes of an SSD and the persons of PoseNet."""

from __future__ import annotations

from typing import Any

import numpy as np

from trimtab.importers._graph import Value
from trimtab.importers.tflite_ops.forms import Results
from trimtab.importers.tflite_ops.node import TfliteNode, handles

_PERSON_RESULTS = 4  # without masks
_SWAPPED = np.array([1, 0, 3, 2])  # y before x, as TFLite has it, and back


@handles("custom TFLite_Detection_PostProcess")
def detection_post_process(node: TfliteNode) -> Results:
    """Both kinds of suppression, with one class for each box. Anchors must be constant. Unused rows
    are 0.
    """
    options = node.parameters()
    rows = int(options["max_detections"])
    if options.get("max_classes_per_detection", 1) != 1 and not options.get("use_regular_nms"):
        raise node.unsupported("a box has several classes: its max_classes_per_detection is not 1")
    boxes, scores = node.x(0), node.x(1)
    anchors = np.asarray(node.numbers(2, "anchors"), np.float32)
    classes = int(options["num_classes"])
    is_regular = bool(options.get("use_regular_nms", False))
    decoded = node.add_many(
        "decode_boxes",
        boxes,
        scores,
        node.value(np.ascontiguousarray(anchors[:, _SWAPPED])),
        outputs=3,
        parts=2,
        box="prior",
        y_first=True,
        classes=classes,
        score_channel=scores.shape[-1] - classes,
        multi_label=is_regular,
        # TFLite keeps a box whose score equals the threshold.
        threshold=float(
            np.nextafter(np.float32(options["nms_score_threshold"]), np.float32(-np.inf))
        ),
        candidates=anchors.shape[0] * classes,
        variances=[1 / float(options[f"{name}_scale"]) for name in "xywh"],
    )
    y, count, _ = node.add_many(
        "suppress_boxes",
        *decoded,
        outputs=3,
        iou_threshold=float(options["nms_iou_threshold"]),
        class_agnostic=not is_regular,
        max_boxes=rows,
        max_per_class=int(options.get("detections_per_class", 100)) if is_regular else -1,
    )
    if y.shape[1] < rows:
        node.check_elements((1, rows, y.shape[2]))
        zeros = node.value(np.zeros((1, rows - y.shape[1], y.shape[2]), np.float32))
        y = node.add("concat", y, zeros, axis=1)

    return (
        _columns(node, y, _SWAPPED, (1, rows, 4)),
        _columns(node, y, [5], (1, rows)),
        _columns(node, y, [4], (1, rows)),
        node.add("cast", count, to="f32"),
    )


@handles("custom PosenetDecoder", "custom PosenetDecoderOp")
def posenet_decoder(node: TfliteNode) -> Results:
    """Coral's operator for several persons. Unused rows are 0."""
    options = node.parameters()
    if len(node.op.outputs) > _PERSON_RESULTS:
        raise node.unsupported("it computes the masks of persons, too")
    boxes, count, keypoints = node.add_many(
        "decode_poses",
        *(node.image(i) for i in range(3)),
        outputs=3,
        stride=float(options["stride"]),
        threshold=float(options["score_threshold"]),
        radius=float(options["nms_radius"]),
        max_persons=int(options["max_detections"]),
    )
    images, persons, values = keypoints.shape
    points = values // 3
    keypoints = node.reshape(keypoints, (images, persons, points, 3))

    return (
        _columns(node, keypoints, [1, 0], (images, persons, points, 2)),
        _columns(node, keypoints, [2], (images, persons, points)),
        _columns(node, boxes, [4], (images, persons)),
        node.add("cast", count, to="f32"),
    )


def _columns(node: TfliteNode, x: Value, indices: Any, shape: tuple[int, ...]) -> Value:
    """These elements of the last dimension of `x`, with the shape of a result."""
    axis = len(x.shape) - 1
    picked = node.add("gather", x, node.value(np.asarray(indices, np.int64)), axis=axis)
    return node.reshape(picked, shape)
