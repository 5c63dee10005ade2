"""Runs LLVM's programs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from trimtab.errors import BuildError, MissingRequirementError

_SECONDS = 120.0


def tool(name: str) -> str:
    """The path of one of LLVM's programs; MissingRequirementError when it is not installed."""
    path = shutil.which(f"{name}-19") or shutil.which(name)
    if path is None:
        raise MissingRequirementError(
            f"{name} is not installed", hint="sudo apt-get install llvm-19, or ./inv setup"
        )
    return path


def output(command: Sequence[str], text: str = "", *, codes: Sequence[int] = (0,)) -> str:
    """The standard output of a program with the input `text`; BuildError for other exit codes."""
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{Path(command[0]).name} does not run: {error}") from error
    if done.returncode not in codes:
        raise BuildError(f"{Path(command[0]).name} failed: {done.stderr.strip()[-500:]}")
    return done.stdout
