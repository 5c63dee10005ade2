"""examples/face_detector compiled beside a build, against onnxruntime and boxes chosen in numpy."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.devices.conftest import require
from trimtab import paths
from trimtab.build import cmake_runner
from trimtab.build.builder import Build
from trimtab.devices import find_device
from trimtab.pipeline.built import build
from trimtab.pipeline.loaded import load
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import Recipe

EXAMPLE = paths.root() / "examples" / "face_detector"
THRESHOLD = 0.7
SIZE, CELLS = (64, 96), (8, 12)  # the model's input, and its grid


def detector(path: Path) -> Path:
    """A model with a box of about two cells at each of 8 x 12 positions; weights are seeded."""
    rng = np.random.default_rng(7)
    anchors = np.stack(np.meshgrid(np.arange(12), np.arange(8)), -1).reshape(1, -1, 2) + 0.5
    centers = np.concatenate([anchors - 1, anchors + 1], -1) / [12, 8, 12, 8]
    weights = {
        "body_w": rng.normal(0, 0.15, (8, 3, 9, 9)),
        "scores_w": rng.normal(0, 2.0, (2, 8, 1, 1)),
        "shifts_w": rng.normal(0, 0.02, (4, 8, 1, 1)),
        "centers": centers,
    }
    nodes = [
        helper.make_node("Conv", ["x", "body_w"], ["body"], strides=[8, 8], pads=[4, 4, 4, 4]),
        helper.make_node("Relu", ["body"], ["features"]),
        helper.make_node("Reshape", ["moved_boxes", "box_shape"], ["shifts"]),
        helper.make_node("Add", ["shifts", "centers"], ["boxes"]),
    ]
    for i, (head, name) in enumerate((("scores", "class"), ("shifts", "boxes"))):
        nodes.insert(2 + i, helper.make_node("Conv", ["features", f"{head}_w"], [f"raw_{name}"]))
    nodes[4:4] = [
        helper.make_node("Transpose", [f"raw_{n}"], [f"moved_{n}"], perm=[0, 2, 3, 1])
        for n in ("class", "boxes")
    ]
    nodes += [
        helper.make_node("Reshape", ["moved_class", "class_shape"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["scores"], axis=-1),
    ]
    tensors = [numpy_helper.from_array(w.astype(np.float32), n) for n, w in weights.items()]
    for name, size in (("box_shape", 4), ("class_shape", 2)):
        tensors.append(numpy_helper.from_array(np.array([1, -1, size]), name))
    infos = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, s)
        for n, s in (("x", (1, 3, *SIZE)), ("scores", (1, 96, 2)), ("boxes", (1, 96, 4)))
    ]
    graph = helper.make_graph(nodes, "detector", infos[:1], infos[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


def picture(path: Path) -> np.ndarray:
    """Writes seeded blocks of noise as a PPM file, in another size than the model's input."""
    blocks = np.random.default_rng(1).integers(0, 256, (11, 17, 3), np.uint8)
    pixels = np.kron(blocks, np.ones((9, 8, 1), np.uint8))
    height, width, _ = pixels.shape
    path.write_bytes(b"P6\n%d %d\n255\n" % (width, height) + pixels.tobytes())
    return pixels


