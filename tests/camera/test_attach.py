"""Cameras in front of networks, beside OpenCV, Pillow, onnxruntime and numpy."""

from __future__ import annotations

import cv2
import numpy as np
import onnx
import onnxruntime
import pytest
from PIL import Image as Picture

import trimtab
from tests.camera.frames import (
    CAMERAS,
    OPENCV,
    Image,
    converted,
    frame,
    network,
    opencv_rgb,
    planes,
    standard_rgb,
    steps,
)
from tests.engine.raw_runs import run_arrays
from trimtab import _engine, modelfile
from trimtab.camera import attach, parse
from trimtab.camera.formats import FORMATS
from trimtab.errors import UsageError
from trimtab.program import Program
from trimtab.program.quantization import Quantization
from trimtab.session import Session
from trimtab.target import Target

YUV = [name for name, pixels in FORMATS.items() if pixels.is_yuv]
ODD = (37, 23)
GROWS, SHRINKS, MIXED = (61, 50), (17, 9), (50, 11)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_opencvs_colors(name: str) -> None:
    camera = parse(f"camera({name}, 38x26)")
    pixels = frame(camera)
    result = converted(f"camera({name}, 38x26)", (38, 26), pixels)
    expected = opencv_rgb(camera, pixels)
    assert steps(result, expected) <= 1
    # OpenCV's coefficients have three decimals, and other pixels none.
    assert np.mean(result != expected) <= (0.1 if FORMATS[name].is_yuv else 0)


@pytest.mark.parametrize("name", FORMATS)
def test_channels_are_in_the_order_of_the_description(name: str) -> None:
    source = f"camera({name}, 38x26)"
    pixels = frame(parse(source))
    rgb = opencv_rgb(parse(source), pixels)
    assert steps(converted(f"{source} | bgr", (38, 26), pixels), rgb[..., ::-1]) <= 1
    gray = converted(f"{source} | gray", (38, 26), pixels)[..., 0]
    if FORMATS[name].is_yuv:
        luma = np.maximum(planes(parse(source), pixels)[..., 0].astype(float) - 16, 0) * 255 / 219
        assert steps(gray, np.minimum(luma, 255)) <= 1
        return
    assert steps(gray, cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)) <= 1


@pytest.mark.parametrize("name", YUV)
@pytest.mark.parametrize(
    "colors", ["limited, bt601", "limited, bt709", "full, bt601", "full, bt709"]
)
def test_yuv_of_odd_sizes_and_strides_follows_the_standards(name: str, colors: str) -> None:
    for width, height, stride in ((37, 23, 0), (36, 23, 90), (1, 1, 0), (5, 2, 14)):
        text = f"camera({name}, {width}x{height}, {colors}"
        text += f", stride {stride})" if stride else ")"
        pixels = frame(parse(text))
        result = converted(text, (width, height), pixels)
        assert steps(result, standard_rgb(parse(text), pixels)) <= 1, text


def test_colors_are_equal_in_all_instruction_sets() -> None:
    text = "camera(nv12, 640x480)"
    pixels = frame(parse(text))
    program = attach(network((1, 3, 480, 640)), text)
    portable = Target.portable(Target.host().arch)
    plain = Session(trimtab.optimize(program, portable)).run(pixels)["y"]
    np.testing.assert_array_equal(-plain[0].transpose(1, 2, 0), converted(text, (640, 480), pixels))


def test_full_range_is_that_of_pillow() -> None:
    text = "camera(yuyv, 38x26, full)"
    pixels = frame(parse(text))
    yuv = np.stack([pixels[:, ::2], *(np.repeat(pixels[:, at::4], 2, 1) for at in (1, 3))], -1)
    expected = np.asarray(Picture.fromarray(yuv, "YCbCr").convert("RGB"))
    assert steps(converted(text, (38, 26), pixels), expected) <= 1


def rgb_frame() -> Image:
    return frame(parse(f"camera(rgb, {ODD[0]}x{ODD[1]})"))


SOURCE = f"camera(rgb, {ODD[0]}x{ODD[1]})"


@pytest.mark.parametrize("size", [GROWS, SHRINKS, MIXED, ODD, (1, 1)])
def test_bilinear_is_opencvs(size: tuple[int, int]) -> None:
    pixels = rgb_frame()
    expected = cv2.resize(pixels, size, interpolation=cv2.INTER_LINEAR)
    assert steps(converted(f"{SOURCE} | resize", size, pixels), expected) <= 1


@pytest.mark.parametrize("size", [GROWS, SHRINKS, MIXED, ODD, (1, 1)])
def test_nearest_is_pillows_or_opencvs_exactly(size: tuple[int, int]) -> None:
    pixels = rgb_frame()
    result = converted(f"{SOURCE} | resize(auto, nearest)", size, pixels)
    expected = np.asarray(Picture.fromarray(pixels).resize(size, Picture.Resampling.NEAREST))
    np.testing.assert_array_equal(result, expected)
    floored = converted(f"{SOURCE} | resize(auto, nearest, asymmetric)", size, pixels)
    by_opencv = cv2.resize(pixels, size, interpolation=cv2.INTER_NEAREST)
    np.testing.assert_array_equal(floored, by_opencv)


