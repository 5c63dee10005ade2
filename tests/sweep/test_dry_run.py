"""A sweep's dry run: what it lists, and the mistakes that it finds without building anything."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from trimtab.sweep import dry_run, outcome_table, run
from trimtab.sweep.dry_run import ListedCell


def write_free_network(path: Path) -> None:
    """A ReLU over an image whose height and width are free."""
    dims: list[str | int | None] = [1, 3, "height", "width"]
    graph = helper.make_graph(
        [helper.make_node("Relu", ["data"], ["out"])],
        "free",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, dims)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)


def survey(tmp_path: Path, lines: str) -> list[ListedCell]:
    write_free_network(tmp_path / "net.onnx")
    path = tmp_path / "mine.toml"
    path.write_text(f"[matrix]\nmodel = 'net.onnx'\n{lines}\n")
    return dry_run.survey(run.read(path), tmp_path / "results")[0]


def test_it_lists_the_shapes_and_samples_of_each_cell(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", data=np.zeros((5, 3, 8, 8), np.float32))
    listed = survey(
        tmp_path,
        "input = ['data=1,3,8,8']\nprecision = ['f32', 'int8']\ncalibration = 'a.npz'",
    )
    assert [one.inputs for one in listed] == [{"data": (1, 3, 8, 8)}] * 2
    assert [one.problem for one in listed] == ["", ""]
    header, *rows = dry_run.listing(listed).text().splitlines()
    assert header.split() == ["precision", "calibration", "inputs", "state"]
    assert "data=1,3,8,8" in rows[-1]
    assert "a.npz" in rows[-1]
    assert "a.npz" not in rows[-2]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("", "input 'data' has free dimensions"),
        ("input = 'image=1,3,8,8'", "there is no input 'image'"),
        ("input = 'data=1,4,8,8'", "does not fit"),
        ("input = 'data=1,3,8,8'\nprecision = 'int8'", "samples are missing"),
        ("input = 'data=1,3,8,8'\nprecision = 'f16'\ndevice = 'qemu-a53'", "no f16 arithmetic"),
        ("input = 'data=1,3,8,8'\nprecision = 'mixed'", "mixed precision needs a budget"),
        ("input = 'data=1,3,8,8'\nprecision = 'int8'\ncalibration = 'small.npz'", "small.npz"),
    ],
)
def test_it_names_what_prevents_a_build(tmp_path: Path, lines: str, says: str) -> None:
    np.savez(tmp_path / "small.npz", data=np.zeros((5, 3, 4, 4), np.float32))
    (one,) = survey(tmp_path, lines)
    assert says in one.problem
    assert one.state == "CANNOT BE BUILT"


def test_the_command_fails_if_a_cell_cannot_be_built_and_lists_all_cells(
    tmp_path: Path, root: Path
) -> None:
    survey(tmp_path, "input = ['data=1,3,8,8', 'data=1,4,8,8']")
    argv = ["sweep", str(tmp_path / "mine.toml"), "--results", str(tmp_path / "results")]
    printed = subprocess.run(
        [sys.executable, "-m", "trimtab.cli", *argv, "--dry-run", "--json"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert printed.returncode == 46
    cells = json.loads(printed.stdout)["cells"]
    assert [bool(cell["problem"]) for cell in cells] == [False, True]
    assert cells[0]["inputs"] == {"data": [1, 3, 8, 8]}
    assert "1 of 2 cells cannot be built" in printed.stderr


def test_half_is_f16_or_its_weights_and_equal_builds_are_one_row(tmp_path: Path) -> None:
    devices = "device = ['qemu-a53', 'qemu-a76', 'qemu-armv7']"
    listed = survey(tmp_path, f"input = 'data=1,3,8,8'\nprecision = 'half'\n{devices}")
    chosen = {one.cell.device: (one.cell.precision, one.cell.weights) for one in listed}
    stored = ("f32", "f16")
    assert chosen == {"qemu-a53": stored, "qemu-a76": ("f16", ""), "qemu-armv7": stored}
    rows = [
        {
            "configuration": {"model": "net", "device": device, "prefer": prefer, "threads": 1},
            "status": "OK",
            "latency_ns": 1e6 * i,
            "build": build,
        }
        for i, (device, prefer, build) in enumerate(
            [("a", "size", "1"), ("a", "load", "2"), ("a", "balanced", "1"), ("b", "size", "1")]
        )
    ]
    lines = outcome_table.table(rows, ["device", "prefer"]).text().splitlines()[2:]
    shown = [line.split("OK")[0].split() for line in lines]
    assert shown == [["a", "size", "=", "balanced"], ["a", "load"], ["b", "size"]]