def expected(model: Path, pixels: np.ndarray) -> np.ndarray:
    """Score, left, top, right, bottom of the boxes after NMS [n, 5], best first."""
    height, width, _ = pixels.shape
    rows, columns = (np.arange(n) * m // n for n, m in zip(SIZE, (height, width), strict=True))
    x = ((pixels[rows][:, columns].astype(np.float32) - 127) / 128).transpose(2, 0, 1)[None]
    scores, boxes = onnxruntime.InferenceSession(model).run(["scores", "boxes"], {"x": x})
    candidates = np.concatenate([scores[0, :, 1:], boxes[0] * [width, height, width, height]], 1)
    candidates = candidates[np.argsort(-candidates[:, 0])]
    remaining = candidates[candidates[:, 0] > THRESHOLD]
    result = []
    while len(remaining):
        best, remaining = remaining[0], remaining[1:]
        result.append(best)
        low, high = np.maximum(remaining[:, 1:3], best[1:3]), np.minimum(remaining[:, 3:], best[3:])
        both = np.prod(np.clip(high - low, 0, None), axis=1)
        own = np.prod(best[3:] - best[1:3]) + np.prod(remaining[:, 3:] - remaining[:, 1:3], axis=1)
        remaining = remaining[both / (own - both) <= 0.3]
    return np.array(result)


def read(text: str) -> np.ndarray:
    return np.array([[float(word) for word in line.split()] for line in text.splitlines()])


def built(model: Path, folder: Path, toolchain: str = "host", cpu: str = "") -> Build:
    recipe = Recipe(str(model), toolchain=toolchain, cpu=cpu, output=folder)
    return build(plan(load(recipe))).delivered


def copied(folder: Path) -> Path:
    """A copy of the example's sources."""
    shutil.copytree(EXAMPLE, folder)
    return folder


def run(*argv: object, cwd: Path) -> str:
    words = [str(word) for word in argv]
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def assert_drawn(path: Path, pixels: np.ndarray, boxes: np.ndarray) -> None:
    """The corner of every box is green, and nothing changed where no box is."""
    data = path.read_bytes()
    drawn = np.frombuffer(data, np.uint8, pixels.size, len(data) - pixels.size)
    drawn = drawn.reshape(pixels.shape)
    frame = np.zeros(pixels.shape[:2], bool)
    for _, left, top, right, bottom in boxes:
        x0, x1 = (int(np.clip(v, 0, pixels.shape[1] - 1)) for v in (left, right))
        y0, y1 = (int(np.clip(v, 0, pixels.shape[0] - 1)) for v in (top, bottom))
        frame[y0 : y1 + 1, [x0, x1]] = frame[[y0, y1], x0 : x1 + 1] = True
    np.testing.assert_array_equal(drawn[frame], np.broadcast_to([0, 255, 0], (frame.sum(), 3)))
    np.testing.assert_array_equal(drawn[~frame], pixels[~frame])


@pytest.mark.build
def test_the_c_and_python_programs_detect_the_same_boxes_as_onnxruntime(tmp_path: Path) -> None:
    model, pixels = detector(tmp_path / "net.onnx"), picture(tmp_path / "in.ppm")
    want = expected(model, pixels)
    assert 3 <= len(want) < 96
    delivered = built(model, tmp_path / "dist")
    example = copied(tmp_path / "example")
    require("cc", "gcc")
    require("make", "make")
    run("make", f"TRIMTAB={delivered.output_dir}", cwd=example)
    words = (delivered.model, tmp_path / "in.ppm", tmp_path / "out.ppm", THRESHOLD)
    actual = read(run(example / "face_detector", *words, cwd=tmp_path))
    np.testing.assert_allclose(actual, want, rtol=0, atol=0.02)
    assert_drawn(tmp_path / "out.ppm", pixels, want)
    in_python = run(sys.executable, example / "face_detector.py", model, *words[1:2], cwd=tmp_path)
    np.testing.assert_allclose(read(in_python), want, rtol=0, atol=0.02)
    for name, message in (("nothing.ppm", "cannot be opened"), ("net.onnx", "is not a binary")):
        argv = [str(example / "face_detector"), str(delivered.model), str(tmp_path / name)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert message in done.stderr


@pytest.mark.slow
@pytest.mark.build
def test_cmake_builds_the_c_program(tmp_path: Path) -> None:
    delivered = built(detector(tmp_path / "net.onnx"), tmp_path / "dist")
    require("cc", "gcc")
    require("make", "make")
    prefix = f"-DCMAKE_PREFIX_PATH={delivered.output_dir}"
    run(cmake_runner.cmake(), "-S", EXAMPLE, "-B", tmp_path / "tree", prefix, cwd=tmp_path)
    run(cmake_runner.cmake(), "--build", tmp_path / "tree", cwd=tmp_path)
    picture(tmp_path / "in.ppm")
    assert run(tmp_path / "tree" / "face_detector", delivered.model, "in.ppm", cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.build
@pytest.mark.device
def test_the_c_program_runs_on_the_board(tmp_path: Path) -> None:
    model, pixels = detector(tmp_path / "net.onnx"), picture(tmp_path / "in.ppm")
    delivered = built(model, tmp_path / "dist", "aarch64-linux-musl", "cortex-a53")
    assert delivered.model is not None
    example = copied(tmp_path / "example")
    python = shlex.quote(sys.executable).replace("$", "$$")  # for make
    compiler = f"{python} -m ziglang cc -target aarch64-linux-musl"
    require("make", "make")
    prefix = f"TRIMTAB={delivered.output_dir}"
    run("make", prefix, f"CC={compiler}", "LDFLAGS=-static", cwd=example)
    with find_device("qemu-a53").open() as device, device.scratch() as scratch:
        argv = [device.push(path).path for path in (example / "face_detector", delivered.model)]
        argv += [device.push(tmp_path / "in.ppm").path, f"{scratch}/out.ppm"]
        done = device.run(argv, timeout_s=600)
        assert done.exit_code == 0, done.stderr
        device.pull(f"{scratch}/out.ppm", tmp_path / "out.ppm")
    want = expected(model, pixels)
    np.testing.assert_allclose(read(done.stdout.decode()), want, rtol=0, atol=0.02)
    assert_drawn(tmp_path / "out.ppm", pixels, want)


def test_the_usage_in_the_header_is_a_part_of_the_example() -> None:
    calls = re.compile(r"\b(trimtab_[a-z_]+)\(")
    header = (paths.root() / "runtime" / "api" / "trimtab.h").read_text()
    usage = calls.findall(header[: header.index("#ifndef TRIMTAB_H_")])
    program = (EXAMPLE / "face_detector.c").read_text()
    shown = iter(calls.findall(program[program.index("int main") :]))
    assert len(usage) >= 5
    assert all(name in shown for name in usage), "another order, or a call that it lacks"


def test_its_folder_has_what_the_readme_names() -> None:
    named = {"face_detector.c", "face_detector.py", "Makefile", "CMakeLists.txt", "README.md"}
    assert {path.name for path in EXAMPLE.iterdir() if path.is_file()} == named
