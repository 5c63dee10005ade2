"""A sweep with the real builder, emulator and runner: killed, and run again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.devices.conftest import require
from trimtab.errors import UsageError
from trimtab.results import index, records
from trimtab.sweep import run

MATRIX = """
[matrix]
model = ["dense.onnx", "depthwise.onnx"]
prefer = ["balanced", "size"]
device = "qemu-a53"
"""


def network(path: Path, groups: int) -> None:
    """A convolution of a float32[1, 8, 16, 16] with 8 channels, and a ReLU."""
    weights = np.random.default_rng(0).normal(size=(8, 8 // groups, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["sums"], kernel_shape=[3, 3], group=groups),
        helper.make_node("Relu", ["sums"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 16, 16])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 14, 14])
    graph = helper.make_graph(nodes, "net", [x], [y], [numpy_helper.from_array(weights, "w")])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)


def command(file: Path, folder: Path, *options: str) -> list[str]:
    argv = [sys.executable, "-m", "trimtab.cli", "sweep", str(file), "--results", str(folder)]
    return [*argv, *options]


def record_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}


@pytest.mark.build
@pytest.mark.device
def test_a_killed_sweep_resumes_at_its_place(tmp_path: Path, root: Path) -> None:
    require("qemu-aarch64", "qemu-user")
    file, folder = tmp_path / "mine.toml", tmp_path / "results"
    file.write_text(MATRIX)
    network(tmp_path / "dense.onnx", 1)
    network(tmp_path / "depthwise.onnx", 8)
    environment = {**os.environ, "CI": "1"}
    started = subprocess.Popen(
        command(file, folder), cwd=root, env=environment, start_new_session=True
    )
    while not record_bytes(folder) and started.poll() is None:
        time.sleep(0.05)
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()
    before = record_bytes(folder)
    assert 1 <= len(before) < 4, "it was killed in the middle"

    completed = subprocess.run(
        command(file, folder, "--json"), cwd=root, capture_output=True, text=True, check=True
    )
    rows: list[dict[str, Any]] = json.loads(completed.stdout)["cells"]
    assert [row["status"] for row in rows] == ["OK"] * 4
    assert Counter(row["measured"] for row in rows)["earlier"] == len(before)
    after = record_bytes(folder)
    assert before.items() <= after.items(), "what was measured stays as it was"
    assert len(after) == 4, "no cell has a second record"
    of_cells = Counter(entry.cell for entry in index.entries(folder))
    assert set(of_cells.values()) == {1}
    one = records.read(folder / next(iter(after)))
    role = one.header.protocol["sweep"]
    assert role["name"] == "mine"
    assert role["configuration"]["device"] == "qemu-a53"
    by_prefer = {
        (row["configuration"]["model"], row["configuration"]["prefer"]): row for row in rows
    }
    small, fast = by_prefer["dense.onnx", "size"], by_prefer["dense.onnx", "balanced"]
    assert small["binary_bytes"] < fast["binary_bytes"]

    listed = subprocess.run(
        command(file, folder, "--dry-run"), cwd=root, capture_output=True, text=True, check=True
    )
    assert "4 cells: all are measured" in listed.stdout
    again = subprocess.run(command(file, folder), cwd=root, capture_output=True, check=True)
    assert again.returncode == 0
    assert record_bytes(folder) == after


def test_a_file_that_is_missing_names_the_sweeps_that_come_with_trimtab(tmp_path: Path) -> None:
    assert run.find_file("demo").name == "demo.toml"
    own = tmp_path / "own.toml"
    own.touch()
    assert run.find_file(str(own)) == own
    for name in ("dmo", str(tmp_path / "demo.toml")):
        with pytest.raises(UsageError, match="no such file") as caught:
            run.find_file(name)
        assert "demo, zoo" in caught.value.hint
