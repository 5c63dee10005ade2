"""Frames of seeded noise in every pixel format, and their colors by OpenCV or by the standards."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from trimtab.camera import Camera, attach, parse
from trimtab.program import Program
from trimtab.session import Session

Image = NDArray[Any]

# OpenCV's conversions to RGB.
OPENCV = {
    "nv12": cv2.COLOR_YUV2RGB_NV12,
    "nv21": cv2.COLOR_YUV2RGB_NV21,
    "i420": cv2.COLOR_YUV2RGB_I420,
    "yuyv": cv2.COLOR_YUV2RGB_YUYV,
    "uyvy": cv2.COLOR_YUV2RGB_UYVY,
    "bgr": cv2.COLOR_BGR2RGB,
    "rgba": cv2.COLOR_RGBA2RGB,
    "bgra": cv2.COLOR_BGRA2RGB,
    "gray": cv2.COLOR_GRAY2RGB,
}

# Small frames of rare kinds, for networks of 9x8.
CAMERAS = {
    name: parse(text)
    for name, text in {
        "any_size": "camera(nv12, 3x2..12x10) | letterbox(auto, 114) | rgb",
        "any_turned": "camera(rgb, 2x1..9x14) | rotate(90) | center_crop(auto, 9) | bgr",
        "any_area": "camera(uyvy, 20x18..41x37) | rotate(180) | resize(auto, area)",
        "any_antialias": "camera(gray, 1x1..50x40) | rotate(270) | letterbox(auto, antialias)",
        "any_bicubic": "camera(bgra, 2x3..30x20) | letterbox(auto, 7, bicubic) | rgb",
        "any_antialias_bicubic": "camera(nv21, 1x1..24x30)"
        " | center_crop(auto, 10, antialias_bicubic) | bgr",
        "letterbox": "camera(nv12, 12x10) | letterbox(auto, 114) | bgr | scale(1/255)",
        "area": "camera(rgb, 20x21) | rotate(90) | resize(auto, area)",
        "antialias": "camera(i420, 11x7, full) | crop(1, 1, 9, 5)"
        " | center_crop(9x8, 9, antialias) | gray",
        "nearest": "camera(yuyv, 7x9, bt709, stride 20) | rotate(270) | resize(auto, nearest)",
    }.items()
}


def frame(camera: Camera, seed: int = 1) -> Image:
    """Noise, with runs of equal pixels, so that neighbors differ by every amount."""
    rng = np.random.default_rng(seed)
    shape = camera.frame_shape
    pixels = rng.integers(0, 256, shape, np.uint8)
    return np.where(rng.random(shape[:1] + (1,) * (len(shape) - 1)) < 0.3, pixels[:1], pixels)


def opencv_rgb(camera: Camera, pixels: Image) -> Image:
    """[h, w, 3] by OpenCV, for even sizes without padding."""
    if camera.format == "rgb":
        return pixels
    if camera.format in ("yuyv", "uyvy"):
        pixels = pixels.reshape(camera.height, camera.width, 2)
    return np.asarray(cv2.cvtColor(pixels, OPENCV[camera.format]))


def planes(camera: Camera, pixels: Image) -> Image:
    """Luma and chroma of each pixel, [h, w, 3], for any size and stride."""
    h, w, half = camera.height, camera.width, (camera.width + 1) // 2
    stride = camera.frame_shape[1]
    rows = (h + 1) // 2
    if camera.format in ("yuyv", "uyvy"):
        y0, u, v = (0, 1, 3) if camera.format == "yuyv" else (1, 0, 2)
        chroma = [np.repeat(pixels[:, at::4][:, :half], 2, 1)[:, :w] for at in (u, v)]
        return np.stack([pixels[:, y0::2][:, :w], *chroma], -1)
    luma, below = pixels[:h, :w], pixels[h:]
    if camera.format == "i420":
        small = [plane.reshape(rows, stride // 2)[:, :half] for plane in np.split(below.ravel(), 2)]
    else:
        small = [below[:, :stride].reshape(rows, -1, 2)[:, :half, at] for at in (0, 1)]
    if camera.format == "nv21":
        small.reverse()
    wide = [np.repeat(np.repeat(plane, 2, 0), 2, 1)[:h, :w] for plane in small]
    return np.stack([luma, *wide], -1)


def standard_rgb(camera: Camera, pixels: Image) -> Image:
    """[h, w, 3] in float64 by the formulas of ITU-R BT.601 and BT.709."""
    yuv = planes(camera, pixels).astype(float)
    limited = camera.range == "limited"
    luma = np.maximum(yuv[..., 0] - 16, 0) * 255 / 219 if limited else yuv[..., 0]
    b, r = (yuv[..., 1:] - 128).transpose(2, 0, 1) * (255 / 224 if limited else 1)
    red, blue = (0.299, 0.114) if camera.matrix == "bt601" else (0.2126, 0.0722)
    rgb = [luma + 2 * (1 - red) * r, np.zeros_like(luma), luma + 2 * (1 - blue) * b]
    rgb[1] = (luma - red * rgb[0] - blue * rgb[2]) / (1 - red - blue)
    return np.asarray(np.clip(np.stack(rgb, -1), 0, 255))


def network(shape: tuple[int, ...], dtype: str = "f32") -> Program:
    """A network that negates its input x."""
    program = Program("net")
    program.add_input("x", shape, dtype)
    program.block.add_op("neg", ["x"], outputs=["y"])
    program.outputs = ["y"]
    return program


def converted(text: str, size: tuple[int, int], pixels: Image, threads: int = 1) -> Image:
    """The input of a network of `size` (width, height), [h, w, channels]."""
    camera = parse(text)
    program = attach(network((1, camera.channel_count, size[1], size[0])), camera)
    output = Session(program, threads, cache=False).run(pixels)["y"]
    return np.asarray(-output[0].transpose(1, 2, 0))


def steps(result: Image, expected: Image) -> float:
    """The largest difference in whole steps of 255."""
    rounded = np.rint(result) - np.rint(np.asarray(expected, float))
    return float(np.abs(rounded).max())
