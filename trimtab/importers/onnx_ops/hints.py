"""The metadata that Ultralytics writes into ONNX files, as hints."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from trimtab.program import ModelHints

_YOLO = "letterbox(auto, 114) | rgb | scale(1/255)"
_CHOSEN = "yolov10"
_USES = {
    "detect": (_YOLO, ("yolov8", _CHOSEN, "rt_detr")),
    "pose": (_YOLO, ("yolov8_pose",)),
    "segment": (_YOLO, ("yolov8_seg",)),
    "classify": ("center_crop(auto, 0) | rgb | scale(1/255)", ("top_k",)),
}
"""The camera's steps and the heads of each task, which networks of several families have."""


def of_ultralytics(metadata: Mapping[str, str]) -> ModelHints:
    """The hints of a file's metadata; no more than the task if it is not known."""
    task = metadata.get("task", "")
    camera, heads = _USES.get(task, ("", ()))
    if not heads:
        return ModelHints(entry=f"task={task}"[:80] if task else "")
    args = _literal(metadata.get("args", ""))
    has_nms = isinstance(args, dict) and args.get("nms") is True
    ends = {"end2end": metadata.get("end2end", "").lower() == "true", "nms": has_nms}
    if any(ends.values()):  # the file ends with boxes
        heads = tuple(sorted(heads, key=lambda head: head != _CHOSEN))
    entry = ", ".join([f"task={task}", *(name for name, is_set in ends.items() if is_set)])
    return ModelHints(_labels(metadata), camera, heads, entry)


def _labels(metadata: Mapping[str, str]) -> tuple[str, ...]:
    """The names by number, of a dictionary or a list."""
    names = _literal(metadata.get("names", ""))
    try:
        is_known = isinstance(names, dict | list)
        return tuple(str(names[i]) for i in range(len(names))) if is_known else ()
    except KeyError:
        return ()


def _literal(text: str) -> Any:
    """The value that a text of Python's literals means; None if it is malformed."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
