"""The tutorial is run, command by command, with a small detector on this machine."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import trimtab
from tests.page_data import page_data
from trimtab.planner.plan_file import Plan

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "tutorial-int8.md"
# The reader's cross compiler and board are replaced; all other words stay.
HERE = {"aarch64-linux-musl": "host", "pi4": "local"}
SHORT = ("--launches", "1", "--runs", "1", "--min-time-ms", "0", "--warmup", "0")


def commands() -> list[list[str]]:
    lines = re.findall(r"^    \./inv (.*)$", TUTORIAL.read_text(), re.M)
    result = []
    for line in lines:
        words = [HERE.get(word, word) for word in shlex.split(line)]
        if "--cpu" in words:
            at = words.index("--cpu")
            del words[at : at + 2]
        result.append([*words, *SHORT] if words[0] == "bench" else words)
    return result


def detector(path: Path) -> None:
    """Two heads on a backbone with a depthwise convolution: [1, 2, 8, 8] and [1, 4, 8, 8]."""
    rng = np.random.default_rng(4)
    shapes = {"a": (16, 3, 3, 3), "b": (16, 1, 3, 3), "c": (32, 16, 1, 1)}
    shapes |= {"scores": (2, 32, 1, 1), "boxes": (4, 32, 3, 3)}
    weights = {n: rng.normal(0, np.prod(s[1:]) ** -0.5, s) for n, s in shapes.items()}
    nodes = []
    for x, w, more in (
        ("x", "a", {"strides": [2, 2], "pads": [1] * 4}),
        ("a_out", "b", {"strides": [2, 2], "pads": [1] * 4, "group": 16}),
        ("b_out", "c", {}),
    ):
        nodes.append(helper.make_node("Conv", [x, f"{w}_w"], [f"{w}_conv"], name=w, **more))
        nodes.append(helper.make_node("Relu", [f"{w}_conv"], [f"{w}_out"], name=f"{w}_relu"))
    nodes.append(helper.make_node("Conv", ["c_out", "scores_w"], ["scores"], name="scores"))
    nodes.append(
        helper.make_node("Conv", ["c_out", "boxes_w"], ["boxes"], name="boxes", pads=[1] * 4)
    )
    outputs = {"scores": (1, 2, 8, 8), "boxes": (1, 4, 8, 8)}
    graph = helper.make_graph(
        nodes,
        "detector",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 32, 32))],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs.items()],
        [numpy_helper.from_array(w.astype(np.float32), f"{n}_w") for n, w in weights.items()],
    )
    output = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(output, path)


def photos(folder: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    folder.mkdir()
    rng = np.random.default_rng(3)
    for i in range(15):
        coarse = rng.integers(0, 256, (6, 6, 3), np.uint8)
        image.fromarray(coarse).resize((48, 40)).save(folder / f"{i:02}.png")
    (settings,) = re.findall(r"```toml\n(.*?)```", TUTORIAL.read_text(), re.S)
    (folder / "pictures.toml").write_text(settings)


def chart(page: str, title: str) -> Any:
    """The data that the script of a report draws under a title."""
    (data,) = page_data(page)
    (result,) = (one["data"] for one in json.loads(data) if one["title"] == title)
    return result


@pytest.mark.build
def test_the_tutorial_leads_to_a_plan_and_binaries(tmp_path: Path) -> None:
    detector(tmp_path / "detector.onnx")
    photos(tmp_path / "photos")
    messages = []
    for words in commands():
        ran = subprocess.run(
            [sys.executable, "-P", "-m", "trimtab.cli", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, f"{shlex.join(words)}\n{ran.stderr}"
        messages.append(ran)
    assert len(messages) == 5
    quantized, int8, mixed, remaining, again = messages
    assert "cosine" in quantized.stdout
    assert (tmp_path / "ranges.toml").stat().st_size
    assert int8.stdout.startswith("Accuracy")
    page = (tmp_path / "report.html").read_text()
    assert page.index("Accuracy") < page.index("Precision: error against cost")
    dots = chart(page, "Precision: error against cost")["dots"]
    assert len(dots) > 2
    assert sum(dot["marked"] for dot in dots) == 1
    assert mixed.stdout.index("Accuracy") < mixed.stdout.index("Speed and memory")
    plan = Plan.read(tmp_path / "dist" / "mixed" / "plan.toml")
    assert plan.precision == "mixed"
    assert {"a", "b", "c", "scores", "boxes"} <= plan.precisions.keys()
    assert "evaluating operators" in remaining.stderr
    assert "evaluating operators" not in again.stderr
    output = [
        (tmp_path / "dist" / name / "detector.ttm").read_bytes() for name in ("mixed", "again")
    ]
    assert output[0] == output[1]
    small = trimtab.load(tmp_path / "detector_int8.ttm")
    assert trimtab.Session(small).run({"x": np.zeros((1, 3, 32, 32), np.float32)})
