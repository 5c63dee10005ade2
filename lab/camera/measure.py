"""Measures the conversion of camera frames beside OpenCV's functions for the same steps."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from lab.experiment import Experiment, FigureRow, computed, figure, figure_row, text
from trimtab.camera import Camera, attach, parse
from trimtab.program import Program
from trimtab.session import Session

BAR = 0.7
"""The largest ratio to OpenCV's time that the project promises, for NV12 to a letterbox."""

Image = NDArray[Any]

CASES = {
    "nv12 to a letterbox": "camera(nv12, 1920x1080) | letterbox(640, 114) | rgb | scale(1/255)",
    "yuyv to a letterbox": "camera(yuyv, 1280x720) | letterbox(640, 114) | rgb | scale(1/255)",
    "bgra to a square": "camera(bgra, 1280x720) | resize(300) | rgb | mean(127.5) | scale(1/127.5)",
    "nv12, area": "camera(nv12, 1920x1080) | letterbox(640, 114, area) | rgb | scale(1/255)",
}


@figure_row
class CameraRow(FigureRow):
    """One case, in milliseconds: OpenCV's functions, and the operator."""

    case: str = text("case")
    opencv_ms: float = figure("OpenCV", ".2f", digits=3)
    own_ms: float = figure("trimtab", ".2f", digits=3)
    ratio: float = computed("ratio", ".2f", of=lambda row: row.own_ms / row.opencv_ms)


CAMERA = Experiment(
    "bench.camera",
    "camera",
    CameraRow,
    packages=("opencv-python-headless", "numpy"),
    is_timed=True,
)


def opencv(camera: Camera) -> Callable[[Image], Image]:
    """The steps of a description by OpenCV, to float32 [h, w, 3]; its buffers are reused."""
    size = camera.size
    assert size
    left, top, width, height = camera.content(size)
    right, below = size[0] - left - width, size[1] - top - height
    convert = {
        "nv12": cv2.COLOR_YUV2RGB_NV12,
        "yuyv": cv2.COLOR_YUV2RGB_YUYV,
        "bgra": cv2.COLOR_BGRA2RGB,
    }[camera.format]
    method = cv2.INTER_AREA if camera.method == "area" else cv2.INTER_LINEAR
    rgb = np.empty((camera.height, camera.width, 3), np.uint8)
    small = np.empty((height, width, 3), np.uint8)
    placed = np.empty((size[1], size[0], 3), np.uint8)
    result = np.empty(placed.shape, np.float32)
    scale, offset = np.float32(camera.scale[0]), np.float32(camera.offset[0])

    def run(pixels: Image) -> Image:
        if camera.format == "yuyv":
            pixels = pixels.reshape(camera.height, camera.width, 2)
        cv2.cvtColor(pixels, convert, dst=rgb)
        cv2.resize(rgb, (width, height), dst=small, interpolation=method)
        last = small
        if (width, height) != size:
            border = cv2.BORDER_CONSTANT
            last = placed
            cv2.copyMakeBorder(
                small, top, below, left, right, border, dst=placed, value=camera.color
            )
        np.multiply(last, scale, out=result)
        if offset:
            np.add(result, offset, out=result)
        return result

    return run


def session(camera: Camera) -> Session:
    """The camera in front of a network that only has to exist."""
    assert camera.size
    program = Program("camera")
    program.add_input("x", (1, 3, camera.size[1], camera.size[0]))
    program.block.add_op("neg", ["x"], outputs=["y"])
    program.outputs = ["y"]
    return Session(attach(program, camera), cache=False)


def measure(rounds: int) -> list[CameraRow]:
    """The medians of interleaved rounds, with one thread each."""
    cv2.setNumThreads(1)
    return [_measured(case, steps, rounds) for case, steps in CASES.items()]


def picture(camera: Camera) -> Image:
    """A smooth frame with noise, as cameras give."""
    rng, shape = np.random.default_rng(1), camera.frame_shape
    waves = np.add.outer(*(np.sin(np.arange(n) / 40) for n in shape[:2])) * 50 + 128
    waves = waves.reshape(*shape[:2], *(1,) * (len(shape) - 2))
    return np.clip(waves + rng.normal(0, 4, shape), 0, 255).astype(np.uint8)


def _measured(case: str, steps: str, rounds: int) -> CameraRow:
    camera = parse(steps)
    pixels = picture(camera)
    run, own = opencv(camera), session(camera)
    own.run(pixels)
    at = [op.type for op in own.program.steps].index("camera_image")
    theirs, ours = [], []
    for _ in range(rounds):
        begin = time.perf_counter_ns()
        run(pixels)
        theirs.append(time.perf_counter_ns() - begin)
        ours.append(own.time_operators()[at])
    return CameraRow(case, median(theirs) / 1e6, median(ours) / 1e6)
