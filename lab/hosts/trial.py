"""The steps of somebody at a board, in an aarch64 Debian under QEMU, and the same builds here."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import lab
from lab.committed import Baseline, Results
from lab.dev import shell
from lab.experiment import Experiment, FigureRow, figure, figure_row
from lab.hosts import board as boards
from lab.hosts.board import Board
from trimtab import cores, files, paths, strict_json, zoo
from trimtab.progress import SILENT, Progress
from trimtab.tables import Column, Table

NAME = "hosts"
NETWORKS = ("squeezenet", "mobilenet_v2", "resnet18")
SERVER = "neoverse-n2"
_FIRST = NETWORKS[0]
_TRIMTAB = "trimtab/bin/trimtab"
_STATIC = "--toolchain aarch64-linux-musl --cpu cortex-a53"
_ARMV7 = "--toolchain armv7-linux-musleabihf --cpu cortex-a7"
_RUN = """
import sys
import numpy, trimtab
from trimtab import zoo
session = trimtab.Session(trimtab.load(zoo.write(sys.argv[1], ".")))
numpy.save("output.npy", session.run(zoo.sample_input(sys.argv[1]))[session.output_names[0]])
"""
_INV = """#!/bin/sh
PYTHONPATH=/root/checkout exec /root/trimtab/bin/python -P -m lab "$@"
"""
# The steps of action.yml, with two networks. `./inv engine` is left out: the wheel has the engine.
_SILICON = f"""set -e
export RUNNER_TEMP=/root GITHUB_STEP_SUMMARY=/root/summary.md GITHUB_OUTPUT=/root/outputs
export MODELS={NETWORKS[0]},{NETWORKS[1]} PRECISIONS=f32 THREADS=1 MINUTES=600
export HISTORY= TOLERANCE=0.15 APPEND=false TRIMTAB_INV=/root/inv
[ -e peers ] || python3 checkout/lab/silicon/peers.py peers
bash checkout/lab/silicon/measure.sh
"""
_HOST_SHOWS = "debug/"  # the map of the link names folders


@figure_row
class HostTrial(FigureRow):
    """A step on the board. `problem`: what was wrong, "" if nothing; `sha256`: of the delivered
    files that the same command writes here, byte for byte.
    """

    step: str
    command: str
    cpu: str
    seconds: int
    problem: str = ""
    sha256: dict[str, str] = figure(default_factory=dict)


HOSTS = Experiment("hosts.board", NAME, HostTrial, packages=("ziglang",))


@dataclass(frozen=True)
class BoardStep:
    """`command`: of the board's shell; `check`: says what is wrong afterwards, "" if nothing;
    `output`: the folder of a delivery, which `here` builds on this machine for comparison.
    """

    name: str
    command: str
    cpu: str = boards.CPU
    check: Callable[[Board], str] = lambda _: ""
    output: str = ""
    here: Sequence[str] = ()


def build_step(network: str, target: str, output: str) -> BoardStep:
    """Builds a network on the board and here."""
    words = f"build --model {network} {target}"
    command = f"{_TRIMTAB} {words} --output {output}"
    return BoardStep(
        f"{network} for {target.rsplit(maxsplit=1)[-1]}", command, output=output, here=words.split()
    )


def steps() -> list[BoardStep]:
    """All steps, in order, behind the installation of the wheel."""
    fit = f"{_TRIMTAB} core.fit --share 0.02 --threads 1 --output {SERVER}.toml"
    return [
        BoardStep(
            "import, load, plan, run", f"trimtab/bin/python run.py {_FIRST}", check=_is_right
        ),
        *(build_step(network, _STATIC, network) for network in NETWORKS),
        build_step(_FIRST, _ARMV7, "armv7"),
        BoardStep("build for this board", f"{_TRIMTAB} build --model {_FIRST} --output board"),
        BoardStep("run and time it", f"{_TRIMTAB} bench --model {_FIRST} --device local"),
        BoardStep("fit the core", fit, SERVER, check=_is_the_server),
        BoardStep("measure as the action does", "sh silicon.sh", SERVER, check=_has_table),
    ]


def run(only: str, log: Path, progress: Progress = SILENT) -> Iterator[HostTrial]:
    """Takes the steps whose names contain `only` on the board, which keeps what it has installed.

    Errors of `board`, and BuildError if the wheel cannot be built.
    """
    with boards.board(log, progress) as board:
        if only in "install the wheel" or not (board.home / _TRIMTAB).exists():
            words = boards.put_wheel(board, progress)
            install = f"python3 -m venv --clear trimtab && trimtab/bin/pip install --quiet {words}"
            yield _run_step(BoardStep("install the wheel", install), board, progress)
        files.write_text(board.home / "run.py", _RUN)
        _put_laboratory(board)
        for step in steps():
            if only in step.name:
                yield _run_step(step, board, progress)


def _run_step(step: BoardStep, board: Board, progress: Progress) -> HostTrial:
    start = time.monotonic()
    with progress.step(step.name):
        code = board.run(step.command, step.cpu)
    seconds = round(time.monotonic() - start)
    problem = f"exit code {code}" if code else step.check(board)
    same: dict[str, str] = {}
    if step.here and not problem:
        with progress.step("the same here"):
            same, problem = _compared(step, board)
    trial = HostTrial(step.name, step.command, step.cpu, seconds, problem, same)
    progress.note(f"{step.name}: {problem or 'well'}, {seconds} s")
    return trial


def _compared(step: BoardStep, board: Board) -> tuple[dict[str, str], str]:
    """Builds here what the board has built, and compares."""
    output = paths.cache() / "hosts" / "here" / step.output
    argv = [sys.executable, "-P", "-m", "trimtab.cli", *step.here, "--output", str(output)]
    done = subprocess.run(argv, cwd=shell.ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        return {}, f"here: {done.stderr.strip()[-300:]}"
    return compared(output, board.home / step.output)


def compared(here: Path, there: Path) -> tuple[dict[str, str], str]:
    """The digests of the files that two deliveries have alike, and what is different."""
    ours, theirs = delivered(here), delivered(there)
    same = {name: digest for name, digest in ours.items() if theirs.get(name) == digest}
    different = sorted({*ours, *theirs} - set(same))
    return same, f"different: {', '.join(different)}" if different else ""


def delivered(folder: Path) -> dict[str, str]:
    """The SHA-256 of the files of a delivery in which its host must not show."""
    record = strict_json.loads((folder / "build.json").read_text(encoding="utf-8"))
    return {
        name: facts["sha256"]
        for name, facts in record["files"].items()
        if not name.startswith(_HOST_SHOWS)
    }


def _is_right(board: Board) -> str:
    """Compares the board's output with onnxruntime's on this machine."""
    import onnxruntime

    session = onnxruntime.InferenceSession(zoo.cached(_FIRST))
    (name,) = (value.name for value in session.get_inputs())
    samples = zoo.sample_input(_FIRST)
    (expected,) = session.run(None, {name: samples[name]})
    actual = np.load(board.home / "output.npy")
    error = float(np.abs(actual - expected).max() / np.abs(expected).max())
    return "" if error < 1e-4 else f"its outputs differ from onnxruntime's by {error:.2g}"


def _is_the_server(board: Board) -> str:
    """Compares the identity and the features of the fitted row with those of the committed one."""
    row = tomllib.loads((board.home / f"{SERVER}.toml").read_text(encoding="utf-8"))
    core = cores.find(SERVER, "aarch64")
    if tuple(map(tuple, row["midr"])) != core.midr:
        return f"its row has the identity {row['midr']}"
    if {*row["features"]["aarch64"]} != {*core.features["aarch64"]}:
        return f"its row has the features {row['features']['aarch64']}"
    return ""


def _put_laboratory(board: Board) -> None:
    """The laboratory beside the wheel's environment, and what a job of action.yml does."""
    ignored = shutil.ignore_patterns("__pycache__")
    target = board.home / "checkout/lab"
    shutil.copytree(lab.FOLDER, target, ignore=ignored, dirs_exist_ok=True)
    files.write_if_changed(board.home / "inv", _INV, mode=0o755)
    files.write_text(board.home / "silicon.sh", _SILICON)


def _has_table(board: Board) -> str:
    text = (board.home / "trimtab.md").read_text(encoding="utf-8")
    return "" if all(network in text for network in NETWORKS[:2]) else "a network has no row"


def merged(trials: Sequence[HostTrial]) -> Results:
    """The committed results with these trials in place of earlier ones of the same steps."""
    results = HOSTS.results(trials, "./inv hosts.board --update")
    return Baseline(NAME, ("step",), ()).merged(results) if HOSTS.is_measured() else results


def table(trials: Sequence[HostTrial]) -> Table:
    """A row for each step."""
    columns = [Column(name) for name in ("step", "CPU", "ended", "same bytes as on x86-64")]
    rows = [
        (one.step, one.cpu, one.problem or "well", ", ".join(_shipped(one)), one.seconds)
        for one in trials
    ]
    return Table([*columns, Column("s", ",d")], rows)


def _shipped(trial: HostTrial) -> list[str]:
    """The files of a delivery that go to the device."""
    return [name for name in trial.sha256 if name == "trimtab-run" or name.endswith(".ttm")]