@pytest.mark.parametrize("size", [SHRINKS, (12, 7), (18, 11), (1, 1), ODD])
def test_area_is_opencvs(size: tuple[int, int]) -> None:
    pixels = rgb_frame()
    expected = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    assert steps(converted(f"{SOURCE} | resize(auto, area)", size, pixels), expected) <= 1


@pytest.mark.parametrize("size", [GROWS, SHRINKS, MIXED, ODD, (1, 1)])
def test_antialias_is_pillows_bilinear(size: tuple[int, int]) -> None:
    pixels = rgb_frame()
    expected = Picture.fromarray(pixels).resize(size, Picture.Resampling.BILINEAR)
    result = converted(f"{SOURCE} | resize(auto, antialias)", size, pixels)
    assert steps(result, np.asarray(expected)) <= 1


@pytest.mark.parametrize("centers", ["asymmetric", "align_corners"])
@pytest.mark.parametrize("size", [GROWS, SHRINKS, MIXED])
def test_pixel_centers_of_tflite_are_onnxruntimes(centers: str, size: tuple[int, int]) -> None:
    pixels = rgb_frame()
    node = onnx.helper.make_node(
        *("Resize", ["x", "", "", "sizes"], ["y"]),
        mode="linear",
        coordinate_transformation_mode=centers,
    )
    x, y = (onnx.helper.make_tensor_value_info(n, 1, [None] * 4) for n in "xy")
    sizes = onnx.numpy_helper.from_array(np.array([1, 3, size[1], size[0]]), "sizes")
    graph = onnx.helper.make_graph([node], "resize", [x], [y], [sizes])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)])
    model.ir_version = 8
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (expected,) = session.run(None, {"x": pixels.transpose(2, 0, 1)[None].astype(np.float32)})
    result = converted(f"{SOURCE} | resize(auto, bilinear, {centers})", size, pixels)
    np.testing.assert_allclose(result, expected[0].transpose(1, 2, 0), atol=1e-3)


