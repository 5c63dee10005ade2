"""Views: the steps from a picture to a network's input, as text without a camera's frame.

yolo                                     NAME=letterbox(auto, 114) | rgb | scale(1/255)
auto                                     NAME=camera(nv12, 1920x1080) | yolo
"""

from __future__ import annotations

import re
from dataclasses import replace

from trimtab.camera.description import AUTO, STEPS, Camera, parse
from trimtab.camera.families import FAMILIES

_SIDE = 64  # of the frame in a description; pictures have sizes of their own
_VIEW = re.compile(r"\s*(?:([^(|]*)=)?\s*(\w+)[^=]*", re.DOTALL)


def is_view(text: str) -> bool:
    """Whether a text begins like a view, with a name of an input or without one."""
    match = _VIEW.fullmatch(text)
    return match is not None and match[2] in ("camera", AUTO, *STEPS, *FAMILIES)


def parse_view(text: str) -> tuple[str, Camera]:
    """The name of the input, "" for the only one of a picture, and its camera, whose frames are
    RGB and of any size; UsageError for a malformed text.
    """
    before, equals, after = text.partition("=")
    name, steps = (before, after) if equals and "(" not in before else ("", text)
    frame = "" if steps.lstrip().startswith("camera") else f"camera(rgb, {_SIDE}x{_SIDE}) | "
    return name.strip(), parse(f"{frame}{steps}")


def of_picture(camera: Camera, width: int, height: int) -> Camera:
    """The camera with the same steps for an RGB picture of this size. The crop is that of a frame,
    which a picture of the frame's size is.
    """
    is_frame = (camera.width, camera.height) == (width, height)
    return replace(
        camera,
        format="rgb",
        width=width,
        height=height,
        stride=0,
        min_size=None,
        crop=camera.crop if is_frame else None,
    )
