"""Which state of which repository was measured."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Revision:
    """A commit in hex, its time (ISO 8601) and the first line of its message; `is_changed`: tracked
    files differ from it.
    """

    commit: str
    time: str
    subject: str
    is_changed: bool

    def __str__(self) -> str:
        """The commit, with `+` when files differ from it."""
        return self.commit + "+" * self.is_changed


def of(folder: Path) -> Revision | None:
    """That of the Git repository that `folder` lies in; None without one, or without Git."""
    git = ["git", "-C", str(folder)]
    try:
        told = subprocess.run(
            [*git, "log", "-1", "--format=%H%x00%cI%x00%s"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.rstrip("\n")
        changed = subprocess.run(
            [*git, "diff", "--quiet", "HEAD"], capture_output=True, check=False
        ).returncode
    except (OSError, subprocess.CalledProcessError):
        return None
    commit, time, subject = told.split("\0", 2)
    return Revision(commit, time, subject, changed != 0)


def both(trimtab: Path, project: Path) -> Mapping[str, dict[str, str | bool] | None]:
    """Those of trimtab and of the user's project, for a record."""
    found = {"trimtab": of(trimtab), "project": of(project)}
    return {whose: asdict(one) if one else None for whose, one in found.items()}
