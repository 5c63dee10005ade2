"""Detection heads: yolo (YOLOv3 and later), region (YOLOv2), detection (YOLOv1)."""

from __future__ import annotations

from typing import Any

from trimtab.importers._graph import Value
from trimtab.importers.darknet_ops.layer import DarknetLayer, handles

# OpenCV's values: lower scores become 0; a region layer also suppresses overlapping boxes.
_YOLO_THRESHOLD, _REGION_THRESHOLD, _REGION_OVERLAP = 0.2, 0.001, 0.4


def _decode(
    layer: DarknetLayer, anchors: list[float], threshold: float, **attributes: Any
) -> Value:
    """Decodes boxes to [boxes, values] for one image, [n, boxes, values] for several."""
    classes = layer.options.integer("classes", 20)
    expected = len(anchors) // 2 * (5 + classes)
    if classes < 0 or layer.image().shape[1] != expected:
        raise layer.invalid(
            f"it has {len(anchors) // 2} anchors and {classes} classes: it reads"
            f" {expected} channels, not {layer.image().shape[1]}"
        )
    threshold = layer.options.real("thresh", threshold)
    y = layer.add("yolo", layer.image(), anchors=anchors, threshold=threshold, **attributes)
    return layer.reshape(y, y.shape[1:]) if y.shape[0] == 1 else y


@handles("yolo")
def yolo(layer: DarknetLayer) -> Value:
    """Anchors are in pixels of the image; the mask selects those of this head."""
    anchors = layer.options.reals("anchors")
    mask = layer.options.integers("mask") or list(range(layer.positive("num", 1)))
    if any(not 0 <= i < len(anchors) // 2 for i in mask):
        raise layer.invalid(f"its mask {mask} does not fit {len(anchors) // 2} anchors")
    height, width = layer.input_size
    scaled = [v for i in mask for v in (anchors[2 * i] / width, anchors[2 * i + 1] / height)]
    # Scaled YOLOv4 activates all values in the preceding convolution.
    activated = bool(layer.options.integer("new_coords", 0))
    return _decode(
        layer,
        scaled,
        _YOLO_THRESHOLD,
        scale=layer.options.real("scale_x_y", 1.0),
        new_coords=activated,
        scores="none" if activated else "sigmoid",
    )


@handles("region")
def region(layer: DarknetLayer) -> Value:
    """Anchors are in cells of the head."""
    layer.reject("tree", "background", "rescore_tree")
    if layer.options.integer("coords", 4) != 4:
        raise layer.unsupported("its coords are not 4")
    anchors = layer.options.reals("anchors")
    count = layer.positive("num", 1)
    if len(anchors) < 2 * count:
        raise layer.invalid(f"it has {len(anchors)} numbers for {count} anchors")
    height, width = layer.image().shape[2:]
    scaled = [
        v for i in range(count) for v in (anchors[2 * i] / width, anchors[2 * i + 1] / height)
    ]
    scores = "softmax" if layer.options.integer("softmax", 0) else "sigmoid"
    return _decode(layer, scaled, _REGION_THRESHOLD, scores=scores, nms_threshold=_REGION_OVERLAP)


@handles("detection")
def detection(layer: DarknetLayer) -> Value:
    """The input itself; Darknet decodes it outside of the network."""
    layer.reject("softmax")
    return layer.image()
