"""The plug-ins in `examples/`, and the one that `plugin.new` writes, compiled and run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.plugins.layers import FRAMEWORKS
from tests.plugins.test_plugins import parts, run
from trimtab import paths

FORK = paths.root() / "examples" / "plugins" / "caffe_fork"


def inv(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "lab", *words]
    return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False, timeout=900)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_new_plug_in_is_complete_for_every_format(tmp_path: Path, framework: str) -> None:
    result = inv("plugin.new", "mine", "--op", "twist", "--format", framework, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    actual = parts(run(tmp_path, tmp_path / "mine"))
    assert {("mine", "ops", "twist"), ("mine", "tests/cases", "twist")} <= actual
    layer = {"onnx": "mine.Twist", "darknet": "twist", "tflite": "custom Twist"}
    name = f"{framework} {layer.get(framework, 'Twist')}"
    assert ("mine", "importers", name) in actual
    readme = (tmp_path / "mine" / "README.md").read_text()
    (model,) = {*re.findall(r"--model PATH/mine/(\S+)", readme)}
    assert (tmp_path / "mine" / model).is_file()
    again = inv("plugin.new", "mine", "--op", "twist", "--format", framework, cwd=tmp_path)
    assert again.returncode == 2
    assert "already" in again.stderr


@pytest.mark.slow
@pytest.mark.build
@pytest.mark.device
def test_the_commands_of_a_new_plug_in_s_readme_work(tmp_path: Path) -> None:
    inv("plugin.new", "mine", "--op", "twist", "--format", "onnx", cwd=tmp_path)
    readme = (tmp_path / "mine" / "README.md").read_text().replace("PATH/", "")
    commands = re.findall(r"^    \./inv ([^#\n]*)", readme, re.M)
    ran = {words.split()[0]: inv(*words.split(), cwd=tmp_path) for words in commands}
    assert [*ran] == ["plugin.test", "inspect", "build", "bench"]
    assert {name: done.stderr for name, done in ran.items() if done.returncode} == {}
    assert ran["plugin.test"].stdout.count("4 of 4") == 3


@pytest.mark.build
def test_a_change_of_an_operator_is_tested_at_once(tmp_path: Path) -> None:
    inv("plugin.new", "mine", "--op", "twist", "--format", "onnx", cwd=tmp_path)
    source = tmp_path / "mine" / "ops" / "twist.cpp"
    right = source.read_text()

    def tested() -> dict[str, str]:
        done = inv("plugin.test", "mine", "--device", "local", "--json", cwd=tmp_path)
        return {row["place"]: row["right"] for row in json.loads(done.stdout) if row["place"]}

    assert tested() == {"this machine": "4 of 4", "local": "4 of 4"}
    source.write_text(right.replace("factor * x[i]", "factor * x[i] + 1"))
    assert tested() == {"this machine": "0 of 4", "local": "0 of 4"}
    source.write_text(right)
    assert tested() == {"this machine": "4 of 4", "local": "4 of 4"}
    measured = inv(
        *("bench", "--plugin", "mine", "--model", "mine/tests/net.onnx"),
        *("--device", "local", "--wait", "600", "--results", "results"),
        # A run takes 66 ns: half a second of them would be millions of lines.
        *("--launches", "1", "--runs", "1", "--min-time-ms", "0", "--warmup", "0"),
        cwd=tmp_path,
    )
    assert measured.returncode == 0, measured.stderr
    (record,) = (tmp_path / "results").rglob("*.jsonl")
    assert "the references of plug-ins" in record.read_text()


@pytest.mark.build
@pytest.mark.device
def test_the_operator_of_the_fork_is_correct_here_and_on_arm() -> None:
    done = inv("plugin.test", str(FORK), "--json", cwd=FORK)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row["place"]: row["right"] for row in json.loads(done.stdout)}
    assert rows == dict.fromkeys(("this machine", "qemu-a53", "qemu-armv7"), "5 of 5")


_NETWORK = """
import sys, numpy as np, trimtab
trimtab.plugins.add(sys.argv[1])
program = trimtab.load(sys.argv[2])
print([op.type for op in program.ops])
x = np.load(sys.argv[3])
np.save(sys.argv[4], trimtab.Session(program, threads=2).run({"data": x})["gate"])
"""


@pytest.mark.build
def test_a_network_of_the_fork_agrees_with_numpy(tmp_path: Path) -> None:
    built = inv("--plugin", str(FORK), "engine", cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    x = np.random.default_rng(3).normal(size=(1, 6, 9, 11)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    names = [FORK, FORK / "tests" / "net.prototxt", tmp_path / "x.npy", tmp_path / "y.npy"]
    argv = [sys.executable, "-c", _NETWORK, *map(str, names)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['band_bias', 'mul', 'sigmoid', 'mul']"
    biased = x + np.array([0.5, 0.5, 0.5, -1, -1, -1], np.float32).reshape(1, 6, 1, 1)
    expected = biased / (1 + np.exp(-1.702 * biased))
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.build
def test_a_parameter_that_the_parser_does_not_read_is_refused(tmp_path: Path) -> None:
    text = (FORK / "tests" / "net.prototxt").read_text()
    inv("--plugin", str(FORK), "engine", cwd=tmp_path)
    strange = tmp_path / "net.prototxt"
    strange.write_text(text.replace("{ offset: -1", "{ slope: 2 offset: -1"))
    done = inv("inspect", str(strange), "--plugin", str(FORK), cwd=tmp_path)
    assert done.returncode == 12
    assert "bias_struct[1].slope" in done.stderr


@pytest.mark.build
def test_an_exception_in_a_parser_names_plug_in_file_and_line(tmp_path: Path) -> None:
    inv("plugin.new", "mine", "--op", "twist", "--format", "caffe", cwd=tmp_path)
    parser = tmp_path / "mine" / "importers" / "twist.py"
    parser.write_text(parser.read_text().replace('layer.float("factor", 1.0)', "1 / 0"))
    line = next(i for i, at in enumerate(parser.read_text().splitlines(), 1) if "1 / 0" in at)
    network = tmp_path / "net.prototxt"
    network.write_text(
        'layer { name: "d" type: "Input" top: "d" input_param { shape { dim: 1 dim: 2 } } }\n'
        'layer { name: "t" type: "Twist" bottom: "d" top: "t" }\n'
    )
    environment = os.environ | {"TRIMTAB_PLUGIN_PATH": str(tmp_path / "mine")}
    program = "import sys, trimtab; trimtab.load(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", program, str(network)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "plug-in mine: ZeroDivisionError" in done.stderr
    assert f"twist.py:{line}" in done.stderr
