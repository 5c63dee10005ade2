"""The Git commits of trimtab and of the user's project that a sweep measures."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Revision:
    """A commit: its hash in hex, its time (ISO 8601), and the first line of its message.

    `is_changed`: tracked files of the working tree differ from the commit.
    """

    commit: str
    time: str
    subject: str
    is_changed: bool

    def __str__(self) -> str:
        """The commit, with `+` if files differ from it."""
        return self.commit + "+" * self.is_changed


def of_folder(folder: Path) -> Revision | None:
    """The revision of the repository around `folder`; None without a repository or without Git."""
    git = ["git", "-C", str(folder)]
    try:
        log = subprocess.run(
            [*git, "log", "-1", "--format=%H%x00%cI%x00%s"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.rstrip("\n")
        diff_status = subprocess.run(
            [*git, "diff", "--quiet", "HEAD"], capture_output=True, check=False
        ).returncode
    except (OSError, subprocess.CalledProcessError):
        return None
    commit, time, subject = log.split("\0", 2)
    return Revision(commit, time, subject, diff_status != 0)


def of_both(trimtab: Path, project: Path) -> Mapping[str, dict[str, str | bool] | None]:
    """The revisions of trimtab and of the user's project, for a record."""
    revisions = {"trimtab": of_folder(trimtab), "project": of_folder(project)}
    return {name: asdict(revision) if revision else None for name, revision in revisions.items()}
