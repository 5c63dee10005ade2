"""Non-maximum suppression."""

from __future__ import annotations

from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops.node import OnnxNode, handles


@handles("NonMaxSuppression")
def non_max_suppression(node: OnnxNode) -> Results:
    """Limits and thresholds must be constant. As an output of the network, the result has the
    maximum number of rows; unused rows, at the end, are -1, where ONNX's result has one row per
    selected box. Other nodes read the selected boxes alone.
    """
    limits = node.ints(2, "max_output_boxes_per_class") if node.has(2) else (0,)
    max_boxes = min(*limits, 2**31 - 1)
    if max_boxes < 1:
        raise node.unsupported("it selects no boxes: its max_output_boxes_per_class is 0")
    thresholds = {}
    if node.has(3):
        thresholds["iou_threshold"] = node.number(3, "iou_threshold")
    if node.has(4):
        thresholds["score_threshold"] = node.number(4, "score_threshold")
    y, count = node.add_many(
        "non_max_suppression",
        node.x(0),
        node.x(1),
        outputs=2,
        max_boxes=max_boxes,
        center_size=node.boolean("center_point_box", False),
        **thresholds,
    )
    return node.add("take_rows", y, count) if node.feeds_nodes(0) else y
