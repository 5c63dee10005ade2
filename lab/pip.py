"""Wheels of PyPI, which are downloaded and not installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.worker import last_line
from trimtab.errors import MissingRequirementError

_SECONDS = 600.0


def wheel(package: str, folder: Path, options: Sequence[str] = (), hint: str = "") -> Path:
    """The wheel of a package, such as `numpy==2.1`, in `folder`, without its dependencies; the one
    that was downloaded before is taken without network. `options`: more options of pip.

    MissingRequirementError, with the `hint`, if there is none.
    """
    if wheels := sorted(folder.glob("*.whl")):
        return wheels[-1]
    # Wheels only: building a source distribution would run its code.
    argv = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    argv += ["--dest", str(folder), *options, package]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=_SECONDS)
        reason = last_line(done.stderr)
    except subprocess.TimeoutExpired as error:
        reason = str(error)
    if wheels := sorted(folder.glob("*.whl")):
        return wheels[-1]
    raise MissingRequirementError(f"PyPI has no wheel of {package}: {reason}", hint=hint)
