"""The metadata that Ultralytics writes into ONNX files, as hints."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from trimtab.program import ModelHints

_YOLO = "letterbox(auto, 114) | rgb | scale(1/255)"
_USES = {
    "detect": (_YOLO, "yolov8"),
    "pose": (_YOLO, "yolov8_pose"),
    "segment": (_YOLO, "yolov8_seg"),
    "classify": ("center_crop(auto, 0) | rgb | scale(1/255)", "top_k"),
}
"""The camera's steps and the head of each task."""


def of_ultralytics(metadata: Mapping[str, str]) -> ModelHints:
    """The hints of a file's metadata; none if its `task` is not known, or `names` is malformed."""
    camera, head = _USES.get(metadata.get("task", ""), ("", ""))
    if not head:
        return ModelHints()
    ends_with_boxes = metadata.get("end2end", "").lower() == "true"
    try:
        names = ast.literal_eval(metadata.get("names", "{}"))
        labels = tuple(str(names[i]) for i in range(len(names)))
    except (ValueError, SyntaxError, TypeError, KeyError, RecursionError, MemoryError):
        labels = ()
    return ModelHints(labels, camera, "yolov10" if head == "yolov8" and ends_with_boxes else head)
