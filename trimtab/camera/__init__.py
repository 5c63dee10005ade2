"""Cameras: from the description of a frame and of its preprocessing, "camera(nv12, 1920x1080) |
letterbox(640, 114) | rgb | scale(1/255)", to an operator in front of a network.
"""

from trimtab.camera.attach import attach, with_steps_of
from trimtab.camera.capture import Video, frames, video_file
from trimtab.camera.description import Camera, parse
from trimtab.camera.frame import Frame
from trimtab.camera.placement import FramePlacement
from trimtab.camera.view import is_view, of_picture, parse_view

__all__ = [
    "Camera", "Frame", "FramePlacement", "Video",
    "attach", "frames", "is_view", "of_picture", "parse", "parse_view", "video_file",
    "with_steps_of",
]  # fmt: skip
