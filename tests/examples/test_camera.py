"""examples/camera: pictures and frames to boxes, against OpenCV's preprocessing and suppression
around onnxruntime.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest
from PIL import Image

from tests.devices.conftest import require
from tests.examples.test_face_detector import run
from tests.heads import detectors
from tests.heads.reference import Array
from tests.importers.test_hints import ultralytics
from tests.ops import oracle
from trimtab import paths
from trimtab.build.builder import Build
from trimtab.camera import parse
from trimtab.devices import find_device
from trimtab.heads import HeadRequest
from trimtab.pipeline.built import build
from trimtab.pipeline.loaded import load
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import Recipe

EXAMPLE = paths.root() / "examples" / "camera"
LABELS = ("person", "traffic light", "café", "d", "e")
HEIGHT, WIDTH = 64, 96
TEXT = (24, 128)  # height and width of a line
CHARACTERS = "abcdéf"
KINDS = {"objects": "yolov8", "pose": "yolov8_pose"}
CAMERA = "camera(nv12, 16x16..320x240) | yolo"
SCORE, IOU = 0.05, 0.45


def pictures() -> dict[str, Array]:
    """Blocks of noise, uint8[h, w, 3], of three shapes."""
    rng = np.random.default_rng(5)
    sizes = {"wide.ppm": (120, 312), "tall.ppm": (200, 104), "odd.ppm": (77, 99)}
    noise = {name: rng.integers(0, 256, (h // 8 + 1, w // 8 + 1, 3), np.uint8)
             for name, (h, w) in sizes.items()}  # fmt: skip
    return {n: np.kron(x, np.ones((8, 8, 1), np.uint8))[: sizes[n][0], : sizes[n][1]]
            for n, x in noise.items()}  # fmt: skip


def video(path: Path, rgb: Array) -> None:
    """Two frames of a video."""
    height, width, _ = rgb.shape
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), 25, (width, height))
    for _ in range(2):
        writer.write(rgb)
    writer.release()


def letterboxed(rgb: Array, size: tuple[int, int]) -> tuple[Array, float, int, int]:
    """The network's input of (height, width) as Ultralytics makes it, its scale, and the left and
    upper margins.
    """
    (down, across), (height, width) = size, rgb.shape[:2]
    scale = min(across / width, down / height)
    w, h = round(width * scale), round(height * scale)
    left, top = round((across - w) / 2 - 0.1), round((down - h) / 2 - 0.1)
    small = cv2.resize(rgb, (w, h), interpolation=cv2.INTER_LINEAR)
    edges = (top, down - h - top, left, across - w - left)
    full = cv2.copyMakeBorder(small, *edges, cv2.BORDER_CONSTANT, value=(114, 114, 114))
    return full.transpose(2, 0, 1)[None].astype(np.float32) / 255, scale, left, top


def expected(
    model: onnx.ModelProto,
    rgb: Array,
    threshold: float = SCORE,
    size: tuple[int, int] = (HEIGHT, WIDTH),
) -> Array:
    """Rows of class, score and box, in pixels of the picture, best first."""
    x, scale, left, top = letterboxed(rgb, size)
    (output,) = oracle.run(model, {"images": x}).values()
    boxes, scores = output[0, :4].T.astype(float), output[0, 4 : 4 + len(LABELS)].T
    best, classes = scores.max(1), scores.argmax(1)
    corners = np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, 2:]], 1)
    chosen = np.asarray(cv2.dnn.NMSBoxesBatched(corners.tolist(), best.tolist(), classes.tolist(),
                                              threshold, IOU)).ravel()  # fmt: skip
    chosen = chosen[np.argsort(-best[chosen], kind="stable")]
    rows = np.concatenate([corners[:, :2], corners[:, :2] + corners[:, 2:]], 1)[chosen]
    rows = (rows - [left, top, left, top]) / scale
    height, width = rgb.shape[:2]
    rows = rows.clip(0, [width, height, width, height])
    return np.concatenate([classes[chosen, None], best[chosen, None], rows], 1)


def check(lines: list[str], rows: Array) -> None:
    """The same classes, scores and boxes; one step of a color moves a box by less than a pixel."""
    assert len(lines) == len(rows) > 2
    for line, row in zip(lines, rows, strict=True):
        label, values = line.rsplit(" ", 5)[0], line.rsplit(" ", 5)[1:]
        assert label == LABELS[int(row[0])]
        np.testing.assert_allclose([float(v) for v in values], row[1:], rtol=0.02, atol=0.5)


def recipe(kind: str, folder: Path, toolchain: str, cpu: str) -> tuple[onnx.ModelProto, Recipe]:
    """A network of this kind, with its head behind a camera."""
    if kind == "line":
        model = recognizer()
        head = HeadRequest("ctc", labels=("-", *CHARACTERS))
        one = parse(
            f"camera(nv12, 16x8..320x240) | resize({TEXT[1]}x{TEXT[0]}) | rgb | scale(1/255)"
        )
    else:
        model = detectors.yolov8(len(LABELS), (HEIGHT, WIDTH), seed=3)
        if kind == "pose":
            model = with_keypoints(model)
        head = HeadRequest(KINDS[kind], score=SCORE, iou=IOU, labels=LABELS, classes=len(LABELS))
        one = parse(CAMERA)
    onnx.save(model, folder / "net.onnx")
    for name, rgb in pictures().items():
        height, width, _ = rgb.shape
        (folder / name).write_bytes(b"P6\n%d %d\n255\n" % (width, height) + rgb.tobytes())
    return model, Recipe(
        str(folder / "net.onnx"),
        toolchain=toolchain,
        cpu=cpu,
        head=head,
        cameras={"images": one},
        output=folder / "dist",
    )


def with_keypoints(model: onnx.ModelProto) -> onnx.ModelProto:
    """The detector with three keypoints at each place: points of its box, and a score of 0.5."""
    graph = model.graph
    (last,) = (node for node in graph.node if node.output[0] == "output0")
    last.output[0] = "detections"
    rows = onnx.numpy_helper.from_array(np.array([0, 1, 4, 1, 0, 4, 0, 0, 4]), "rows")
    graph.initializer.append(rows)
    graph.node.append(onnx.helper.make_node("Gather", ["detections", "rows"], ["points"], axis=1))
    graph.node.append(
        onnx.helper.make_node("Concat", ["detections", "points"], ["output0"], axis=1)
    )
    return model


def recognizer() -> onnx.ModelProto:
    """A network that sees a line of text in columns of 8 pixels: [1, steps, characters]."""
    graph = detectors.Graph(*TEXT, seed=11)
    x = graph.conv("images", 3, 12, np.zeros(1), 8)
    x = graph.op("Relu", x)
    x = graph.conv(x, 12, len(CHARACTERS) + 1, np.zeros(1))
    x = graph.op("ReduceMean", x, axes=[2], keepdims=0)
    return graph.model(logits=graph.op("Transpose", x, perm=[0, 2, 1]))


def expected_text(model: onnx.ModelProto, rgb: Array) -> str:
    """The best characters of onnxruntime's logits, without blanks and repetitions."""
    small = cv2.resize(rgb, TEXT[::-1], interpolation=cv2.INTER_LINEAR)
    x = small.transpose(2, 0, 1)[None].astype(np.float32) / 255
    (logits,) = oracle.run(model, {"images": x}).values()
    best = logits[0].argmax(1)
    return "".join(
        CHARACTERS[index - 1]
        for index, before in zip(best, [0, *best[:-1]], strict=True)
        if index not in (0, before)
    )


