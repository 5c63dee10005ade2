"""Shell scripts that run on devices, for dash, bash, busybox and mksh (Android).

Each `.sh` file is a script of its own, takes its parameters as arguments, and is checked by
shellcheck in `./inv lint`. A line `. ./NAME.sh` includes a file of functions.
"""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
_INCLUDE = re.compile(r"^\. \./(\w+\.sh)$", re.M)


def script(name: str, *arguments: str) -> str:
    """The text of `NAME.sh` with its arguments, for a shell that gets no arguments itself."""
    text = read(name)
    return f"set -- {shlex.join(arguments)}\n{text}" if arguments else text


@cache
def read(name: str) -> str:
    """The text of `NAME.sh` with its includes, without comments and blank lines."""
    text = (FOLDER / f"{name}.sh").read_text(encoding="utf-8")
    text = _INCLUDE.sub(lambda line: read(line[1].removesuffix(".sh")).rstrip("\n"), text)
    lines = (line for line in text.splitlines() if line.strip() and line.lstrip()[0] != "#")
    return "".join(f"{line}\n" for line in lines)
