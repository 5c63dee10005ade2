"""Workflows and the action: every command of theirs runs here, in a clone of this repository.

Programs that need GitHub, a package index or root are answered by stand-ins, which log their
arguments: `gh`, `sudo`, `apt-get`, `pip install`, cibuildwheel. `./inv` and `python` are real.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

import trimtab
from lab.dev import workflows
from tests.lab.test_dev_distribution import wheel_of
from tests.some import some

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = workflows.commands()
NETWORK = "yolo_fastest"

PYTHON = """#!/bin/bash
case "$*" in
*"-m pip install"*) echo "pip $*" >>"$LOG" ;;
*"-m cibuildwheel"*) echo "$*" >>"$LOG" && mkdir -p "${@: -1}" && cp "$WHEEL" "${@: -1}" ;;
*peers.py*)
    mkdir -p "${@: -1}/bin" && printf '#!/bin/sh\\nexec "%s" "$@"\\n' "$REAL" >"${@: -1}/bin/python"
    chmod +x "${@: -1}/bin/python"
    ;;
*) PYTHONPATH=$STUBS exec "$REAL" "$@" ;;
esac
"""
GH = """#!/bin/bash
set -e
echo "gh $*" >>"$LOG"
while [ $# -gt 0 ]; do
    case "$1" in
    --body-file | --notes-file) test -s "$2" ;;
    esac
    shift
done
"""
# The tasks of this checkout, in the folder of the clone: its results are those that are written.
INV = f"""#!/bin/bash
exec "$REAL" -P - "$@" <<'EOF'
import pathlib, sys
sys.path.insert(0, {str(ROOT)!r})
import lab
from lab import committed
from trimtab import cli
of = committed.path_of
committed.path_of = lambda name: pathlib.Path.cwd() / of(name).relative_to(lab.FOLDER.parent)
if "bench.silicon" in sys.argv and "--models" not in sys.argv:
    sys.argv += ["--models", {NETWORK!r}]  # in place of the whole zoo
if sys.argv[1:] == ["test", "--full"]:
    sys.argv += ["--path", "tests/test_names.py"]  # in place of all tests, of which this is one
cli.main(lab.modules("tasks"))
EOF
"""
STUBS = {
    "torch.py": """
import types
from_numpy = lambda array: array
export = types.SimpleNamespace(export=lambda module, inputs: module)
""",
    "onnx2torch.py": """
class Module:
    def eval(self): return self
convert = lambda graph: Module()
""",
    "litert_torch.py": """
import pathlib
class Converted:
    def export(self, path): pathlib.Path(path).write_bytes(b"TFL3")
convert = lambda module, inputs: Converted()
""",
}  # ExecuTorch is absent: its files are left out with the reason


class Workspace:
    """A clone of this repository with the stand-ins, as the machine of a job has it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder / "clone", folder / "log"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(self.folder)], check=True)
        for name in ("bin", "stubs", "temp", "wheel"):
            (folder / name).mkdir()
        apt = '#!/bin/sh\necho "$0 $*" >>"$LOG"\n'
        programs = {"python": PYTHON, "python3": PYTHON, "gh": GH, "sudo": apt, "apt-get": apt}
        programs["trimtab"] = '#!/bin/sh\nexec "$REAL" -P -m trimtab.cli "$@"\n'
        for name, text in programs.items():
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)
        (self.folder / "inv").write_text(INV)
        for name, text in STUBS.items():
            (folder / "stubs" / name).write_text(text)
        for path in workflows.files():  # those of the working tree, which may not be committed yet
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text((ROOT / path).read_text())
        temp = folder / "temp"
        self.environment = {
            **{name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ},
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "REAL": sys.executable,
            "LOG": str(self.log),
            "STUBS": str(folder / "stubs"),
            "WHEEL": str(wheel_of(folder / "wheel")),
            "RUNNER_TEMP": str(temp),
            "GITHUB_ACTION_PATH": str(self.folder),
            "GITHUB_REF_NAME": f"v{trimtab.__version__}",
            "GITHUB_REPOSITORY": "owner/trimtab",
            "GITHUB_STEP_SUMMARY": str(temp / "summary.md"),
            "GITHUB_OUTPUT": str(temp / "output"),
            "TRIMTAB_RESULTS_DIR": str(temp / "results"),
        }

    def run(self, script: str, **variables: str) -> str:
        """Runs the script of a step as GitHub's bash does; returns what it printed, or fails with
        that.
        """
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script],
            cwd=self.folder, env=self.environment | variables, capture_output=True, text=True,
            check=False, timeout=1200,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    def lines(self) -> list[str]:
        """The arguments of the stand-ins, by call."""
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def scripts(where: str) -> list[str]:
    return [command.script for command in COMMANDS if command.where == where]


def content(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text())


def test_no_command_is_left_out_here() -> None:
    here = Path(__file__).read_text()
    for where in some({command.where for command in COMMANDS}):
        assert f'scripts("{where}")' in here, f"the commands of {where} run in no test"


