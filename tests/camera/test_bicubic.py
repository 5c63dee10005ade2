"""The cubic filters of cameras beside OpenCV, Pillow and onnxruntime, and the formula of timm."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper
from PIL import Image as Picture

from tests.camera.frames import Image, converted, frame, network, opencv_rgb, steps
from trimtab.camera import attach, parse
from trimtab.camera.formats import FORMATS
from trimtab.pipeline.look import look
from trimtab.pipeline.recipe import Recipe
from trimtab.program import Program
from trimtab.program.quantization import Quantization
from trimtab.session import Session

Size = tuple[int, int]
FRAMES = ((37, 23), (1, 1), (2, 5), (64, 48))
GROWS, SHRINKS = (61, 50), (17, 9)
SIZES = (GROWS, SHRINKS, (50, 11), (37, 23), (74, 46), (1, 1), (3, 90))
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def pillow(pixels: Image, size: Size) -> Image:
    return np.asarray(Picture.fromarray(pixels).resize(size, Picture.Resampling.BICUBIC))


def opencv(pixels: Image, size: Size) -> Image:
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_CUBIC))


METHODS: dict[str, Callable[[Image, Size], Image]] = {
    "antialias_bicubic": pillow,
    "bicubic": opencv,
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", SIZES)
def test_a_cubic_resize_is_that_of_pillow_or_opencv(method: str, size: Size) -> None:
    for width, height in FRAMES:
        text = f"camera(rgb, {width}x{height})"
        pixels = frame(parse(text))
        result = converted(f"{text} | resize(auto, {method})", size, pixels)
        assert steps(result, METHODS[method](pixels, size)) <= 1, text
        assert result.min() >= 0
        assert result.max() <= 255


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [GROWS, SHRINKS])
def test_edges_that_overshoot_are_limited_as_there(method: str, size: Size) -> None:
    pixels = np.zeros((23, 37, 3), np.uint8)
    pixels[::3], pixels[:, ::4] = 255, 255
    result = converted(f"camera(rgb, 37x23) | resize(auto, {method})", size, pixels, threads=3)
    assert steps(result, METHODS[method](pixels, size)) <= 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_resized_after_it_is_cropped_and_turned(method: str, name: str) -> None:
    text = f"camera({name}, 64x46) | crop(5, 3, 41, 37) | rotate(90)"
    camera = parse(text)
    pixels = frame(camera)
    part = np.ascontiguousarray(np.rot90(opencv_rgb(camera, pixels)[3:40, 5:46], -1))
    expected = METHODS[method](part, (30, 33))
    # A color of YUV that OpenCV rounds otherwise is one step; cubic weights may add to it.
    most = 2 if FORMATS[name].is_yuv else 1
    for channels, order in (("rgb", 1), ("bgr", -1)):
        result = converted(f"{text} | resize(auto, {method}) | {channels}", (30, 33), pixels)
        assert steps(result, expected[..., ::order]) <= most
        assert np.mean(np.abs(np.rint(result) - expected[..., ::order]) > 1) < 0.01


@pytest.mark.parametrize("method", METHODS)
def test_gray_is_made_before_the_picture_is_resized(method: str) -> None:
    pixels = frame(parse("camera(rgb, 37x23)"))
    gray = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY))
    result = converted(f"camera(rgb, 37x23) | resize(auto, {method}) | gray", GROWS, pixels)
    difference = np.abs(np.rint(result[..., 0]) - METHODS[method](gray, GROWS).astype(float))
    assert difference.max() <= 2  # where OpenCV rounds a gray to the other side
    assert np.mean(difference > 1) < 0.01


@pytest.mark.parametrize("centers", ["half_pixel", "asymmetric", "align_corners"])
@pytest.mark.parametrize("size", [GROWS, SHRINKS, (37, 50)])
def test_pixel_centers_of_bicubic_are_onnxruntimes(centers: str, size: Size) -> None:
    pixels = frame(parse("camera(rgb, 37x23)"))
    node = helper.make_node(
        *("Resize", ["x", "", "", "sizes"], ["y"]),
        mode="cubic",
        coordinate_transformation_mode=centers,
    )
    x, y = (helper.make_tensor_value_info(n, 1, [None] * 4) for n in "xy")
    sizes = onnx.numpy_helper.from_array(np.array([1, 3, size[1], size[0]]), "sizes")
    graph = helper.make_graph([node], "resize", [x], [y], [sizes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (expected,) = session.run(None, {"x": pixels.transpose(2, 0, 1)[None].astype(np.float32)})
    result = converted(f"camera(rgb, 37x23) | resize(auto, bicubic, {centers})", size, pixels)
    limited = expected[0].transpose(1, 2, 0).clip(0, 255)
    np.testing.assert_allclose(result, limited, atol=1e-2)


@pytest.mark.parametrize("method", METHODS)
def test_a_letterbox_has_its_color_around_a_cubic_picture_and_int8_values(method: str) -> None:
    text = f"camera(rgb, 37x23) | letterbox(auto, 114, {method}) | rgb | mean(127.5)"
    pixels, size = frame(parse("camera(rgb, 37x23)")), (30, 24)
    left, top, width, height = parse(text).content(size)
    expected = np.full((size[1], size[0], 3), 114, np.uint8)
    expected[top : top + height, left : left + width] = METHODS[method](pixels, (width, height))
    result = converted(text, size, pixels)
    assert steps(result + 127.5, expected) <= 1
    program = Program("net")
    program.add_input("x", (1, 3, *size[::-1]), "i8")
    program.vars["x"].quantization = Quantization((2.0,), (-3,))
    program.block.add_op("reshape", ["x"], {"shape": (size[0] * size[1] * 3,)}, ["y"])
    program.outputs = ["y"]
    y = Session(attach(program, text), cache=False).run(pixels)["y"]
    quantized = np.clip(np.rint(result / 2.0) - 3, -128, 127).transpose(2, 0, 1).ravel()
    assert np.abs(y - quantized).max() <= 1  # rounded once instead of twice
    assert np.mean(y != quantized) < 0.01


def of_timm(folder: Path, side: int, share: float) -> Path:
    """A network that negates pictures, beside the configuration of timm."""
    ends = [helper.make_tensor_value_info(name, 1, (1, 3, side, side)) for name in "xy"]
    node = helper.make_node("Neg", ["x"], ["y"])
    graph = helper.make_graph([node], "net", ends[:1], ends[1:])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), folder / "net.onnx")
    facts = {
        "input_size": [3, side, side], "interpolation": "bicubic", "crop_pct": share,
        "crop_mode": "center", "mean": MEAN, "std": STD,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps({"pretrained_cfg": facts}))
    return folder / "net.onnx"


def timms(pixels: Image, side: int, share: float) -> Image:
    """timm's transforms of evaluation: torchvision's Resize, CenterCrop, ToTensor and Normalize."""
    height, width = pixels.shape[:2]
    short = math.floor(side / share)
    if width <= height:
        size = short, int(short * height / width)
    else:
        size = int(short * width / height), short
    left, top = (round((length - side) / 2) for length in size)
    picture = Picture.fromarray(pixels).resize(size, Picture.Resampling.BICUBIC)
    part = np.asarray(picture.crop((left, top, left + side, top + side))) / 255
    return np.asarray((part - MEAN) / STD)


def check_timms(result: Image, pixels: Image, side: int, share: float) -> None:
    """Equal but for the rounding to whole steps, which the camera does not do."""
    shown = -result[0].transpose(1, 2, 0)
    limit = 1.13 / 255 / np.array(STD)  # half a step in each of two passes, weighted
    assert (np.abs(shown - timms(pixels, side, share)) <= limit).all()


@pytest.mark.parametrize("share", [0.875, 0.95, 1.0])
def test_a_picture_is_shown_to_a_network_of_timm_by_its_formula(
    tmp_path: Path, share: float
) -> None:
    recipe = Recipe(model=str(of_timm(tmp_path, 48, share)))
    pictures = [frame(parse(f"camera(rgb, {size})")) for size in ("101x77", "33x64", "48x48")]
    for pixels, sight in zip(pictures, look(recipe, pictures, head="none"), strict=True):
        check_timms(sight.results["y"], pixels, 48, share)


@pytest.mark.slow
@pytest.mark.build
@pytest.mark.device
@pytest.mark.parametrize("device", ["qemu-a53", "qemu-armv7"])
def test_the_binary_on_a_board_sees_the_same(tmp_path: Path, device: str) -> None:
    recipe = Recipe(model=str(of_timm(tmp_path, 48, 0.875)))
    pixels = frame(parse("camera(rgb, 101x77)"))
    (sight,) = look(recipe, [pixels], head="none", device=device)
    check_timms(sight.results["y"], pixels, 48, 0.875)
    text = "center_crop(auto, 54, bicubic) | rgb"
    here, there = (next(look(recipe, [pixels], text, "none", d)) for d in ("", device))
    np.testing.assert_allclose(there.results["y"], here.results["y"], atol=1e-3)


def test_frames_of_any_size_need_no_more_memory_than_the_largest() -> None:
    for method in METHODS:
        text = f"camera(rgb, 1x1..60x50) | center_crop(auto, 14, {method})"
        session = Session(attach(network((1, 3, 12, 13)), text), 2, cache=False)
        for width, height in ((60, 50), (60, 1), (1, 50), (7, 9), (59, 33)):
            one = f"camera(rgb, {width}x{height}) | center_crop(auto, 14, {method})"
            pixels = frame(parse(one))
            shown = -session.run(pixels)["y"][0].transpose(1, 2, 0)
            np.testing.assert_array_equal(shown, converted(one, (13, 12), pixels))
