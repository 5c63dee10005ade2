"""Names of models and devices as tasks print them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.hostile_text import check_displayed

HOSTILE = "\x1b]0;other\x07\x1b[2J\u202erelu\n| forged | row |"


def hostile_model(folder: Path) -> Path:
    """A network whose operators, tensors and file have names that attack a terminal."""
    names = [f"{HOSTILE} {i}" for i in range(3)]
    nodes = [
        helper.make_node("Relu", [names[0]], [names[1]], name=HOSTILE),
        helper.make_node("Sigmoid", [names[1]], [names[2]], name=f"{HOSTILE} again"),
    ]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in names[::2]]
    graph = helper.make_graph(nodes, HOSTILE, ends[:1], ends[1:])
    path = folder / "net\x1b[31m.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
    return path


def task(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "trimtab.cli", *words]
    return subprocess.run(
        command, capture_output=True, check=False, env={**os.environ, **environment}
    )


@pytest.mark.parametrize(
    "words",
    [["inspect"], ["inspect", "--optimized"], ["inspect", "--plan"], ["profile", "--model"]],
    ids=" ".join,
)
def test_names_of_a_model_are_text_on_a_terminal(words: list[str], tmp_path: Path) -> None:
    done = task(*words, str(hostile_model(tmp_path)))
    assert done.returncode == 0, done.stderr
    check_displayed(done.stdout.decode())
    check_displayed(done.stderr.decode())


def test_an_error_shows_the_name_of_a_file_as_text(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/none\x1b[2J\xff.onnx")
    done = task("inspect", path)
    assert done.returncode == 10
    assert b"none\\x1b[2J" in done.stderr
    check_displayed(done.stderr.decode())


def test_devices_with_hostile_texts_are_listed_as_text(tmp_path: Path) -> None:
    folder = tmp_path / "trimtab" / "devices"
    folder.mkdir(parents=True)
    doc = json.dumps(HOSTILE)  # a TOML string has the same escapes
    device = f'transport = "local"\ntoolchain = "host"\ncpu = "native"\ndoc = {doc}\n'
    (folder / "mine.toml").write_text(device)
    (folder / "broken\x1b[31m.toml").write_text("transport = ")
    done = task("device", XDG_CONFIG_HOME=str(tmp_path))
    assert done.returncode == 0
    assert b"mine" in done.stdout
    check_displayed(done.stdout.decode())


def test_a_name_that_no_encoder_accepts_is_printed(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/net\xff.ttm")
    model = hostile_model(tmp_path)
    done = task("convert", str(model), path)
    assert done.returncode == 0, done.stderr
    assert b"written: " in done.stdout
    check_displayed(done.stdout.decode())


def test_converted_files_of_several_parts_are_listed(tmp_path: Path) -> None:
    model = hostile_model(tmp_path)
    done = task("convert", str(model), str(tmp_path / "net.caffemodel"))
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    paths = [words[1] for words in lines if words[:1] == ["written:"]]
    assert paths == [str(tmp_path / f"net.{suffix}") for suffix in ("prototxt", "caffemodel")]
    check_displayed(done.stdout.decode())


def test_what_a_format_cannot_express_is_displayed_safely(tmp_path: Path) -> None:
    done = task("convert", str(hostile_model(tmp_path)), str(tmp_path / "net.param"))
    assert done.returncode == 0, done.stderr
    x = helper.make_tensor_value_info(HOSTILE, TensorProto.FLOAT, [2, 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])
    node = helper.make_node("Erf", [HOSTILE], ["y"], name=HOSTILE)
    graph = helper.make_graph([node], "net", [x], [y])
    path = tmp_path / "other.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    for output, reason in (("net.prototxt", b"Gaussian error function"), ("net.bin", b"input")):
        done = task("convert", str(path), str(tmp_path / "refused" / output))
        assert done.returncode == 18, done.stderr
        assert reason in done.stderr
        check_displayed(done.stderr.decode())