@pytest.mark.build
def test_the_release_workflow_makes_packages_with_sums_and_bills(workspace: Workspace) -> None:
    for script in scripts(".github/workflows/release.yml"):
        workspace.run(script)
    workspace.run("mv packages/* dist/ && cd dist && sha256sum --check --strict SHA256SUMS")
    dist = workspace.folder / "dist"
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert any(
            name.endswith(".dist-info/sboms/trimtab.cdx.json") for name in archive.namelist()
        )
    (pages,) = dist.glob("trimtab-*-docs.zip")
    with zipfile.ZipFile(pages) as archive:
        folder = f"trimtab-{trimtab.__version__}/docs"
        assert {f"{folder}/operators.md", f"{folder}/reference/operators.md"} < {
            *archive.namelist()
        }
    assert (dist / "NOTES.md").read_text().strip()
    assert len(list(dist.glob("trimtab-*.tar.gz"))) == 1
    log = workspace.lines()
    assert any("cibuildwheel==" in line for line in log)
    (published,) = (line for line in log if line.startswith("gh release create"))
    assert f"v{trimtab.__version__} dist/NOTES.md dist/SHA256SUMS dist/trimtab-" in published


def test_the_nightly_workflow_runs_tests(workspace: Workspace) -> None:
    for script in some(scripts(".github/workflows/nightly.yml")):
        assert " passed" in workspace.run(script)


@pytest.mark.build
@pytest.mark.slow
def test_the_workflow_for_arm_writes_the_result_that_is_committed(workspace: Workspace) -> None:
    (workspace.folder / "lab/silicon/published.json").write_text(
        (ROOT / "lab/silicon/published.json").read_text()
    )
    for script in scripts(".github/workflows/arm.yml"):
        workspace.run(script)
    result = yaml.safe_load((workspace.folder / "lab/silicon/result.json").read_text())
    rows = {(row["network"], row["precision"], row["threads"]) for row in result["rows"]}
    assert rows == {(NETWORK, name, n) for name in ("f32", "f16", "int8") for n in (1, 4)}
    assert all(row["engines_ms"] for row in result["rows"] if row["precision"] != "f16")
    assert (workspace.folder / "networks" / f"{NETWORK}.tflite").read_bytes() == b"TFL3"
    assert f"| {NETWORK} | f32" in Path(workspace.environment["GITHUB_STEP_SUMMARY"]).read_text()


@pytest.mark.build
@pytest.mark.slow
def test_the_action_measures_compares_and_comments(workspace: Workspace) -> None:
    inputs = {name: one.get("default", "") for name, one in content("action.yml")["inputs"].items()}
    variables = {name.upper(): str(value) for name, value in inputs.items()}
    variables |= {"MODELS": NETWORK, "HISTORY": "history.jsonl", "APPEND": "true"}
    variables |= {"PULL_REQUEST": "7", "TOLERANCE": "9", "GH_TOKEN": ""}
    for _ in range(2):  # without a history, and against the first one
        for script in scripts("action.yml"):
            workspace.run(script, **variables)
    assert len((workspace.folder / "history.jsonl").read_text().splitlines()) == 2
    summary = Path(workspace.environment["GITHUB_STEP_SUMMARY"]).read_text()
    assert summary.count("## trimtab: 1 measurements, nothing worse") == 2
    table = Path(workspace.environment["RUNNER_TEMP"], "trimtab.md")
    assert f"table={table}" in Path(workspace.environment["GITHUB_OUTPUT"]).read_text()
    assert [line for line in workspace.lines() if line.startswith("gh pr comment 7 ")]


def test_the_set_up_of_the_examples_runs(workspace: Workspace) -> None:
    # The commands of trimtab run in test_ci.py, in a repository with a regression.
    for script in scripts("docs/ci.md"):
        if not script.startswith("trimtab "):
            workspace.run(script)
    log = workspace.lines()
    assert sum(line.endswith("-m pip install trimtab") for line in log) == 2
    assert sum("install --yes qemu-user" in line for line in log) == 2


def test_the_steps_of_the_action_set_every_variable_of_their_script() -> None:
    script = (ROOT / "lab/silicon/measure.sh").read_text()
    steps = content("action.yml")["runs"]["steps"]
    (step,) = (step for step in steps if step.get("id") == "measure")
    assert "lab/silicon/measure.sh" in step["run"]
    used = set(re.findall(r'"\$([A-Z]+)"', script))
    assert used == set(step["env"])
    assert all(step["shell"] == "bash" for step in steps)


def test_the_example_of_the_action_uses_its_inputs_in_ten_lines_or_a_few_more() -> None:
    example, *_ = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(), re.S)
    (job,) = yaml.safe_load(example)["jobs"].values()
    (step,) = (step for step in job["steps"] if step["uses"].startswith("OWNER/trimtab@"))
    assert step["uses"].endswith(f"@v{trimtab.__version__}")
    assert set(step["with"]) <= set(content("action.yml")["inputs"])
    assert len(example.splitlines()) <= 14


@pytest.mark.parametrize("path", sorted((ROOT / ".github/workflows").glob("*.yml")), ids=str)
def test_actions_of_others_are_pinned_and_rights_are_narrow(path: Path) -> None:
    flow = yaml.safe_load(path.read_text())
    assert flow["permissions"] == {"contents": "read"}
    for name, job in flow["jobs"].items():
        assert job["timeout-minutes"], name
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"]), step["uses"]
    assert not re.search(r"secrets\.", path.read_text()), "trusted publishing needs no secret"


def test_wheels_are_tried_by_a_task_that_exists() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    for command in tool["test-command"].split("&&"):
        program, task, *_ = command.split()
        argv = [sys.executable, "-P", "-m", "trimtab.cli", "--help", task]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert program == "trimtab"
        assert done.returncode == 0, done.stderr
