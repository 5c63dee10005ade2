"""The metadata that Ultralytics writes into its exports, as hints: entries of ONNX files, the file
metadata.yaml beside ncnn networks, and metadata.json behind TFLite files.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from trimtab import strict_json
from trimtab.importers.beside.steps import by_number
from trimtab.program import ModelHints

_YOLO = "letterbox(auto, 114) | rgb | scale(1/255)"
_STRETCHED = "resize(auto) | rgb | scale(1/255)"
_CHOSEN = "yolov10"
_QUERIES = "RTDETRDecoder"
"""The last module of RT-DETR in newer files; models/rtdetr/predict.py stretches pictures."""
_PICTURE = 4  # dimensions
_USES = {
    "detect": (_YOLO, ("yolov8", _CHOSEN, "rt_detr")),
    "pose": (_YOLO, ("yolov8_pose",)),
    "segment": (_YOLO, ("yolov8_seg",)),
    "obb": (_YOLO, ("yolov8_obb",)),
    "semantic": (_YOLO, ("arg_max",)),
    "depth": (_STRETCHED, ("depth",)),
    "classify": ("", ("top_k",)),
}
"""The camera's steps and the heads of each task, which networks of several families have; those of
`classify` follow from the size.
"""


def of_ultralytics(metadata: Mapping[str, Any]) -> ModelHints:
    """The hints of a file's metadata, values or their texts; no more than the task if it is not
    known.
    """
    task = metadata.get("task", "")
    camera, heads = _USES.get(task, ("", ())) if isinstance(task, str) else ("", ())
    if not heads:
        return ModelHints(entry=f"task={task}"[:80] if task else "")
    args = _value(metadata.get("args"))
    ends = {
        "end2end": _value(metadata.get("end2end")) is True,
        "nms": isinstance(args, dict) and args.get("nms") is True,
    }
    if task == "classify":
        camera = _classified(_value(metadata.get("imgsz")))
    if metadata.get("head") == _QUERIES:
        camera, heads = _STRETCHED, ("rt_detr",)
    elif any(ends.values()):  # the file ends with boxes, and queries have neither
        heads = tuple(sorted({*heads} - {"rt_detr"}, key=lambda head: head != _CHOSEN))
    entry = ", ".join([f"task={task}", *(name for name, is_set in ends.items() if is_set)])
    points = _value(metadata.get("kpt_shape"))
    point_values = points[1] if _are_two(points) and points[1] in (2, 3) else 0
    return ModelHints(
        by_number(_value(metadata.get("names"))), camera, heads, entry, point_values=point_values
    )


def _classified(size: Any) -> str:
    """The steps of data/augment.py: classify_transforms for a size of [height, width]."""
    if not _are_two(size):
        return ""
    is_square = size[0] == size[1]
    fit = f"center_crop(auto, {size[0]}, antialias)" if is_square else "resize(auto, antialias)"
    return f"{fit} | rgb | scale(1/255)"


def _are_two(value: Any) -> bool:
    """Whether a value is two positive numbers."""
    is_list = isinstance(value, list | tuple) and [type(n) for n in value] == [int] * 2
    return is_list and min(value) > 0


def sizes(
    metadata: Mapping[str, Any], declared: Mapping[str, Sequence[Any] | None]
) -> dict[str, tuple[int, ...]]:
    """The shape [1, channels, height, width] of the only input, if it is free in the file, as in
    exports with `dynamic` and in ncnn networks, and the metadata say the size of pictures.
    """
    pictures = [name for name, dims in declared.items() if dims is None or len(dims) == _PICTURE]
    size, channels = _value(metadata.get("imgsz")), _value(metadata.get("channels", 3))
    is_known = _are_two(size) and type(channels) is int and channels > 0
    if "task" not in metadata or not is_known or len(declared) != 1 or len(pictures) != 1:
        return {}
    dims = declared[pictures[0]]
    if dims is not None and all(isinstance(n, int) and n > 0 for n in dims):
        return {}
    return {pictures[0]: (1, channels, *size)}


def of_tflite(metadata: Mapping[str, Any], *, channels_last: bool) -> ModelHints:
    """The hints of a TFLite file as `of_ultralytics` has them. Its boxes are relative to the image,
    except those that a network [n, c, h, w] has chosen.
    """
    hints = of_ultralytics(metadata)
    has_boxes = not {"arg_max", "depth", "top_k"}.intersection(hints.heads)
    is_chosen = _value(metadata.get("end2end")) is True and not channels_last
    return replace(hints, relative=bool(hints.heads) and has_boxes and not is_chosen)


def parsed(text: str) -> Mapping[str, Any]:
    """The metadata in a text of JSON or of Python's literals; none if it holds something else."""
    try:
        value = strict_json.loads(text)
    except ValueError:
        value = _value(text)
    return value if isinstance(value, dict) and "task" in value else {}


def _value(value: Any) -> Any:
    """A value, or that of a text of Python's or JSON's literals; None if it is malformed."""
    if not isinstance(value, str):
        return value
    try:
        return ast.literal_eval({"true": "True", "false": "False"}.get(value, value))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
