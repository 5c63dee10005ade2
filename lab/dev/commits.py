"""Checks that commits of kernels carry figures; `./inv lint` runs `python -m lab.dev.commits`.

Of the commits since the last release, or without one since this check exists, those that change
code below `kernels/` must have two numbers in their body, such as times before and after, or say
that the code is the same.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from lab.dev import shell

KERNELS = ("kernels/*.h", "kernels/*.cpp")
SAME = "same code"
"""The words of a body where a change compiles to what it was before."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_HERE = Path(__file__).relative_to(shell.ROOT).as_posix()


def begin() -> str:
    """The tag of the last release, else the commit that brought this check; "" outside of git."""
    code, tag = shell.output(["git", "describe", "--tags", "--abbrev=0"])
    if code == 0:
        return tag.strip()
    code, hashes = shell.output(["git", "log", "--diff-filter=A", "--format=%H", "--", _HERE])
    return hashes.split()[-1] if code == 0 and hashes.strip() else ""


def has_figures(body: str) -> bool:
    """Whether a body has figures before and after, or says that there are none."""
    return len(_NUMBER.findall(body)) >= 2 or SAME in body


def problems(since: str) -> Iterator[str]:
    """A line for each commit after `since` that changes kernels without figures."""
    argv = [
        "git",
        "log",
        "--no-merges",
        "--format=%h%x00%s%x00%b%x01",
        f"{since}..HEAD",
        "--",
        *KERNELS,
    ]
    for entry in filter(str.strip, shell.output(argv)[1].split("\x01")):
        commit, subject, body = entry.strip().split("\0")
        if not has_figures(body):
            yield f"{commit} {subject}: the body lacks figures before and after, or {SAME!r}"


def main() -> int:
    """Prints the findings; returns the exit code."""
    since = begin()
    lines = [*problems(since)] if since else []
    print("".join(f"{line}\n" for line in lines), end="")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
