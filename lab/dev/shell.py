"""How tasks run the programs of a developer: from the checkout's root, output passed through."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from trimtab import paths
from trimtab.errors import MissingRequirementError, UsageError


def checkout() -> Path:
    """The checkout's root; UsageError for an installed trimtab, which has no sources."""
    if not paths.is_checkout():
        raise UsageError(
            "this task works on the source tree, and trimtab is installed without it",
            hint="run it as ./inv in a clone of the repository",
        )
    return paths.root()


def tool(name: str, remedy: str = 'pip install -e ".[dev]"') -> str:
    """The program of that name from this Python environment, else from PATH.

    Raises MissingRequirementError with the `remedy` that installs it.
    """
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if not found:
        raise MissingRequirementError(f"{name} is not installed", hint=remedy)
    return found


def run(argv: Sequence[str], env: Mapping[str, str] | None = None) -> int:
    """Runs `argv` in the checkout's root and returns its exit code; its output is the user's."""
    sys.stdout.flush()
    try:
        return subprocess.run(argv, cwd=checkout(), env=env, check=False).returncode
    except OSError as error:
        raise MissingRequirementError(str(error), where=argv[0]) from None
