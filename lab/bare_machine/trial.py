"""The README's two commands on bare machines."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lab import committed
from lab.bare_machine import root
from lab.dev import shell
from lab.experiment import Experiment, FigureRow, figure, figure_row
from trimtab.progress import SILENT, Progress
from trimtab.tables import Column, Table

NAME = "bare_machine"
RELEASES = {"bookworm": "Debian 12", "trixie": "Debian 13"}
COMMANDS = ("./inv demo", "./inv test")
ODD_FOLDER = "tr im $tab ü"
# After `./inv test`: the packages of `./inv setup`, and another version of the compiler in the
# place of the first, whose objects and settings must not be taken for its own.
OTHER_COMPILER = {"bookworm": "g++-11", "trixie": "g++-13"}
# Reasons that name a case: words of the sentence, and the reason in the table.
_KINDS = {
    "LiteRT does not run it": "LiteRT does not run it",
    "onnxruntime does not run it": "onnxruntime does not run it",
    "GCC knows": "GCC is older than the core",
    "no ../shared/": "no folder of real models beside the checkout",
}
# Without root, `./inv` can install neither the venv module nor the headers of Python.
WITHOUT_ROOT = ("python3-venv", "python3-dev")


@dataclass(frozen=True)
class BareMachine:
    """A bare machine. `user`: root, or one who cannot become root; `folder`: of the checkout;
    `cpus`: the allowed processors, all if empty; `packages`: beyond `root.PACKAGES`.
    """

    name: str
    release: str
    user: str = "root"
    folder: str = "trimtab"
    cpus: tuple[int, ...] = ()
    packages: tuple[str, ...] = ()


MACHINES = (
    BareMachine("plain", "bookworm"),
    BareMachine("plain", "trixie"),
    BareMachine("no root, one CPU", "bookworm", user="user", cpus=(0,), packages=WITHOUT_ROOT),
    BareMachine("no root", "trixie", user="user", packages=WITHOUT_ROOT),
    BareMachine(
        "one CPU, odd path, apt's ccache", "trixie",
        folder=ODD_FOLDER, cpus=(1,), packages=("ccache",),
    ),
    BareMachine("odd path, apt's ccache", "bookworm", folder=ODD_FOLDER, packages=("ccache",)),
)  # fmt: skip


@figure_row
class BareTrial(FigureRow):
    """One command on one machine. `seconds`: wall-clock time, set-up included; `installed_mb`: of
    Python packages, caches and distribution packages that the commands so far added; `skipped`:
    the number of tests by reason; `commit`: of the checkout; `date`: ISO 8601.
    """

    machine: str
    system: str
    command: str
    exit_code: int
    seconds: int
    installed_mb: int
    passed: int = 0
    failed: int = 0
    skipped: dict[str, int] = figure(default_factory=dict)
    commit: str = ""
    date: str = ""


BARE = Experiment("bare.machine", NAME, BareTrial)


def run(
    machines: Sequence[BareMachine], logs: Path, after_setup: bool, progress: Progress = SILENT
) -> Iterator[BareTrial]:
    """Tries the commands on each machine, in a root of its own which is removed afterwards.

    `after_setup`: `./inv test` once more, after `./inv setup` and with another compiler. `logs`:
    the folder for what the commands print.
    """
    commit = shell.output(["git", "rev-parse", "--short=8", "HEAD"])[1].strip()
    for machine in machines:
        title = f"{RELEASES[machine.release]}, {machine.name}"
        with tempfile.TemporaryDirectory(prefix="bare-machine-") as scratch:
            folder = Path(scratch) / "root"
            with progress.step(f"{title}: make the root"):
                root.make(machine.release, folder, machine.packages)
            home = "root" if machine.user == "root" else f"home/{machine.user}"
            checkout = f"/{home}/{machine.folder}"
            if machine.user != "root":
                root.run(folder, "true", user=machine.user)  # makes the user
            argv = ["git", "clone", "--quiet", str(shell.ROOT), f"{folder}{checkout}"]
            subprocess.run(argv, check=True)
            owned = f"chown -R {machine.user} {shlex.quote(checkout)}"
            root.run(folder, owned)
            before, commands = _megabytes(folder), list(COMMANDS)
            if after_setup and machine.user == "root":
                commands.append(_after_setup(OTHER_COMPILER[machine.release]))
            for command in commands:
                log = logs / f"{machine.release}-{machine.name.replace(' ', '-')}.log"
                start, offset = time.monotonic(), log.stat().st_size if log.exists() else 0
                with progress.step(f"{title}: {command}"):
                    code = root.run(
                        folder,
                        f"cd {shlex.quote(checkout)} && {command}",
                        user=machine.user, cpus=machine.cpus, log=log,
                    )  # fmt: skip
                seconds = round(time.monotonic() - start)
                text = log.read_bytes()[offset:].decode(errors="replace")
                trial = BareTrial(
                    machine.name, RELEASES[machine.release], command, code, seconds,
                    _megabytes(folder) - before, **counts(text), commit=commit, date=_today(),
                )  # fmt: skip
                progress.note(f"{title}: {command}: exit code {code}, {seconds} s")
                yield trial
            shutil.rmtree(folder, ignore_errors=True)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _after_setup(compiler: str) -> str:
    """The command that sets up a machine, installs a compiler as `c++`, and runs the tests."""
    install = f"apt-get install --yes {compiler} >/dev/null"
    choose = f"update-alternatives --install /usr/bin/c++ c++ /usr/bin/{compiler} 90"
    return f"./inv setup && {install} && {choose} && ./inv test"


def counts(text: str) -> dict[str, Any]:
    """`passed`, `failed` and `skipped` of pytest's summary in what a command printed."""
    skipped: dict[str, int] = {}
    for number, sentence in re.findall(r"^SKIPPED \[(\d+)\] [^ ]+: (.*)$", text, re.M):
        reason = next((kind for word, kind in _KINDS.items() if word in sentence), sentence)
        skipped[reason] = skipped.get(reason, 0) + int(number)
    last = re.findall(r"^=+ (.*\d+ passed.*) in .*=+$", text, re.M)
    totals = {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", last[-1])} if last else {}
    failed = totals.get("failed", 0) + totals.get("error", 0) + totals.get("errors", 0)
    return {"passed": totals.get("passed", 0), "failed": failed, "skipped": skipped}


def _megabytes(folder: Path) -> int:
    argv = ["du", "--summarize", "--one-file-system", "--block-size=1000000", str(folder)]
    return int(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()[0])


def to_results(
    trials: Sequence[BareTrial], before: Sequence[BareTrial], command: str, machine: dict[str, Any]
) -> committed.Results:
    """The committed form. `before`: committed trials, of which those of other machines stay."""
    again = {(trial.system, trial.machine) for trial in trials}
    others = [trial for trial in before if (trial.system, trial.machine) not in again]
    return BARE.results([*others, *trials], command, machine=machine)


def committed_trials() -> list[BareTrial]:
    """The trials of the result file, none without one."""
    return BARE.rows() if BARE.is_measured() else []


def table(trials: Sequence[BareTrial]) -> Table:
    """A row for each command on each machine."""
    columns = [
        *(Column(name) for name in ("system", "machine", "commit", "command", "ended")),
        *(Column(name, ",d") for name in ("s", "MB added", "passed", "failed", "skipped")),
    ]
    rows = [
        (
            *(t.system, t.machine, f"{t.commit} of {t.date}", t.command),
            "well" if not t.exit_code else f"with {t.exit_code}",
            *(t.seconds, t.installed_mb),
            *((t.passed, t.failed, sum(t.skipped.values())) if t.passed else (None, None, None)),
        )
        for t in trials
    ]
    return Table(columns, rows)


def skipped_table(trials: Sequence[BareTrial]) -> Table:
    """The reasons of skipped tests, and where they hold."""
    reasons: dict[str, dict[str, int]] = {}
    for trial in trials:
        for reason, number in trial.skipped.items():
            reasons.setdefault(reason, {})[f"{trial.system}, {trial.machine}"] = number
    rows = [(reason, max(places.values()), "; ".join(places)) for reason, places in reasons.items()]
    rows.sort(key=lambda row: -row[1])
    return Table([Column("skipped because"), Column("tests", ",d"), Column("where")], rows)
