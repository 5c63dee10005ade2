"""The examples of docs/ci.md, run as shell in a repository with a regression."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import yaml
from onnx import TensorProto, helper, numpy_helper

from tests.devices.conftest import require_counting
from trimtab.errors import RegressionError

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text()
SILICON, GITHUB, GITLAB = (
    yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
)
(SWEEP,) = re.findall(r"```toml\n(.*?)```", PAGE, re.S)


def network(size: int) -> onnx.ModelProto:
    """A convolution of a float32[1, 3, size, size], with 8 channels."""
    weights = np.random.default_rng(0).standard_normal((8, 3, 3, 3)).astype(np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[3, 3])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, size, size])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, size - 2, size - 2])
    graph = helper.make_graph([node], "net", [x], [y], [numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def commands_of_github() -> list[str]:
    (job,) = GITHUB["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step]


def commands_of_gitlab() -> list[str]:
    job: dict[str, Any] = GITLAB["performance"]
    return [*job["before_script"], *job["script"], *job["after_script"]]


def test_both_examples_are_complete_and_keep_what_the_next_job_needs() -> None:
    (job,) = GITHUB["jobs"].values()
    (cache,) = (s for s in job["steps"] if s.get("uses", "").startswith("actions/cache@"))
    assert "perf/results" in cache["with"]["path"].split()
    assert "perf/results" in GITLAB["performance"]["cache"]["paths"]
    own, other = (
        [c.partition(" --format")[0] for c in commands if c.startswith("trimtab ")]
        for commands in (commands_of_github(), commands_of_gitlab())
    )
    assert own == other
    assert [command.split()[1] for command in own] == ["sweep", "history", "results"]
    report = GITLAB["performance"]["artifacts"]["reports"]["junit"]
    assert any(c.endswith(f"--format junit --output {report}") for c in commands_of_gitlab())


@pytest.mark.build
@pytest.mark.device
def test_a_job_passes_fails_on_a_larger_network_and_passes_again(tmp_path: Path) -> None:
    require_counting()
    repository = tmp_path / "project"
    (repository / "perf").mkdir(parents=True)
    (repository / "perf" / "sweep.toml").write_text(SWEEP)
    # The script that old versions of pip install expands a `$` in the path of its interpreter.
    trimtab = tmp_path / "bin/trimtab"
    trimtab.parent.mkdir()
    trimtab.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m trimtab.cli "$@"\n')
    trimtab.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{trimtab.parent}:{os.environ['PATH']}",
        "CI": "1",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }

    def shell(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-ec", command],
            cwd=repository,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    assert shell("git init -q && printf 'perf/results\n*.csv\n' >.gitignore").returncode == 0
    identity = "-c user.name=tester -c user.email=tester@example.org"
    for number, (size, code) in enumerate(((16, 0), (24, RegressionError.exit_code), (16, 0))):
        onnx.save(network(size), repository / "perf" / "net.onnx")
        date = f"2026-01-0{number + 1}T00:00:00Z"
        commit = f"git add -A && GIT_COMMITTER_DATE={date} git {identity} commit -q"
        assert shell(f"{commit} -m 'of {size} pixels'").returncode == 0
        sweep, history, results = (c for c in commands_of_github() if c.startswith("trimtab "))
        ran = shell(sweep)
        assert ran.returncode == 0, ran.stderr
        checked = shell(history)
        assert checked.returncode == code, checked.stdout + checked.stderr
        assert ("worse" in checked.stdout) == bool(code)
        assert shell(results).returncode == 0
    summary = (tmp_path / "summary.md").read_text()
    verdicts = [line.split(":")[0] for line in summary.splitlines() if line.startswith("## ")]
    assert verdicts[0] == "## Nothing to compare"
    assert re.fullmatch(r"## \d of 6 figures are worse", verdicts[1])
    assert verdicts[2:] == ["## 6 figures are not worse"]
    lines = (repository / "results.csv").read_text().splitlines()
    # The third commit has the binaries and models of the first: there is nothing to measure.
    assert len(lines) == 1 + 2 * 2
