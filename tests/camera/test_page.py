"""docs/camera.md: its commands run, and its tables are those of the sources."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import trimtab
from tests.some import some
from trimtab.camera.description import METHODS
from trimtab.camera.families import FAMILIES
from trimtab.camera.formats import FORMATS
from trimtab.pipeline import input_shapes
from trimtab.pipeline.loaded import load
from trimtab.pipeline.recipe import Recipe
from trimtab.pipeline.reference import expected_output

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "camera.md").read_text()
BUILD = ("--toolchain", "host", "--output", "built")


def network(path: Path) -> None:
    """A convolution with a stride of 8 over float32[1, 3, 640, 640]."""
    weights = np.random.default_rng(1).standard_normal((4, 3, 8, 8)).astype(np.float32)
    x = helper.make_tensor_value_info("images", TensorProto.FLOAT, (1, 3, 640, 640))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 4, 80, 80))
    node = helper.make_node("Conv", ["images", "w"], ["y"], strides=(8, 8))
    graph = helper.make_graph([node], "net", [x], [y], [numpy_helper.from_array(weights, "w")])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)


@pytest.mark.build
def test_the_commands_of_the_page_convert_build_and_run_a_network(tmp_path: Path) -> None:
    network(tmp_path / "net.onnx")
    frame = np.random.default_rng(2).integers(0, 256, (1620, 1920), np.uint8)
    frame.tofile(tmp_path / "frame.nv12")
    lines = re.findall(r"^    (\S.*)$", PAGE.split("## The description")[0], re.M)
    assert len(lines) == 3
    for line in lines:
        words = shlex.split(line)
        if words[0] == "./inv":
            words = [sys.executable, "-P", "-m", "trimtab.cli", *words[1:]]
        ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, f"{line}\n{ran.stderr}"
    (output,) = tmp_path.glob("*.bin")
    result = np.fromfile(output, np.float32)
    converted = trimtab.Session(trimtab.load(tmp_path / "net.ttm"))
    np.testing.assert_allclose(result, converted.run(frame)["y"].ravel(), rtol=1e-4, atol=1e-4)


def test_the_reference_of_a_network_behind_a_camera_is_independent(tmp_path: Path) -> None:
    network(tmp_path / "net.onnx")
    camera = trimtab.camera.parse("camera(yuyv, 41x30) | yolo")
    loaded = load(Recipe(model=str(tmp_path / "net.onnx"), cameras={"images": camera}))
    expected = expected_output(loaded)
    assert "onnxruntime" in expected.oracle
    (pixels,) = expected.inputs
    assert pixels.shape == camera.frame_shape
    assert pixels.dtype == np.uint8
    assert pixels.max() == 255
    (y,) = trimtab.Session(loaded.network.program).run(pixels).values()
    np.testing.assert_allclose(y, expected.outputs[0], rtol=1e-3, atol=1e-3)


def test_the_examples_in_python_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    writer = cv2.VideoWriter("video.mp4", cv2.VideoWriter.fourcc(*"mp4v"), 25, (640, 480))
    for value in (0, 90):
        writer.write(np.full((480, 640, 3), value, np.uint8))
    writer.release()
    examples = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    names: dict[str, Any] = {}
    exec("\n".join(examples), names)
    assert (names["frame"].pixels > 60).all()
    with pytest.raises(trimtab.TrimtabError, match="cannot open the video"):
        next(trimtab.camera.frames("none.mp4"))


def test_the_tables_have_all_formats_methods_and_families() -> None:
    for name in some((*FORMATS, *METHODS)):
        assert f"`{name}`" in PAGE
    for name, steps in FAMILIES.items():
        assert f"| `{name}` | `{steps.replace('|', chr(92) + '|')}` |" in PAGE


def test_an_input_is_a_shape_or_a_camera() -> None:
    texts = re.findall(r'--input "([^"]*)"', PAGE)
    shapes, cameras, _ = input_shapes.parse_all([*texts[:1], "other=1,3"])
    assert shapes == {"other": (1, 3)}
    assert cameras["images"].frame_shape == (1620, 1920)
    with pytest.raises(trimtab.TrimtabError, match="two cameras"):
        input_shapes.parse_all(texts)
