"""The developers' Python packages: a checkout gets them with its first developers' task."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lab.dev import shell
from lab.dev.lock import DEVELOPERS_LOCK
from trimtab import files
from trimtab.errors import MissingRequirementError


def ensure() -> None:
    """Installs `requirements-dev.lock` into the `.venv` that `./inv` made, once per lock.

    Another environment is its owner's affair: nothing is installed there. MissingRequirementError
    if pip fails.
    """
    venv = shell.ROOT / ".venv"
    if Path(sys.prefix) != venv:
        return
    lock, stamp = shell.ROOT / DEVELOPERS_LOCK, venv / ".trimtab-developers-installed"
    digest = files.sha256(lock)
    with files.locked(venv / ".developers.lock"):
        if stamp.is_file() and stamp.read_text(encoding="utf-8") == digest:
            return
        from trimtab.cli._progress import shown

        argv = [
            sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet",
            "install", "--no-compile", "--require-hashes", "--only-binary=:all:",
            f"--requirement={lock}",
        ]  # fmt: skip
        with shown().step("install the developers' Python packages into .venv"):
            if subprocess.run(argv, stdout=sys.stderr, check=False).returncode:
                raise MissingRequirementError(
                    "pip failed",
                    where=str(lock),
                    hint="check the network and pip's index, then run this command again",
                )
        files.write_text(stamp, digest)
