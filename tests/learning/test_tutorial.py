"""The commands of docs/training.md, as they are on the page."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.learning.test_run import NETWORK, SOLVER
from trimtab import paths

PAGE = (paths.root() / "docs" / "training.md").read_text()
# The reader's emulated board and cross compiler are replaced; all other words stay.
HERE = {"qemu-a53": "local", "aarch64-linux-musl": "host"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reader's folder, after the program of the page."""
    folder = tmp_path_factory.mktemp("tutorial")
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in re.findall(r"```python\n(.*?)```", PAGE, re.S):
            exec(block, names)
    assert names["accuracy"] >= 0.98
    assert names["trainer"].iteration == 100
    return folder


def words(line: str) -> list[str]:
    """The words of a command, for this machine."""
    result = [HERE.get(word, word) for word in shlex.split(line)]
    if "--cpu" in result:
        at = result.index("--cpu")
        del result[at : at + 2]
    return result


@pytest.mark.build
def test_the_tutorial_does_what_it_says(folder: Path) -> None:
    (folder / "solver.prototxt").write_text(SOLVER)
    (folder / "net.prototxt").write_text(NETWORK.replace("num_output: 3 ", "num_output: 10 "))
    printed = []
    lines = re.findall(r"^    \./inv (.*)$", PAGE, re.M)
    for line in lines:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "trimtab.cli", *words(line)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        printed.append(done.stdout)
    assert len(lines) == 6
    assert re.search(r"test +40: loss [\d.]+, accuracy 0\.9", printed[0])
    assert "train     60: loss" in printed[1]
    assert "train      8: loss" in printed[4]
    images = np.load(folder / "digits" / "test" / "data.npy")[:32]
    labels = np.load(folder / "digits" / "test" / "label.npy")[:32]
    scores = trimtab.Session(folder / "lenet.ttm").run(images)["ip2"]
    assert np.mean(scores.argmax(1) == labels) >= 0.9
    record = json.loads((folder / "dist" / "adapt" / "build.json").read_text())
    assert "lenet.training.checkpoint" in record["files"]
