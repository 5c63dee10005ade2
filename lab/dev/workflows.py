"""The shell commands of workflows, of action.yml and of the examples in docs/ci.md.

    python -m lab.dev.workflows          runs shellcheck on each of them

A `run:` of GitHub is a script for bash, whose expressions stand for words.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lab.dev import shell

_EXPRESSION = re.compile(r"\$\{\{.*?\}\}")
_EXAMPLE = re.compile(r"```yaml\n(.*?)```", re.S)
PAGE = "docs/ci.md"


@dataclass(frozen=True)
class RunLine:
    """A script of bash, and where it stands: the file and the job, or the step's name."""

    script: str
    where: str


def files() -> list[Path]:
    """The workflows of this repository and its action, relative to it."""
    flows = sorted((shell.ROOT / ".github" / "workflows").glob("*.yml"))
    return [path.relative_to(shell.ROOT) for path in (*flows, shell.ROOT / "action.yml")]


def commands() -> list[RunLine]:
    """The commands of all files and examples, in their order."""
    scripts = []
    for path in files():
        content = yaml.safe_load((shell.ROOT / path).read_text(encoding="utf-8"))
        scripts += [RunLine(script, str(path)) for script in _scripts(content)]
    for example in _EXAMPLE.findall((shell.ROOT / PAGE).read_text(encoding="utf-8")):
        scripts += [RunLine(script, PAGE) for script in _scripts(yaml.safe_load(example))]
    return scripts


def _scripts(content: Any) -> Iterator[str]:
    """The scripts of a workflow, an action or a pipeline of GitLab, at any depth."""
    if isinstance(content, list):
        for item in content:
            yield from _scripts(item)
    elif isinstance(content, dict):
        for key, value in content.items():
            if key == "run" and isinstance(value, str):
                yield value
            elif key in ("before_script", "script", "after_script"):
                yield from value
            else:
                yield from _scripts(value)


def problems(script: str) -> str:
    """The complaints of shellcheck about a script of bash; empty if there are none."""
    text = "#!/bin/bash\nset -eo pipefail\n" + _EXPRESSION.sub("expression", script) + "\n"
    done = subprocess.run(
        [shell.tool("shellcheck", "./inv setup"), "-"],
        input=text, capture_output=True, text=True, check=False, cwd=shell.ROOT,
    )  # fmt: skip
    return done.stdout + done.stderr


def main() -> int:
    """Prints the problems of all commands; returns an exit code."""
    code = 0
    for command in commands():
        if text := problems(command.script):
            print(f"{command.where}: {text}")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
