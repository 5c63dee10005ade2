"""The file inference.yml of PaddleOCR and PaddleX: the head and the names of `PostProcess`. Of
detectors, it is infer_cfg.yml under another name, which also has the steps.

Other networks' resizes depend on each picture in ways that no camera's step does: sides are those
of a multiple of 32 (DetResizeForTest), or narrow pictures are padded and wide ones stretched
(RecResizeImg).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trimtab.importers.beside import paddle_detection
from trimtab.importers.beside.steps import by_number
from trimtab.program import ModelHints


def read(content: Mapping[str, Any]) -> ModelHints:
    """The head and the names; the steps of a detector, and of others why there are none."""
    if "Preprocess" in content:
        return paddle_detection.read(content)
    before, after = content.get("PreProcess"), content.get("PostProcess")
    ops = before.get("transform_ops") if isinstance(before, dict) else None
    ops = ops if isinstance(ops, list) else []
    names = [str(name) for op in ops if isinstance(op, dict) for name in op]
    resizes = [name for name in names if "Resize" in name]
    hints = ModelHints(refusal=f"the step {resizes[0]} is not known" if resizes else "")
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
