"""Images of any size and format in front of networks: Python, C and the runner."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Picture

import trimtab
from tests.camera.frames import Image, converted, frame, network
from tests.camera.test_page import network as onnx_network
from tests.core import picture_files
from tests.heads import detectors
from trimtab.bench import runner_events
from trimtab.build import builder
from trimtab.camera import Frame, attach, parse
from trimtab.camera.formats import FORMATS
from trimtab.cli.build import BuildOptions, RecipeOptions
from trimtab.detections import DetectedBoxes
from trimtab.errors import UsageError
from trimtab.heads import HeadRequest
from trimtab.pipeline.built import build
from trimtab.pipeline.loaded import load
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import Recipe
from trimtab.session import Session

FREE = "16x16..640x480"
SIZES = ((640, 480), (101, 77), (16, 16), (300, 480), (33, 400))
FITS = (
    "letterbox(auto, 114)",
    "letterbox(auto, 9, top_left, antialias)",
    "resize(auto)",
    "center_crop(auto, 140, antialias)",
    "rotate(90) | letterbox(auto, 7)",
    "center_crop(auto, 140, rounded)",
    "line(auto, 127.5)",
)


def free(fit: str, format: str = "nv12") -> Session:
    program = attach(network((1, 3, 96, 128)), f"camera({format}, {FREE}) | {fit} | rgb")
    return Session(program, cache=False)


def picture(result: dict[str, Image]) -> Image:
    return np.asarray(-result["y"][0].transpose(1, 2, 0))


@pytest.mark.parametrize("fit", FITS)
def test_images_of_any_size_are_those_of_a_camera_of_that_size(fit: str) -> None:
    session = free(fit)
    for width, height in SIZES:
        text = f"camera(nv12, {width}x{height}) | {fit} | rgb"
        pixels = frame(parse(text))
        result = picture(session.run(Frame(pixels, "nv12", width=width)))
        np.testing.assert_array_equal(result, converted(text, (128, 96), pixels))


@pytest.mark.parametrize("name", FORMATS)
def test_an_image_may_have_any_format(name: str) -> None:
    session = free(FITS[0])
    text = f"camera({name}, 101x77, stride {FORMATS[name].row_bytes(101) + 6}) | {FITS[0]} | rgb"
    pixels = frame(parse(text))
    expected = converted(text, (128, 96), pixels)
    kind = FORMATS[name]
    if kind.channels > 1:
        rows = pixels[:, : 101 * kind.bytes].reshape(77, 101, kind.bytes)
        one = Frame(rows, name)
    else:
        one = Frame(pixels, name, width=101)
    np.testing.assert_array_equal(picture(session.run(one)), expected)


def test_arrays_pictures_and_crops_are_frames() -> None:
    session = free(FITS[0])
    pixels = frame(parse("camera(rgb, 101x77)"))
    expected = converted(f"camera(rgb, 101x77) | {FITS[0]} | rgb", (128, 96), pixels)
    values: list[Any] = [pixels, Picture.fromarray(pixels), Frame(pixels[..., ::-1], "bgr")]
    for value in values:
        np.testing.assert_array_equal(picture(session.run(value)), expected)
    part = np.ascontiguousarray(pixels[7:57, 11:91])
    cropped = picture(session.run(Frame(pixels, "rgb", crop=(11, 7, 80, 50))))
    np.testing.assert_array_equal(cropped, picture(session.run(part)))
    own = frame(parse("camera(nv12, 640x480)"))  # bytes of the largest frame, set as an input
    np.testing.assert_array_equal(
        picture(session.run(own)), picture(session.run(Frame(own, "nv12")))
    )


@pytest.mark.parametrize(
    "fit",
    [
        *FITS,
        "resize(auto, antialias)",
        "center_crop(auto, 200)",
        "letterbox(auto, bicubic)",
        "resize(auto, antialias_bicubic)",
    ],
)
def test_any_part_of_any_image_fits_the_memory_of_the_largest(fit: str) -> None:
    program = attach(network((1, 3, 24, 33)), f"camera(rgb, 1x1..200x150) | {fit} | rgb")
    session, rng = Session(program, 2, cache=False), np.random.default_rng(3)
    for _ in range(40):
        width, height = (int(min(rng.integers(1, n), rng.integers(1, 600))) for n in (201, 151))
        left, top = int(rng.integers(0, width)), int(rng.integers(0, height))
        right, below = int(rng.integers(left, width)) + 1, int(rng.integers(top, height)) + 1
        pixels = rng.integers(0, 256, (height, width, 3), np.uint8)
        part = np.ascontiguousarray(pixels[top:below, left:right])
        crop = (left, top, right - left, below - top)
        result = session.run(Frame(pixels, "rgb", crop))["y"]
        np.testing.assert_array_equal(result, session.run(part)["y"])


@pytest.mark.parametrize(
    ("width", "height", "crop", "message"),
    [
        (641, 100, None, "exceeds the camera's frame"),
        (15, 100, None, "smaller than"),
        (100, 100, (0, 60, 10, 41), "crop exceeds"),
        (100, 100, (-1, 0, 10, 10), "crop exceeds"),
        (100, 100, (5, 5, 0, 9), "crop exceeds"),
    ],
)
def test_an_image_beyond_the_bounds_is_refused(
    width: int, height: int, crop: tuple[int, int, int, int] | None, message: str
) -> None:
    session = free(FITS[0])
    with pytest.raises(UsageError, match=message):
        session.run(Frame(np.zeros((height, width, 3), np.uint8), "rgb", crop))


def test_a_camera_of_one_size_takes_other_formats_and_no_other_size() -> None:
    text = "camera(nv12, 64x48) | resize(auto) | rgb"
    session = Session(attach(network((1, 3, 30, 40)), text), cache=False)
    pixels = frame(parse("camera(bgr, 64x48)"))
    expected = converted("camera(bgr, 64x48) | resize(auto) | rgb", (40, 30), pixels)
    np.testing.assert_array_equal(picture(session.run(Frame(pixels, "bgr"))), expected)
    with pytest.raises(UsageError, match="smaller than"):
        session.run(pixels[1:])
    with pytest.raises(UsageError, match="one size"):
        session.run(Frame(pixels, "bgr", (0, 0, 4, 4)))


@pytest.mark.parametrize(
    "pixels",
    [
        *(np.zeros((4, 4, 3)), np.zeros((4, 4, 2), np.uint8), [1, 2]),
        *(np.zeros(shape, np.uint8) for shape in ((0, 4, 3), (4, 0, 3), (0, 4), (4, 0))),
    ],
    ids=lambda pixels: str(np.shape(pixels)),
)
def test_an_array_that_is_no_image_is_refused(pixels: Image) -> None:
    with pytest.raises(UsageError):
        free(FITS[0]).run(pixels)


def test_boxes_are_in_the_pixels_of_each_image() -> None:
    source = trimtab.load(detectors.yolov8(size=(64, 64)))
    text = "letterbox(64, 114) | rgb | scale(1/255)"
    program = attach(source, f"camera(rgb, 8x8..320x320) | {text}")
    session = Session(trimtab.attach_head(program, "yolov8", score=0.02), cache=False)
    for width, height in ((320, 160), (90, 133), (64, 64)):
        pixels = np.random.default_rng(2).integers(0, 256, (height, width, 3), np.uint8)
        camera = parse(f"camera(rgb, {width}x{height}) | {text}")
        plain = attach(trimtab.attach_head(source, "yolov8", score=0.02), camera)
        expected = Session(plain, cache=False).run(pixels)
        results = session.run(pixels)
        count = int(expected["count"][0])
        assert results["count"][0] == count > 3
        mapped = camera.placement((64, 64)).boxes_to_frame(expected["boxes"][0, :count, :4])
        np.testing.assert_allclose(results["boxes"][0, :count, :4], mapped, 1e-4, 1e-2)


def built(tmp_path: Path, pictures: bool = False) -> builder.Build:
    """The runner and the model of a network behind frames of any size."""
    onnx_network(tmp_path / "net.onnx")
    camera = parse("camera(nv12, 8x8..200x160) | yolo")
    recipe = Recipe(str(tmp_path / "net.onnx"), toolchain="host", output=tmp_path / "built",
                    cameras={"images": camera}, pictures=pictures)  # fmt: skip
    return build(plan(load(recipe))).delivered


def memory_of(output: str) -> tuple[int, int]:
    """The bytes of the arena and of prepared weights that a runner reports."""
    lines = map(json.loads, output.splitlines())
    memory = next(line for line in lines if line["event"] == "memory")
    return memory["arena_bytes"], memory["prepared_bytes"]


def launched(delivery: builder.Build, image: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """The runner, with an image file; its result is `out0.bin` beside the file."""
    words = [delivery.runner, delivery.model, "--image", image, "--output-dir", image.parent, *more]
    return subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)


@pytest.mark.build
def test_the_runner_takes_picture_files(tmp_path: Path) -> None:
    delivery, camera = built(tmp_path), parse("camera(nv12, 8x8..200x160) | yolo")
    assert delivery.model is not None
    pixels = frame(parse("camera(rgb, 101x77)"))
    head = b"P6 # a comment\n101\n# another\n77 255\n"
    files = {"a.ppm": head + pixels.tobytes(), "own.nv12": b"P6" + frame(camera).tobytes()[2:]}
    files |= {"short.ppm": files["a.ppm"][:-1], "deep.ppm": b"P6 1 1 65535 123456", "b.ppm": b"P6 "}
    files["a.jpg"] = b"\xff\xd8\xff\xe0 and more"
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    session = Session(trimtab.load(delivery.model))
    own = np.frombuffer(files["own.nv12"], np.uint8).reshape(camera.frame_shape)
    inputs = {"a.ppm": pixels, "own.nv12": own}
    for name in files:
        ran = launched(delivery, tmp_path / name)
        if name not in inputs:
            assert ran.returncode == 8
            assert ("build it with --pictures" if name == "a.jpg" else "whole PPM") in ran.stdout
            continue
        assert ran.returncode == 0, ran.stdout
        expected = session.run(inputs[name])["y"].ravel()
        result = np.fromfile(tmp_path / "out0.bin", np.float32)
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.build
def test_the_runner_prints_the_boxes_of_a_picture_and_its_options(tmp_path: Path) -> None:
    model, text = tmp_path / "net.ttm", "letterbox(64, 114) | rgb | scale(1/255)"
    trimtab.load(detectors.yolov8(size=(64, 64))).save(model)
    camera, head = (
        parse(f"camera(rgb, 8x8..200x160) | {text}"),
        HeadRequest.parse("yolov8:score=0.02"),
    )
    recipe = Recipe(str(model), toolchain="host", output=tmp_path / "built",
                    cameras={"images": camera}, head=head)  # fmt: skip
    delivery = build(plan(load(recipe))).delivered
    pixels = frame(parse("camera(rgb, 101x77)"))
    (tmp_path / "a.ppm").write_bytes(b"P6 101 77 255\n" + pixels.tobytes())
    assert delivery.model
    expected = DetectedBoxes.of(Session(trimtab.load(delivery.model)).run(pixels))
    output = runner_events.read(launched(delivery, tmp_path / "a.ppm").stdout.encode())
    assert not output.error
    rows = [event for event in output.events if event["event"] == "box"]
    assert len(rows) == len(expected) > 3
    for i, (row, box) in enumerate(zip(rows, expected, strict=True)):
        assert (row["i"], row["class"], row["label"]) == (i, box.class_index, "")
        assert row["score"] == pytest.approx(box.score, abs=6e-5)
        assert row["box"] == pytest.approx([box.xmin, box.ymin, box.xmax, box.ymax], abs=0.051)
    for words, text in (
        (["--helpless"], "--help lists the options; unknown is --helpless"),
        (["--runs"], "no value for --runs"),
        (
            ["--runs", "many"],
            "a number is malformed or out of range, or there are too many files, for --runs",
        ),
        (["--image", "a"] * 17, "too many files, for --image"),
    ):
        ran = subprocess.run([delivery.runner, *words], capture_output=True, text=True, check=False)
        assert ran.returncode == 64
        assert text in ran.stdout
    ran = subprocess.run([delivery.runner, "--help"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0
    assert {"--input FILE", "--image FILE", "--threads N", "--per-op"} <= {*ran.stdout.split("  ")}


@pytest.mark.build
def test_a_runner_with_the_decoder_takes_jpeg_and_png_files(tmp_path: Path) -> None:
    delivery = built(tmp_path, pictures=True)
    assert delivery.model is not None
    session = Session(trimtab.load(delivery.model))
    rows, columns = np.mgrid[:77, :101]
    smooth = np.stack([rows * 3, columns * 2, (rows + columns) % 256], -1).astype(np.uint8)
    pictures = {"rgb.png": Picture.fromarray(smooth), "photo.jpg": Picture.fromarray(smooth)}
    pictures["gray.png"] = Picture.fromarray(smooth[..., 0])
    pictures["indexed.png"] = Picture.fromarray(smooth // 64 * 64).quantize(64)
    for name, picture in pictures.items():
        picture.save(tmp_path / name, quality=95)
        ran = launched(delivery, tmp_path / name)
        assert ran.returncode == 0, ran.stdout
        # Pillow's decoders are the oracle; those of JPEG differ in rounding and in chroma between.
        pixels = np.asarray(Picture.open(tmp_path / name).convert("RGB"))
        expected = session.run(pixels)["y"].ravel()
        result = np.fromfile(tmp_path / "out0.bin", np.float32)
        steps = 3 if name.endswith("jpg") else 1e-2
        largest = np.abs(expected).max()
        np.testing.assert_allclose(result, expected, rtol=0, atol=steps / 255 * largest)
    whole = (tmp_path / "rgb.png").read_bytes()
    for size in (4, 20, 60, len(whole) // 2):
        (tmp_path / "cut.png").write_bytes(whole[:size])
        ran = launched(delivery, tmp_path / "cut.png")
        assert ran.returncode == 8
        assert "a JPEG or PNG file is damaged" in ran.stdout
    # The size is compared with the camera's and with the memory before anything is decoded.
    (tmp_path / "large.png").write_bytes(picture_files.header(16384, 16384, 8, 2))
    ran = launched(delivery, tmp_path / "large.png")
    assert ran.returncode == 7
    assert "exceeds the camera's frame" in ran.stdout
    used = sum(memory_of(launched(delivery, tmp_path / "rgb.png").stdout))
    needed = 3 * 101 * 77 + 2 * 320  # the pixels, and two rows in blocks of 64 bytes
    for limit, code in ((used + needed, 0), (used + needed - 1, 9)):
        ran = launched(delivery, tmp_path / "rgb.png", "--max-memory", str(limit))
        assert ran.returncode == code, ran.stdout
    assert "more memory than --max-memory leaves" in ran.stdout


def test_pictures_need_a_camera_with_frames_of_any_size() -> None:
    fixed = BuildOptions(
        network=RecipeOptions(model="net.onnx", input=("x=camera(rgb, 8x8)",)), pictures=True
    )
    with pytest.raises(UsageError, match="frames may differ in size"):
        fixed.recipe()


@pytest.mark.parametrize("format", ["nv12", "nv21", "i420"])
@pytest.mark.parametrize("rows", [1, 4, 7, 10])
def test_a_frame_of_a_height_that_no_picture_has_is_refused(format: str, rows: int) -> None:
    with pytest.raises(UsageError, match=f"a frame of {format} cannot be uint8"):
        Frame(np.zeros((rows, 4), np.uint8), format)
    for fitting in (rows + 1, rows + 2):
        assert [p.size for p in Frame(np.zeros((fitting, 4), np.uint8), format).planes()]


@pytest.mark.parametrize("shape", [(0, 6, 3), (4, 0, 3), (0, 0, 3)])
def test_a_frame_without_pixels_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="a frame of rgb cannot be uint8"):
        Frame(np.zeros(shape, np.uint8), "rgb")


@pytest.mark.parametrize("values", [{"width": 1.5}, {"crop": (0, 0, 1.5, 2)}, {"crop": (1, 2)}])
def test_numbers_of_a_frame_are_whole(values: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"width must be|crop"):
        Frame(np.zeros((4, 4, 3), np.uint8), "rgb", **values)
    with pytest.raises(UsageError, match="pixels of a frame are a list"):
        Frame([[1]], "gray")  # type: ignore[arg-type]


@pytest.mark.parametrize("argument", ["threads", "max_memory_bytes"])
@pytest.mark.parametrize("value", [1.5, "1", None, -1, 2**70])
def test_counts_of_a_session_are_whole_numbers(argument: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"{argument} must be"):
        Session(network((1, 3, 8, 8)), **{argument: value})


def test_the_name_of_a_plan_file_is_no_plan() -> None:
    program: Any = network((1, 3, 8, 8))
    uses: tuple[Any, ...] = (Session, lambda program, plan: trimtab.optimize(program, None, plan))
    for use in uses:
        with pytest.raises(UsageError, match=r"is a str, not a trimtab\.Plan") as caught:
            use(program, plan="x.toml")
        assert "Plan.read" in caught.value.hint
