"""The file config.json of timm: `pretrained_cfg` has the steps of evaluation, and the file the
names of classes. Others of that name are those of transformers.

https://huggingface.co/docs/timm/reference/data has the entries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trimtab.importers.beside import transformers
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

_RESAMPLING = {  # of Pillow
    "nearest": "nearest",
    "bilinear": "antialias",
    "bicubic": "antialias_bicubic",
}


def read(content: Mapping[str, Any]) -> ModelHints:
    """The steps, the head and the names."""
    facts = content.get("pretrained_cfg")
    if not isinstance(facts, dict):
        return transformers.read_network(content)
    labels = by_number(content.get("label_names"))
    hints = camera_or_refusal(lambda: _steps(facts))
    return replace(hints, labels=labels, heads=("top_k",), entry="config.json has a pretrained_cfg")


def _steps(facts: Mapping[str, Any]) -> list[str]:
    if facts.get("crop_mode", "center") != "center":
        raise UnknownStepError(f"crop_mode is {facts['crop_mode']!r}, and cameras crop the center")
    resample = method(_RESAMPLING, facts.get("interpolation", "bicubic"), "interpolation")
    size, share = facts.get("input_size"), number(facts.get("crop_pct", 0.875), "crop_pct")
    if not isinstance(size, list) or len(size) != 3 or size[1] != size[2]:
        raise UnknownStepError(
            f"input_size is {size!r}, not that of a square picture of 3 channels"
        )
    if not 0 < share <= 1:
        raise UnknownStepError(f"crop_pct is {share!r}, not a share")
    shorter = math.floor(side(size[1], "input_size") / share)
    fit = f"center_crop(auto, {shorter}, {resample})"
    return [fit, "rgb", "scale(1/255)", *normalized(facts.get("mean"), facts.get("std"))]
