"""examples/camera: pictures and frames to boxes, against OpenCV's preprocessing and suppression
around onnxruntime.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest

from tests.devices.conftest import require
from tests.examples.test_face_detector import run
from tests.heads import detectors
from tests.heads.reference import Array
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


def letterboxed(rgb: Array) -> tuple[Array, float, int, int]:
    """The network's input as Ultralytics makes it, its scale, and the left and upper margins."""
    height, width = rgb.shape[:2]
    scale = min(WIDTH / width, HEIGHT / height)
    w, h = round(width * scale), round(height * scale)
    left, top = round((WIDTH - w) / 2 - 0.1), round((HEIGHT - h) / 2 - 0.1)
    small = cv2.resize(rgb, (w, h), interpolation=cv2.INTER_LINEAR)
    edges = (top, HEIGHT - h - top, left, WIDTH - w - left)
    full = cv2.copyMakeBorder(small, *edges, cv2.BORDER_CONSTANT, value=(114, 114, 114))
    return full.transpose(2, 0, 1)[None].astype(np.float32) / 255, scale, left, top


def expected(model: onnx.ModelProto, rgb: Array) -> Array:
    """Rows of class, score and box, in pixels of the picture, best first."""
    x, scale, left, top = letterboxed(rgb)
    (output,) = oracle.run(model, {"images": x}).values()
    boxes, scores = output[0, :4].T.astype(float), output[0, 4:].T
    best, classes = scores.max(1), scores.argmax(1)
    corners = np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, 2:]], 1)
    chosen = np.asarray(cv2.dnn.NMSBoxesBatched(corners.tolist(), best.tolist(), classes.tolist(),
                                              SCORE, IOU)).ravel()  # fmt: skip
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


def built(folder: Path, toolchain: str = "host", cpu: str = "") -> tuple[onnx.ModelProto, Build]:
    model = detectors.yolov8(len(LABELS), (HEIGHT, WIDTH), seed=3)
    onnx.save(model, folder / "net.onnx")
    head = HeadRequest("yolov8", score=SCORE, iou=IOU, labels=LABELS)
    recipe = Recipe(str(folder / "net.onnx"), toolchain=toolchain, cpu=cpu, head=head,
                    cameras={"images": parse(CAMERA)}, output=folder / "dist")  # fmt: skip
    for name, rgb in pictures().items():
        height, width, _ = rgb.shape
        (folder / name).write_bytes(b"P6\n%d %d\n255\n" % (width, height) + rgb.tobytes())
    return model, build(plan(load(recipe))).delivered


@pytest.mark.build
def test_the_c_program_finds_the_boxes_of_the_reference_pipeline(tmp_path: Path) -> None:
    model, delivered = built(tmp_path)
    require("cc", "gcc")
    program = tmp_path / "boxes"
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{delivered.output_dir}"]
    library = delivered.output_dir / "libtrimtab.a"
    run("cc", *flags, EXAMPLE / "boxes.c", library, "-o", program, "-lm", "-lpthread", cwd=tmp_path)
    for name, rgb in pictures().items():
        lines = run(program, delivered.model, name, cwd=tmp_path).splitlines()
        check(lines, expected(model, rgb))
    (tmp_path / "big.ppm").write_bytes(b"P6 321 9 255\n" + bytes(321 * 9 * 3))
    for name, message in (("big.ppm", "exceeds the camera's frame"), ("no.ppm", "cannot be read")):
        argv = [str(program), str(delivered.model), name]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 1
        assert message in done.stderr


@pytest.mark.slow
@pytest.mark.build
@pytest.mark.device
def test_the_c_program_runs_on_the_board(tmp_path: Path) -> None:
    model, delivered = built(tmp_path, "aarch64-linux-musl", "cortex-a53")
    compiler = (sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl", "-static")
    library = delivered.output_dir / "libtrimtab.a"
    run(*compiler, "-std=c99", f"-I{delivered.output_dir}", EXAMPLE / "boxes.c", library,
        "-o", "boxes", "-lm", "-lpthread", cwd=tmp_path)  # fmt: skip
    assert delivered.model is not None
    with find_device("qemu-a53").open() as device:
        argv = [device.push(path).path for path in (tmp_path / "boxes", delivered.model)]
        for name, rgb in pictures().items():
            done = device.run([*argv, device.push(tmp_path / name).path], timeout_s=600)
            assert done.exit_code == 0, done.stderr
            check(done.stdout.decode().splitlines(), expected(model, rgb))