@pytest.mark.parametrize("name", ["nv12", "i420", "yuyv", "rgb", "bgra"])
@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_crop_rotation_and_letterbox_are_opencvs(name: str, degrees: int) -> None:
    text = f"camera({name}, 64x46) | crop(5, 3, 41, 37) | rotate({degrees})"
    text += " | letterbox(30x33, 7, 8, 9)"
    camera = parse(text)
    pixels = frame(camera)
    part = opencv_rgb(camera, pixels)[3:40, 5:46]
    part = np.ascontiguousarray(np.rot90(part, -degrees // 90))
    left, top, width, height = camera.content((30, 33))
    part = cv2.resize(part, (width, height), interpolation=cv2.INTER_LINEAR)
    right, below = 30 - left - width, 33 - top - height
    expected = cv2.copyMakeBorder(
        part, top, below, left, right, cv2.BORDER_CONSTANT, value=(7, 8, 9)
    )
    result = converted(text, (30, 33), pixels, threads=3)
    assert steps(result, expected) <= 1


def test_imagenet_is_torchvisions_pipeline_in_pillow() -> None:
    text = "camera(rgb, 50x41) | imagenet"
    pixels = frame(parse(text))
    picture = Picture.fromarray(pixels).resize((39, 32), Picture.Resampling.BILINEAR)
    left, top = 6, 2  # round((39 - 28) / 2), round((32 - 28) / 2)
    part = np.asarray(picture.crop((left, top, left + 28, top + 28))) / 255
    expected = (part - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    step = 1 / 255 / 0.224
    np.testing.assert_allclose(converted(text, (28, 28), pixels), expected, atol=1.1 * step)


def test_a_large_frame_is_converted_in_rows_on_several_threads() -> None:
    text = "camera(nv12, 640x362) | letterbox(auto, 114) | bgr | scale(1/255)"
    camera = parse(text)
    pixels = frame(camera)
    small = cv2.resize(opencv_rgb(camera, pixels), (160, 90))
    expected = cv2.copyMakeBorder(small, 35, 35, 0, 0, cv2.BORDER_CONSTANT, value=(114,) * 3)
    one, three = (converted(text, (160, 160), pixels, threads) for threads in (1, 3))
    np.testing.assert_array_equal(one, three)
    assert camera.content((160, 160))[3] == 90
    assert steps(one * 255, expected[..., ::-1]) <= 1


def test_a_quantized_input_of_either_order_gets_the_quantized_picture() -> None:
    scale, zero = 1 / 64, -3
    quantization = Quantization((scale,), (zero,))
    text = f"{SOURCE} | letterbox(auto, 114) | rgb | mean(127.5) | scale(1/127.5)"
    real = converted(text, (24, 30), rgb_frame())
    expected = np.clip(np.rint(real / scale) + zero, -128, 127)
    for dtype, shape in (("i8", (1, 3, 30, 24)), ("i8", (1, 30, 24, 3))):
        program = Program("net")
        program.add_input("x", shape, dtype)
        program.vars["x"].quantization = quantization
        program.block.add_op("reshape", ["x"], {"shape": (30 * 24 * 3,)}, ["y"])
        program.outputs = ["y"]
        result = Session(attach(program, text), cache=False).run(rgb_frame())["y"]
        order = (0, 1, 2) if shape[3] == 3 else (2, 0, 1)
        difference = result - expected.transpose(order).ravel()
        assert np.abs(difference).max() <= 1  # rounded once instead of twice
        assert np.mean(difference != 0) < 0.01


def test_a_quantized_network_takes_int8_values_from_the_camera() -> None:
    rng = np.random.default_rng(3)
    program = Program("net")
    x = program.add_input("x", (1, 3, 18, 21))
    weights = rng.normal(0, 0.3, (4, 3, 3, 3)).astype(np.float32)
    program.outputs = program.block.add_op("conv", [x, program.block.add_constant(weights)])
    text = f"{SOURCE} | letterbox(auto, 114) | rgb | scale(1/255)"
    pictures = [frame(parse(SOURCE), seed) for seed in range(6)]
    inputs = np.stack([converted(text, (21, 18), one).transpose(2, 0, 1) for one in pictures])
    quantized = trimtab.quantize(program, {"x": inputs}).program
    session = Session(attach(quantized, text), cache=False)
    (camera,) = (op for op in session.program.ops if op.type == "camera_image")
    assert session.program.vars[camera.outputs[0]].dtype == "i8"
    assert not {"quantize_linear", "convert_layout"} & {op.type for op in session.program.ops[:2]}
    (y,) = session.run(pictures[0]).values()
    (expected,) = Session(quantized, cache=False).run(inputs[:1]).values()
    assert np.abs(y - expected).max() <= 0.05 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("shape", "dtype", "text", "message"),
    [
        ((1, 3, 8, 8), "f32", "yolo(16)", "has the size 16x16"),
        ((1, 3, 8, 8), "f32", "gray", "one image of 1 channel"),
        ((2, 3, 8, 8), "f32", "rgb", "has the shape [2, 3, 8, 8]"),
        ((1, 64), "f32", "rgb", "has the shape [1, 64]"),
        ((1, 3, 99, 8), "f32", "resize(auto, area)", "area only shrinks"),
    ],
)
def test_a_camera_that_does_not_fit_the_network_is_an_error(
    shape: tuple[int, ...], dtype: str, text: str, message: str
) -> None:
    with pytest.raises(UsageError) as error:
        attach(network(shape, dtype), f"{SOURCE} | {text}")
    assert message in str(error.value)


def test_an_input_of_whole_numbers_takes_no_picture() -> None:
    program = Program("numbers")
    program.add_input("x", (1, 3, 8, 8), "i32")
    program.outputs = program.block.add_op("cast", ["x"], {"to": "f32"})
    with pytest.raises(UsageError, match="is i32, and a camera gives f32"):
        attach(program, f"{SOURCE} | rgb")


def test_the_input_is_named_if_there_are_several() -> None:
    program = network((1, 3, 8, 8))
    with pytest.raises(UsageError, match="no input 'z'"):
        attach(program, SOURCE, "z")
    program.add_input("z", (1,))
    with pytest.raises(UsageError, match="several inputs"):
        attach(program, SOURCE)
    assert attach(program, SOURCE, "x").inputs == ["x", "z"]


@pytest.mark.bounds
@pytest.mark.parametrize("name", CAMERAS)
def test_a_frame_of_another_size_is_refused_and_the_network_stays(name: str) -> None:
    camera = CAMERAS[name]
    program = attach(network((1, camera.channel_count, 8, 9)), camera)
    executor = _engine.Executor(modelfile.encode(trimtab.optimize(program)), 3)
    before = run_arrays(executor, [frame(camera)])
    shape = camera.frame_shape
    for wrong in ((0, *shape[1:]), (*shape[:-1], 0), (shape[0] + 1, *shape[1:])):
        with pytest.raises(_engine.EngineError, match="rows, stride"):
            executor.resize_input(0, wrong)
    np.testing.assert_array_equal(run_arrays(executor, [frame(camera)]), before)


def test_opencv_knows_all_formats_but_rgb() -> None:
    assert {*OPENCV, "rgb"} == {*FORMATS}


def test_the_range_of_the_images_goes_with_the_input_that_the_camera_replaces() -> None:
    program = network((1, 3, 8, 9))
    program.input_ranges["x"] = (0.0, 255.0)
    assert attach(program, "camera(nv12, 12x10) | resize(auto)").input_ranges == {}
    assert program.input_ranges == {"x": (0.0, 255.0)}
