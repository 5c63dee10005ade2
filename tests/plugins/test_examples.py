"""The plug-ins in `examples/`, and the one that `plugin.new` writes, compiled and run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.plugins.test_plugins import parts, run
from trimtab import paths
from trimtab.importers._parsers import FRAMEWORKS

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
    assert any(room == "importers" and name.endswith("Twist") for _, room, name in actual)
    again = inv("plugin.new", "mine", "--op", "twist", "--format", framework, cwd=tmp_path)
    assert again.returncode == 2
    assert "already" in again.stderr


@pytest.mark.slow
@pytest.mark.build
@pytest.mark.device
def test_a_new_plug_in_passes_its_own_tests(tmp_path: Path) -> None:
    inv("plugin.new", "mine", "--op", "twist", "--format", "caffe", cwd=tmp_path)
    done = inv("plugin.test", "mine", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {row["right"] for row in json.loads(done.stdout)} == {"4 of 4"}


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
