"""Test cases of single Paddle operators: interpolation, shapes, detection."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.importers.caffe_writer import random
from tests.importers.paddle_cases import IMAGE, single
from tests.importers.paddle_writer import Net


def _resizes() -> dict[str, Net]:
    result = {}
    for kind in ("nearest", "bilinear"):
        for corners, mode in ((True, 1), (False, 0), (False, 1)):
            common: dict[str, Any] = {
                "interp_method": kind,
                "align_corners": corners,
                "align_mode": mode,
                "data_layout": "NCHW",
            }
            name = f"{kind}_{corners}_{mode}"
            for out in ((18, 14), (5, 20), (1, 1)):
                sizes: dict[str, Any] = {"out_h": out[0], "out_w": out[1]}
                result[f"{name}_{out[0]}"] = single(
                    f"{kind}_interp_v2", {"X": IMAGE}, **common, **sizes, scale=[]
                )
            result[f"{name}_scale"] = single(
                f"{kind}_interp_v2", {"X": IMAGE}, **common, out_h=-1, out_w=-1, scale=[1.7, 2.3]
            )
            result[f"{name}_old"] = single(
                f"{kind}_interp", {"X": IMAGE}, **common, out_h=-1, out_w=-1, scale=1.7
            )
    return result


def _shapes() -> dict[str, Net]:
    """Computed shapes, as in programs for images of any size."""
    net = Net({"X": IMAGE, "Z": IMAGE[:, :, :4, :3].copy()}, fetches=["y"])
    net.add("shape", {"Input": "X"}, {"Out": "s"})
    net.add("slice", {"Input": "s"}, {"Out": "h"}, axes=[0], starts=[2], ends=[4])
    net.add("cast", {"X": "h"}, {"Out": "h2"}, in_dtype=2, out_dtype=2)
    net.add(
        "bilinear_interp_v2",
        {"X": "Z", "OutSize": "h2"},
        {"Out": "up"},
        align_corners=False,
        align_mode=0,
        interp_method="bilinear",
        data_layout="NCHW",
        out_h=-1,
        out_w=-1,
        scale=[],
    )
    net.add("elementwise_add", {"X": "up", "Y": "X"}, {"Out": "y"}, axis=-1)
    flat = Net({"X": IMAGE}, fetches=["y"])
    flat.add("shape", {"Input": "X"}, {"Out": "s"})
    flat.add("slice", {"Input": "s"}, {"Out": "n"}, axes=[0], starts=[0], ends=[1])
    flat.add("fill_constant", {}, {"Out": "rest"}, shape=[1], value=-1.0, dtype=2, str_value="-1")
    flat.add("concat", {"X": "n rest"}, {"Out": "target"}, axis=0)
    flat.add("reshape2", {"X": "X", "Shape": "target"}, {"Out": "y", "XShape": "xs"}, shape=[0, 1])
    return {"shape_for_resize": net, "shape_for_reshape": flat}


def _detections() -> dict[str, Net]:
    result = {}
    features, image = {"Input": random(1, 4, 3, 5)}, {"Image": random(1, 3, 60, 100)}
    forms: dict[str, dict[str, Any]] = {
        "plain": {"min_sizes": [10.0]},
        "sizes": {"min_sizes": [10.0, 20.0], "max_sizes": [20.0, 30.0]},
        "ratios": {
            "min_sizes": [10.0],
            "max_sizes": [20.0],
            "aspect_ratios": [1.0, 2.0, 3.0],
            "flip": True,
            "clip": True,
        },
        "ordered": {
            "min_sizes": [10.0, 20.0],
            "max_sizes": [20.0, 30.0],
            "aspect_ratios": [2.0],
            "min_max_aspect_ratios_order": True,
            "step_w": 10.0,
            "step_h": 15.0,
            "offset": 0.3,
        },
    }
    for name, form in forms.items():
        net = Net({**features, **image}, fetches=["b", "v"])
        base = {
            "variances": [0.1, 0.1, 0.2, 0.2],
            "max_sizes": [],
            "aspect_ratios": [1.0],
            "flip": False,
            "clip": False,
            "step_w": 0.0,
            "step_h": 0.0,
            "offset": 0.5,
        }
        base = {k: v for k, v in {**base, **form}.items() if v != []}
        slots = {"Input": "Input", "Image": "Image"}
        result[f"prior_box_{name}"] = net.add(
            "prior_box", slots, {"Boxes": "b", "Variances": "v"}, **base
        )
    corner = random(7, 2, seed=1, low=0, high=0.5)
    prior = np.concatenate([corner, corner + random(7, 2, seed=2, low=0.1, high=0.5)], 1)
    target, variance = random(7, 7, 4, seed=3), random(7, 4, seed=4, low=0.1, high=0.3)
    code: dict[str, Any] = {"code_type": "decode_center_size"}
    for axis in (0, 1):
        for normalized in (True, False):
            result[f"box_coder_{axis}_{normalized}"] = single(
                "box_coder",
                {"TargetBox": target, "PriorBox": prior, "PriorBoxVar": variance},
                "OutputBox",
                box_normalized=normalized,
                axis=axis,
                **code,
            )
    result["box_coder_attribute"] = single(
        "box_coder",
        {"TargetBox": target, "PriorBox": prior},
        "OutputBox",
        variance=[0.1, 0.1, 0.2, 0.2],
        box_normalized=True,
        axis=0,
        **code,
    )
    yolo: list[dict[str, Any]] = [
        {},
        {"clip_bbox": False, "scale_x_y": 1.2},
        {"iou_aware": True, "iou_aware_factor": 0.4},
    ]
    sizes = np.array([[90, 120], [64, 50]], np.int32)
    for i, form in enumerate(yolo):
        channels = 2 * (5 + 3) + (2 if form.get("iou_aware") else 0)
        head = random(2, channels, 3, 4, seed=5, low=-3, high=3)
        net = Net({"X": head, "ImgSize": sizes}, fetches=["b", "s"])
        base = {"anchors": [10, 13, 16, 30], "class_num": 3, "conf_thresh": 0.3}
        result[f"yolo_box_{i}"] = net.add(
            "yolo_box",
            {"X": "X", "ImgSize": "ImgSize"},
            {"Boxes": "b", "Scores": "s"},
            **base,
            downsample_ratio=32,
            **form,
        )
    return result | _suppressions()


def _suppressions() -> dict[str, Net]:
    result = {}
    corner = random(2, 40, 2, seed=6, low=0, high=0.8)
    boxes = np.concatenate([corner, corner + random(2, 40, 2, seed=7, low=0.1, high=0.4)], 2)
    forms: list[dict[str, Any]] = [
        {},
        {"keep_top_k": 6},
        {"nms_top_k": 10, "background_label": -1},
        {"nms_threshold": 0.8, "nms_eta": 0.9},
        {"normalized": False},
    ]
    for i, form in enumerate(forms):
        base = {
            "background_label": 0,
            "score_threshold": 0.3,
            "nms_top_k": 30,
            "nms_threshold": 0.3,
            "nms_eta": 1.0,
            "keep_top_k": 20,
            "normalized": True,
        }
        scale = 1.0 if form.get("normalized", True) else 20.0
        feeds = {
            "BBoxes": (boxes * scale).astype(np.float32),
            "Scores": random(2, 4, 40, seed=8, low=0, high=1),
        }
        net = Net(feeds, fetches=["y", "i", "n"])
        result[f"multiclass_nms_{i}"] = net.add(
            "multiclass_nms3",
            {"BBoxes": "BBoxes", "Scores": "Scores"},
            {"Out": "y", "Index": "i", "NmsRoisNum": "n"},
            **{**base, **form},
        )
    return result


CASES: dict[str, Net] = {**_resizes(), **_shapes(), **_detections()}
