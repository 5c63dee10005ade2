"""Detection: prior boxes, decoding of boxes, non-maximum suppression."""

from __future__ import annotations

from trimtab.importers.paddle_ops.node import PaddleNode, Results, handles
from trimtab.importers.vocabulary.prior_boxes import PriorBoxes


@handles("prior_box")
def prior_box(node: PaddleNode) -> Results:
    """The prior boxes of a feature map in an image, a constant."""
    features, image = node.shape("Input"), node.shape("Image")
    if len(features) != 4 or len(image) != 4:
        raise node.invalid("its inputs must be [n, c, h, w]")
    boxes = PriorBoxes(
        min_sizes=node.reals("min_sizes"),
        max_sizes=node.reals("max_sizes"),
        ratios=node.reals("aspect_ratios", (1.0,)),
        flip=node.boolean("flip", False),
        clip=node.boolean("clip", False),
        variances=node.reals("variances", (0.1, 0.1, 0.2, 0.2)),
        steps=(node.real("step_h", 0.0), node.real("step_w", 0.0)),
        offset=node.real("offset", 0.5),
    )
    sizes = (features[2], features[3]), (image[2], image[3])
    array = boxes.make(node, *sizes).reshape(2, *sizes[0], len(boxes.shapes()), 4)
    if boxes.max_sizes and not node.boolean("min_max_aspect_ratios_order", False):
        # The square between both sizes is the last box, not the second.
        per_size = len(boxes.shapes()) // len(boxes.min_sizes)
        order = [0, *range(2, per_size), 1]
        starts = range(0, len(boxes.shapes()), per_size)
        array = array[:, :, :, [start + i for start in starts for i in order]]
    return {"Boxes": array[0], "Variances": array[1]}


@handles("box_coder")
def box_coder(node: PaddleNode) -> Results:
    """Decodes offsets to boxes; encoding is for training only."""
    code = node.text("code_type", "encode_center_size")
    if code != "decode_center_size":
        raise node.unsupported(f"its code_type is {code}")
    operands = [node.x("PriorBox"), node.x("TargetBox")]
    if node.has("PriorBoxVar"):
        operands.append(node.x("PriorBoxVar"))
    return node.add(
        "box_coder",
        *operands,
        variance=() if node.has("PriorBoxVar") else node.reals("variance"),
        normalized=node.boolean("box_normalized", True),
        axis=node.integer("axis", 0),
    )


@handles("yolo_box")
def yolo_box(node: PaddleNode) -> Results:
    """A head of YOLOv3; the sizes of the original images are an input of the network."""
    boxes, scores = node.add_many(
        "yolo_box",
        node.image("X"),
        node.x("ImgSize"),
        outputs=2,
        anchors=node.reals("anchors"),
        classes=node.integer("class_num"),
        threshold=node.real("conf_thresh"),
        stride=node.integer("downsample_ratio"),
        clip=node.boolean("clip_bbox", True),
        scale=node.real("scale_x_y", 1.0),
        iou_aware=node.boolean("iou_aware", False),
        iou_aware_factor=node.real("iou_aware_factor", 0.5),
    )
    return {"Boxes": boxes, "Scores": scores}


@handles("multiclass_nms", "multiclass_nms2", "multiclass_nms3")
def multiclass_nms(node: PaddleNode) -> Results:
    """Non-maximum suppression; the results have the maximum number of rows, unused rows are -1,
    where Paddle's results have one row per detection.
    """
    if node.has("RoisNum"):
        raise node.unsupported("its boxes belong to regions")
    y, indices, counts = node.add_many(
        "multiclass_nms",
        node.x("BBoxes"),
        node.x("Scores"),
        outputs=3,
        background=node.integer("background_label", 0),
        score_threshold=node.real("score_threshold"),
        nms_threshold=node.real("nms_threshold", 0.3),
        nms_top_k=max(-1, node.integer("nms_top_k")),
        nms_eta=node.real("nms_eta", 1.0),
        keep_top_k=max(-1, node.integer("keep_top_k")),
        normalized=node.boolean("normalized", True),
    )
    return {"Out": y, "Index": indices, "NmsRoisNum": counts}
