"""The files preprocessor_config.json of transformers, with the steps of its image processors, and
config.json, with the network's class and the names of classes.

A network's input has a size, so the size of the file counts only where it says how a picture is
fit into it. https://huggingface.co/docs/transformers/main_classes/image_processor has the entries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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

# Pillow's numbers of its filters, which widen where pictures shrink.
_RESAMPLING = {0: "nearest", 2: "antialias", 3: "antialias_bicubic"}
_SHORTER = ("CLIP", "ChineseCLIP")
"""Processors of which a single number as the size is the shorter side, and not both sides."""

_DONE = frozenset((
    "do_resize", "size", "resample", "do_center_crop", "crop_size", "do_rescale",
    "rescale_factor", "offset", "do_normalize", "image_mean", "image_std", "do_convert_rgb",
))  # fmt: skip
_IDLE = frozenset((  # they do nothing to the pixels of one picture
    "image_processor_type", "feature_extractor_type", "processor_class", "format",
    "data_format", "device", "do_convert_annotations", "return_segmentation_masks",
    "input_data_format", "return_tensors", "use_fast", "default_to_square", "model_input_names",
    "_valid_processor_keys", "disable_grouping", "_processor_class", "size_divisor",
    "ensure_multiple_of", "keep_aspect_ratio", "pad_size", "pad_kwargs", "auto_map",
))  # fmt: skip

_HEADS = {
    "ObjectDetection": ("rt_detr",),
    "ImageClassification": ("top_k",),
    "SemanticSegmentation": ("arg_max",),
    "DepthEstimation": ("depth",),
}
"""Heads by what the class of the network is for, which its name ends with."""

_SOFTMAX = frozenset(("Detr", "TableTransformer", "Yolos"))
"""Families of detectors with a class for no object."""


def read(content: Mapping[str, Any]) -> ModelHints:
    """The steps."""
    if not any(key.startswith("do_") for key in content):
        return ModelHints()
    return camera_or_refusal(lambda: _steps(content))


def _steps(content: Mapping[str, Any]) -> list[str]:
    for key, value in content.items():
        if key not in _DONE | _IDLE and value not in (None, False):
            raise UnknownStepError(f"the step {key} is not known")
    steps = [_fit(content), "rgb"]
    if content.get("do_rescale", True):
        if content.get("offset"):
            raise UnknownStepError("the step offset is not known")
        factor = number(content.get("rescale_factor", 1 / 255), "rescale_factor")
        steps.append("scale(1/255)" if abs(factor * 255 - 1) < 1e-6 else f"scale({factor:.9g})")
    if content.get("do_normalize", True):
        steps += normalized(content.get("image_mean"), content.get("image_std"))
    return steps


def _fit(content: Mapping[str, Any]) -> str:
    """The step that makes pictures as large as the network's input."""
    size = content.get("size")
    resample = method(_RESAMPLING, content.get("resample"), "resample")
    if not content.get("do_resize", True):
        raise UnknownStepError("do_resize is false, and pictures have any size")
    kind = str(content.get("image_processor_type") or content.get("feature_extractor_type"))
    if content.get("do_center_crop"):
        is_shorter = isinstance(size, dict) or kind.startswith(_SHORTER)
        if not is_shorter or kind.startswith("Levit"):  # whose shorter side is 8/7 of its size
            raise UnknownStepError(f"{kind} crops the size {size!r}, whose step is not known")
        shorter = size.get("shortest_edge") if isinstance(size, dict) else size
        return f"center_crop(auto, {side(shorter, 'the shortest edge')}, {resample})"
    is_whole = isinstance(size, int) or (isinstance(size, dict) and {*size} == {"height", "width"})
    if is_whole and content.get("keep_aspect_ratio") and kind.startswith("DPT"):
        across, down = (
            side(size[name] if isinstance(size, dict) else size, name)
            for name in ("width", "height")
        )
        multiple = side(content.get("ensure_multiple_of", 1), "ensure_multiple_of")
        return f"resize_multiple({across}x{down}, {multiple}, {resample})"
    if not is_whole or content.get("keep_aspect_ratio"):
        raise UnknownStepError(f"it fits pictures into the size {size!r}, whose step is not known")
    return f"resize(auto, {resample})"


def read_network(content: Mapping[str, Any]) -> ModelHints:
    """The heads and the names of classes of config.json, whose `architectures` name the network."""
    names = content.get("architectures")
    name = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ""
    family, _, purpose = name.partition("For")
    heads = ("detr",) if family in _SOFTMAX else _HEADS.get(purpose, ())
    labels = by_number(content.get("id2label"))
    return ModelHints(labels, heads=heads, entry=f"architectures: {name}"[:80] if name else "")
