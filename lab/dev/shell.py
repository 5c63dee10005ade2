"""Runs the developer's programs in the root of the checkout, with their output passed through."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import lab
from trimtab.errors import MissingRequirementError

ROOT = lab.FOLDER.parent
"""The root of the checkout."""


def tool(name: str, remedy: str = 'pip install -e ".[dev]"') -> str:
    """The path of the program `name` in this Python environment, else on PATH.

    MissingRequirementError, with the `remedy` that installs it.
    """
    path = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if not path:
        raise MissingRequirementError(f"{name} is not installed", hint=remedy)
    return path


def run(argv: Sequence[str], env: Mapping[str, str] | None = None) -> int:
    """Runs `argv` in the checkout's root; returns its exit code."""
    sys.stdout.flush()
    try:
        return subprocess.run(argv, cwd=ROOT, env=env, check=False).returncode
    except OSError as error:
        raise MissingRequirementError(str(error), where=argv[0]) from None


def output(argv: Sequence[str]) -> tuple[int, str]:
    """Runs `argv` in the checkout's root; returns its exit code, and what it printed."""
    try:
        done = subprocess.run(
            argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    except OSError as error:
        raise MissingRequirementError(str(error), where=argv[0]) from None
    return done.returncode, done.stdout


def scripts() -> list[str]:
    """All shell scripts of the project."""
    rooms = [path for room in ("lab", "trimtab") for path in (ROOT / room).rglob("*.sh")]
    return ["inv", ".ci/run", *sorted(str(path.relative_to(ROOT)) for path in rooms)]
