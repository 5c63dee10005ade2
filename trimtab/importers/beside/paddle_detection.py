"""The file infer_cfg.yml of PaddleDetection: the steps of `Preprocess` and the names of classes.

The steps are those of deploy/python/preprocess.py there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from trimtab.importers.beside.steps import (
    UnknownStepError,
    by_number,
    camera_or_refusal,
    method,
    normalized,
)
from trimtab.program import ModelHints

_RESAMPLING = {0: "nearest, asymmetric", 1: "bilinear", 2: "bicubic", 3: "area"}  # OpenCV's numbers


def read(content: Mapping[str, Any]) -> ModelHints:
    """The steps and the names."""
    ops = content.get("Preprocess")
    if not isinstance(ops, Sequence) or isinstance(ops, str):
        return ModelHints()
    hints = camera_or_refusal(lambda: _all_steps(ops))
    return replace(hints, labels=by_number(content.get("label_list")))


def _all_steps(ops: Sequence[Any]) -> list[str]:
    steps: list[str] = []
    for op in ops:
        if not isinstance(op, dict):
            raise UnknownStepError(f"the step {op!r} is not known")
        steps += _steps(op)
    if not steps or not steps[0].startswith("resize"):
        raise UnknownStepError("its first step does not resize pictures")
    return [steps[0], "rgb", *steps[1:]]


def _steps(op: Mapping[str, Any]) -> list[str]:
    kind = op.get("type")
    if kind == "Permute":
        return []
    if kind == "Resize":
        if op.get("keep_ratio"):
            raise UnknownStepError("Resize keeps the ratio, whose step is not known")
        return [f"resize(auto, {method(_RESAMPLING, op.get('interp', 1), 'interp of Resize')})"]
    if kind == "NormalizeImage":
        scale = ["scale(1/255)"] if op.get("is_scale", True) else []
        if op.get("norm_type", "mean_std") == "none":
            return scale
        if op.get("norm_type", "mean_std") != "mean_std":
            raise UnknownStepError(f"norm_type is {op['norm_type']!r}, and is not known")
        return scale + normalized(op.get("mean"), op.get("std"))
    raise UnknownStepError(f"the step {kind!r} is not known")
