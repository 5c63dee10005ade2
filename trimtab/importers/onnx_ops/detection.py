"""Non-maximum suppression."""

from __future__ import annotations

from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops.node import OnnxNode, handles


@handles("NonMaxSuppression")
def non_max_suppression(node: OnnxNode) -> Results:
    """The result has the maximum number of rows; unused rows, at the end, are -1, where ONNX's
    result has one row per selected box. Limits and thresholds must be constant, and no node may
    read the result: it would take -1 for the last box.
    """
    if node.feeds_nodes(0):
        raise node.unsupported(
            "other nodes read the boxes that it selects, whose number is not constant; "
            "load the network up to its boxes and scores, and attach a head (docs/boxes.md)"
        )
    max_boxes = int(node.number(2, "max_output_boxes_per_class")) if node.has(2) else 0
    if max_boxes < 1:
        raise node.unsupported("it selects no boxes: its max_output_boxes_per_class is 0")
    thresholds = {}
    if node.has(3):
        thresholds["iou_threshold"] = node.number(3, "iou_threshold")
    if node.has(4):
        thresholds["score_threshold"] = node.number(4, "score_threshold")
    y, _ = node.add_many(
        "non_max_suppression",
        node.x(0),
        node.x(1),
        outputs=2,
        max_boxes=max_boxes,
        center_size=node.boolean("center_point_box", False),
        **thresholds,
    )
    return y