def built(
    kind: str, folder: Path, toolchain: str = "host", cpu: str = ""
) -> tuple[onnx.ModelProto, Build]:
    model, one = recipe(kind, folder, toolchain, cpu)
    return model, build(plan(load(one))).delivered


def check_kind(kind: str, model: onnx.ModelProto, rgb: Array, output: str) -> None:
    """The output of a program for one picture."""
    if kind == "line":
        assert output == expected_text(model, rgb) + "\n"
        return
    lines, rows = output.splitlines(), expected(model, rgb)
    if kind == "pose":
        points = [line.rsplit(" ", 9) for line in lines]
        lines = [words[0] for words in points]
        for words, row in zip(points, rows, strict=True):
            x, y, *_ = (float(word) for word in words[1:])
            middle = (row[2] + row[4]) / 2, (row[3] + row[5]) / 2
            is_inside = row[2] > 0 and row[4] < rgb.shape[1] and row[3] > 0 and row[5] < len(rgb)
            if is_inside:  # boxes at an edge are cut
                np.testing.assert_allclose((x, y), middle, atol=0.6)
    check(lines, rows)


@pytest.mark.build
@pytest.mark.parametrize("kind", ["objects", "line"])
def test_the_c_programs_agree_with_the_reference_pipeline(kind: str, tmp_path: Path) -> None:
    model, delivered = built(kind, tmp_path)
    require("cc", "gcc")
    require("make", "make")
    example = tmp_path / "example"
    shutil.copytree(EXAMPLE, example)
    flags = f"CFLAGS=-O1 -Wall -Wextra -Werror -I{delivered.output_dir}"
    run("make", f"TRIMTAB={delivered.output_dir}", flags, cwd=example)
    program = example / ("line" if kind == "line" else "boxes")
    for name, rgb in pictures().items():
        check_kind(kind, model, rgb, run(program, delivered.model, name, cwd=tmp_path))
    (tmp_path / "big.ppm").write_bytes(b"P6 321 9 255\n" + bytes(321 * 9 * 3))
    for name, message in (("big.ppm", "exceeds the camera's frame"), ("no.ppm", "cannot be read")):
        argv = [str(program), str(delivered.model), name]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 1
        assert message in done.stderr


