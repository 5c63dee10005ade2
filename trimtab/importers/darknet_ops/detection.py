"""Detection heads: yolo (YOLOv3 and later), Gaussian_yolo, region (YOLOv2), detection (YOLOv1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers.darknet_ops.layer import DarknetLayer, handles
from trimtab.importers.vocabulary.activation import above
from trimtab.importers.vocabulary.movement import gathered, split

# OpenCV's values: lower scores become 0; a region layer also suppresses overlapping boxes.
_YOLO_THRESHOLD, _REGION_THRESHOLD, _REGION_OVERLAP = 0.2, 0.001, 0.4

# x, y, width and height, each with its uncertainty, and objectness.
_GAUSSIAN_VALUES = 9


def _decode(
    layer: DarknetLayer, anchors: list[float], threshold: float, **attributes: Any
) -> Value:
    """Decodes boxes to [boxes, values] for one image, [n, boxes, values] for several."""
    _check_channels(layer, len(anchors) // 2, 5)
    threshold = layer.options.real("thresh", threshold)
    y = layer.add("yolo", layer.image(), anchors=anchors, threshold=threshold, **attributes)
    return _one_or_several(layer, y)


def _check_channels(layer: DarknetLayer, anchors: int, values: int) -> None:
    """Rejects an input without `values` and a score per class for every anchor."""
    classes = layer.options.integer("classes", 20)
    expected = anchors * (values + classes)
    if classes < 0 or layer.image().shape[1] != expected:
        raise layer.invalid(
            f"it has {anchors} anchors and {classes} classes: it reads {expected} channels, not"
            f" {layer.image().shape[1]}"
        )


def _one_or_several(layer: DarknetLayer, y: Value) -> Value:
    return layer.reshape(y, y.shape[1:]) if y.shape[0] == 1 else y


@handles("yolo")
def yolo(layer: DarknetLayer) -> Value:
    """Anchors are in pixels of the image; the mask selects those of this head."""
    # Scaled YOLOv4 activates all values in the preceding convolution.
    activated = bool(layer.options.integer("new_coords", 0))
    return _decode(
        layer,
        _masked_anchors(layer),
        _YOLO_THRESHOLD,
        scale=layer.options.real("scale_x_y", 1.0),
        new_coords=activated,
        scores="none" if activated else "sigmoid",
    )


def _masked_anchors(layer: DarknetLayer) -> list[float]:
    """Width and height of the anchors of a head, relative to the image."""
    anchors = layer.options.reals("anchors")
    mask = layer.options.integers("mask") or list(range(layer.positive("num", 1)))
    if any(not 0 <= i < len(anchors) // 2 for i in mask):
        raise layer.invalid(f"its mask {mask} does not fit {len(anchors) // 2} anchors")
    height, width = layer.input_size
    return [v for i in mask for v in (anchors[2 * i] / width, anchors[2 * i + 1] / height)]


@handles("gaussian_yolo")
def gaussian_yolo(layer: DarknetLayer) -> Value:
    """A yolo head with an uncertainty beside each of x, y, width and height; scores are multiplied
    by 1 - the mean of the four (Choi et al. 2019).
    """
    if layer.options.text("yolo_point", "center") != "center":
        raise layer.unsupported("its yolo_point is not center")
    anchors = _masked_anchors(layer)
    count = len(anchors) // 2
    _check_channels(layer, count, _GAUSSIAN_VALUES)
    n, channels, h, w = layer.image().shape
    places = np.arange(channels).reshape(count, -1)
    means, deviations = places[:, :8:2], places[:, 1:8:2]
    plain = np.concatenate([means, places[:, 8:]], 1)
    threshold = layer.options.real("thresh", _YOLO_THRESHOLD)
    y = layer.add(
        "yolo",
        _channels(layer, plain),
        anchors=anchors,
        threshold=threshold,
        scale=layer.options.real("scale_x_y", 1.0),
    )
    doubt = layer.reshape(_channels(layer, deviations), (n, count, 4, h * w))
    doubt = layer.add("reduce_mean", layer.add("sigmoid", doubt), axes=(2,), keep_dims=False)
    sure = layer.scale_and_shift(layer.transpose(doubt, (0, 2, 1)), -1.0, 1.0)
    boxes, scores = split(layer, y, 2, (5, y.shape[2] - 5))
    scores = layer.add("mul", scores, layer.reshape(sure, (n, y.shape[1], 1)))
    scores = layer.add("mul", scores, above(layer, scores, threshold))
    return _one_or_several(layer, layer.add("concat", boxes, scores, axis=2))


def _channels(layer: DarknetLayer, indices: Array) -> Value:
    """The channels of the input at these places."""
    return layer.value(gathered(layer, layer.image(), indices.reshape(-1), 1))


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
