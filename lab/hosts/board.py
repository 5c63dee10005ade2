"""An aarch64 Debian in a folder of this machine, as somebody who sits at a board has it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.bare_machine import root
from lab.dev import distribution, shell
from lab.hosts import cross, emulation
from trimtab import files, paths
from trimtab.errors import MissingRequirementError
from trimtab.progress import SILENT, Progress

CPU = "cortex-a72"  # of a Raspberry Pi 4
HOME = "root"
_RELEASES = {(3, 11): "bookworm", (3, 13): "trixie"}  # by Python: the wheel is for this one's
_OF_PYTHON = "python{}.{}"


@dataclass(frozen=True)
class Board:
    """The root, the log of its commands, and the words that enter its namespace."""

    root: Path
    log: Path
    within: tuple[str, ...]

    @property
    def home(self) -> Path:
        """The folder in which commands run."""
        return self.root / HOME

    def run(self, command: str, cpu: str = CPU, environment: Mapping[str, str] = {}) -> int:
        """Runs a command of the shell; returns its exit code. `cpu`: in QEMU's spelling."""
        return root.run(
            self.root,
            f"cd /{HOME} && {command}",
            log=self.log, environment={"QEMU_CPU": cpu, **environment}, within=self.within,
        )  # fmt: skip


@contextmanager
def board(log: Path, progress: Progress = SILENT) -> Iterator[Board]:
    """The board, which is made in the cache if there is none; errors of `root.make`, and
    EmulatorError.
    """
    folder = paths.cache() / "hosts" / "aarch64"
    with emulation.namespace(emulation.qemu()) as within:
        if not folder.is_dir():
            with progress.step("make an aarch64 Debian"), files.replacing_folder(folder) as fresh:
                packages = ["python3-venv"]
                root.make(_release(), fresh / "root", packages, architecture="arm64", within=within)
        yield Board(folder / "root", log, tuple(within))


def put_wheel(board: Board, progress: Progress = SILENT) -> str:
    """Writes this checkout's wheel for aarch64 and the locked versions of its dependencies into the
    board's home; returns the words for pip.
    """
    folder = board.home / "wheels"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    wheel = cross.wheel(folder, _headers(), progress)
    locked = distribution.read_lock((shell.ROOT / "requirements.lock").read_text(encoding="utf-8"))
    pins = "".join(f"{name}=={package.version}\n" for name, package in locked.items())
    files.write_text(folder / "pins.txt", pins)
    return f"--constraint wheels/pins.txt wheels/{shlex.quote(wheel.name)}"


def _release() -> str:
    version = sys.version_info[:2]
    if version not in _RELEASES:
        listed = " or ".join(f"{major}.{minor}" for major, minor in _RELEASES)
        raise MissingRequirementError(
            f"no Debian has Python {_OF_PYTHON.format(*version)}", hint=f"use Python {listed}"
        )
    return _RELEASES[version]


def _headers() -> Path:
    """Python's headers of the release for aarch64, unpacked in the cache."""
    python = _OF_PYTHON.format(*sys.version_info[:2])
    folder = paths.cache() / "hosts" / "headers"
    if not folder.is_dir():
        with files.replacing_folder(folder) as fresh:
            options = ["--variant=extract", "--architectures=arm64"]
            root.unpack(_release(), fresh / "root", [*options, f"--include=lib{python}-dev"])
            (fresh / "root/usr/include").rename(fresh / "include")
            subprocess.run(["rm", "-rf", str(fresh / "root")], check=True)
    return folder / "include" / python