def test_the_python_program_draws_the_boxes_of_a_video(tmp_path: Path) -> None:
    _, one = recipe("objects", tmp_path, "host", "")
    load(one).network.program.save(tmp_path / "net.ttm")
    video(tmp_path / "video.mp4", pictures()["wide.ppm"])
    words = (sys.executable, EXAMPLE / "frames.py", "net.ttm", "video.mp4", "drawn")
    assert "traffic light" in run(*words, cwd=tmp_path)
    assert len(list((tmp_path / "drawn").glob("*.png"))) == 2


@pytest.mark.build
def test_the_commands_from_a_camera_to_boxes_run(tmp_path: Path) -> None:
    require("cc", "gcc")
    require("make", "make")
    page = (paths.root() / "docs" / "camera.md").read_text()
    section = page.split("## From a camera to boxes in ten minutes\n")[1].split("\n## ")[0]
    shutil.copytree(EXAMPLE, tmp_path / "examples" / "camera")
    model = ultralytics(tmp_path / "yolo.onnx")
    rgb = cv2.GaussianBlur(pictures()["wide.ppm"], (9, 9), 0)
    Image.fromarray(rgb).save(tmp_path / "photo.jpg", quality=95)
    np.zeros(1920 * 1620, np.uint8).tofile(tmp_path / "frame.nv12")
    video(tmp_path / "video.mp4", rgb)
    python = shlex.quote(sys.executable)
    own = {"./inv": f"{python} -P -m trimtab.cli", ".venv/bin/python": python}
    outputs = []
    for line in re.findall(r"^    (\S.*)$", section, re.M):
        first, rest = line.split(" ", 1)
        outputs.append(run("sh", "-c", f"{own.get(first, first)} {rest}", cwd=tmp_path))
    assert len(outputs) == 6
    photo = np.asarray(Image.open(tmp_path / "photo.jpg"))
    rows = expected(onnx.load(model), photo, 0.3, (64, 64))
    lines = outputs[3].splitlines()  # of the photo, then of the black frame
    assert len(lines) > len(rows) > 0
    for line, row in zip(lines[: len(rows)], rows, strict=True):
        np.testing.assert_allclose([float(v) for v in line.split()[-5:]], row[1:], 0.02, 0.5)
    assert list((tmp_path / "drawn").glob("*.png"))


@pytest.mark.slow
@pytest.mark.build
@pytest.mark.device
@pytest.mark.parametrize("kind", ["objects", "pose", "line"])
def test_the_c_programs_run_on_the_board(kind: str, tmp_path: Path) -> None:
    model, delivered = built(kind, tmp_path, "aarch64-linux-musl", "cortex-a53")
    compiler = (sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl", "-static")
    library = delivered.output_dir / "libtrimtab.a"
    source = EXAMPLE / ("line.c" if kind == "line" else "boxes.c")
    run(*compiler, "-std=c99", f"-I{delivered.output_dir}", source, library,
        "-o", "program", "-lm", "-lpthread", cwd=tmp_path)  # fmt: skip
    assert delivered.model is not None
    with find_device("qemu-a53").open() as device:
        argv = [device.push(path).path for path in (tmp_path / "program", delivered.model)]
        for name, rgb in pictures().items():
            done = device.run([*argv, device.push(tmp_path / name).path], timeout_s=600)
            assert done.exit_code == 0, done.stderr
            check_kind(kind, model, rgb, done.stdout.decode())
