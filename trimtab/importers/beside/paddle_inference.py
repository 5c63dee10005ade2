"""The file inference.yml of PaddleOCR and PaddleX: the steps of `PreProcess`, and the head and the
names of `PostProcess`. Of detectors, it is infer_cfg.yml under another name.

The steps are those of ppocr/data/imaug and of ppcls/data/preprocess there. A detector of text has
none: sides of its input are those of each picture, as multiples of 32 (DetResizeForTest).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from trimtab.importers.beside import paddle_detection
from trimtab.importers.beside.steps import (
    UnknownStepError,
    by_number,
    camera_or_refusal,
    method,
    normalized,
    number,
    side,
)
from trimtab.program import ModelHints

_RESAMPLING = {  # of OpenCV
    "bilinear": "bilinear",
    "nearest": "nearest, asymmetric",
    "bicubic": "bicubic",
    "area": "area",
}
_LABELS = ("MultiLabelEncode", "KeepKeys", "ToCHWImage")
"""Steps of training, or of the order of dimensions."""


def read(content: Mapping[str, Any]) -> ModelHints:
    """The head and the names; the steps of a detector, and of others why there are none."""
    if "Preprocess" in content:
        return paddle_detection.read(content)
    before, after = content.get("PreProcess"), content.get("PostProcess")
    ops = before.get("transform_ops") if isinstance(before, dict) else None
    ops = ops if isinstance(ops, list) else []
    hints = camera_or_refusal(lambda: _steps(ops)) if ops else ModelHints()
    if not isinstance(after, dict):
        return hints
    if after.get("name") == "CTCLabelDecode":
        characters = by_number(after.get("character_dict"))
        labels = ("blank", *characters, " ") if characters else ()  # a space is always added
        return replace(hints, heads=("ctc",), labels=labels, entry="PostProcess: CTCLabelDecode")
    if isinstance(facts := after.get("Topk"), dict):
        labels = by_number(facts.get("label_list"))
        return replace(hints, heads=("top_k",), labels=labels, entry="PostProcess: Topk")
    return replace(hints, entry=f"PostProcess: {after.get('name', '')}"[:80])


def _steps(ops: Sequence[Any]) -> list[str]:
    """The steps of a classifier, or of a reader of lines."""
    fits, crops = list[str](), 0
    channels, values = "rgb", list[str]()
    for op in ops:
        if not isinstance(op, dict) or len(op) != 1:
            raise UnknownStepError(f"the step {op!r} is not known")
        ((name, facts),) = op.items()
        facts = facts if isinstance(facts, dict) else {}
        if name == "DecodeImage":
            mode = "RGB" if facts.get("to_rgb", True) else "BGR"
            channels = str(facts.get("img_mode", mode)).lower()
        elif name == "ResizeImage":
            fits.append(_resize(facts))
        elif name == "CropImage" and fits:
            crops += 1
        elif name == "RecResizeImg":
            # The rest is 0 after (v / 255 - 0.5) / 0.5.
            fits.append("line(auto, 127.5)")
            values += ["scale(1/255)", "mean(0.5)", "std(0.5)"]
        elif name == "NormalizeImage":
            scale = number(facts.get("scale", 1 / 255), "scale")
            values += [f"scale({scale:.9g})", *normalized(facts.get("mean"), facts.get("std"))]
        elif name not in _LABELS:
            raise UnknownStepError(f"the step {name} is not known")
    if len(fits) != 1 or crops != fits[0].startswith("center_crop"):
        raise UnknownStepError("its steps do not make all pictures as large as the input")
    if channels not in ("rgb", "bgr"):
        raise UnknownStepError(f"img_mode is {channels!r}, not RGB or BGR")
    return [fits[0], channels, *values]


def _resize(facts: Mapping[str, Any]) -> str:
    resample = method(
        _RESAMPLING, facts.get("interpolation") or "bilinear", "interpolation of ResizeImage"
    )
    if facts.get("backend", "cv2") != "cv2":
        raise UnknownStepError(f"the backend of ResizeImage is {facts['backend']!r}")
    if shorter := facts.get("resize_short"):
        return f"center_crop(auto, {side(shorter, 'resize_short')}, {resample}, rounded)"
    return f"resize(auto, {resample})"
