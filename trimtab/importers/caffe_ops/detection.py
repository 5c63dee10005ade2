"""PriorBox and DetectionOutput (SSD)."""

from __future__ import annotations

from trimtab.importers._layer import Results
from trimtab.importers.caffe_ops.contract import takes
from trimtab.importers.caffe_ops.layer import CaffeLayer, handles
from trimtab.importers.caffe_ops.prototxt import Message
from trimtab.importers.vocabulary.prior_boxes import PriorBoxes


def _pair(param: Message, both: str, stem: str) -> tuple[float, float]:
    value = param.real(both, 0.0)
    return param.real(f"{stem}_h", value), param.real(f"{stem}_w", value)


@handles("PriorBox")
@takes((2, 2))
def prior_box(layer: CaffeLayer) -> Results:
    """Prior boxes of a feature map (first operand) in an image (second operand)."""
    param = layer.param
    features, image = layer.image(0).shape[2:], layer.image(1).shape[2:]
    height, width = (int(size) for size in _pair(param, "img_size", "img"))
    boxes = PriorBoxes(
        min_sizes=param.reals("min_size"),
        max_sizes=param.reals("max_size"),
        ratios=param.reals("aspect_ratio"),
        flip=param.boolean("flip", True),
        clip=param.boolean("clip", False),
        variances=param.reals("variance"),
        steps=_pair(param, "step", "step"),
        offset=param.real("offset", 0.5),
    )
    sizes = (features[0], features[1]), (height or image[0], width or image[1])
    return layer.constant(boxes.make(layer, *sizes), "boxes")


@handles("DetectionOutput")
@takes((3, 4))
def detection_output(layer: CaffeLayer) -> Results:
    """Decodes locations, scores and priors to rows of image, class, score and box."""
    param = layer.param
    for name in ("save_output_param", "visualize", "visualize_threshold", "save_file"):
        param.read.add(name)
    suppression = param.message("nms_param")
    codes = ("", "CORNER", "CENTER_SIZE", "CORNER_SIZE")
    return layer.add(
        "detection_output",
        *layer.xs(),
        classes=param.integer("num_classes", 0),
        background=param.integer("background_label_id", 0),
        share_location=param.boolean("share_location", True),
        code_type=param.choice("code_type", codes, "CORNER").lower(),
        variance_encoded=param.boolean("variance_encoded_in_target", False),
        nms_threshold=suppression.real("nms_threshold", 0.3),
        nms_top_k=_limit(suppression.integer("top_k", -1)),
        nms_eta=suppression.real("eta", 1.0),
        keep_top_k=_limit(param.integer("keep_top_k", -1)),
        **(
            {"confidence_threshold": param.real("confidence_threshold", 0.0)}
            if param.has("confidence_threshold")
            else {}
        ),
    )


def _limit(count: int) -> int:
    """A limit for the engine: any negative number means that there is none."""
    return max(count, -1)
