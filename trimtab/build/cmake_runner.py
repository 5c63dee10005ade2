"""Runs CMake and ninja, and reports their errors in a few lines."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from trimtab import files, strict_json
from trimtab.errors import BuildError, ToolchainError
from trimtab.progress import SILENT, Progress, Step

_SHOWN_ERRORS = 8
# `[0/2] Re-checking globbed directories...` does not count as work.
_COUNTER = re.compile(r"^\[(\d+)/(\d+)\] (?!Re-)")
# Flags whose values are paths, which a record omits: they differ between machines.
_PATH_FLAGS = {"-o", "-I", "-include", "-c", "-MF", "-MT", "-isystem"}


def cmake() -> str:
    """The cmake program of the PyPI package, or else the one on PATH."""
    return _program("cmake", "CMAKE_BIN_DIR")


def ninja() -> str:
    """The ninja program of the PyPI package, or else the one on PATH."""
    return _program("ninja", "BIN_DIR")


def _program(name: str, folder_constant: str) -> str:
    try:
        program = Path(getattr(importlib.import_module(name), folder_constant)) / name
    except (ImportError, AttributeError):
        program = Path(shutil.which(name) or name)
    if not program.is_file():
        raise ToolchainError(
            f"{name} is not installed", hint=f"{sys.executable} -m pip install {name}"
        )
    return str(program)


def run(
    tree: Path,
    configure: Sequence[str],
    targets: Sequence[str],
    title: str,
    progress: Progress = SILENT,
) -> dict[str, float]:
    """Configures if needed, compiles `targets`, and returns the seconds of each step.

    ninja reconfigures by itself if a CMake file, a schema or a profile has changed. `progress` gets
    a step `title`, unless everything is up to date. Raises BuildError with the first error lines
    and the path of the log.
    """
    log = tree / "build.log"
    times = {}
    start = time.monotonic()
    # After a change of options, or a failed first configuration, the tree is configured anew.
    stamp, text = tree / "configured.json", strict_json.dumps(list(configure))
    with BuildSteps(title, progress) as work:
        if not stamp.is_file() or stamp.read_text(encoding="utf-8") != text:
            (tree / "CMakeCache.txt").unlink(missing_ok=True)
            with work.start().step("configure"):
                _execute(configure, log, "w", "CMake cannot configure the build", lambda _: None)
            files.write_text(stamp, text, error=BuildError)
            times["configure"] = round(time.monotonic() - start, 2)
        start = time.monotonic()
        command = [ninja(), "-C", str(tree), *targets]
        _execute(command, log, "a", "the compiler failed", work.count)
    times["compile"] = round(time.monotonic() - start, 2)
    return times


class BuildSteps:
    """The progress steps of a build, which start when there is work."""

    def __init__(self, title: str, progress: Progress) -> None:
        self._title, self._progress = title, progress
        self._steps = ExitStack()
        self._has_started = False
        self._compile: Step | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self._steps.__exit__(*exc_info)

    def start(self) -> Progress:
        """Starts the outer step, once; returns the progress for inner steps."""
        if not self._has_started:
            self._steps.enter_context(self._progress.step(self._title))
            self._has_started = True
        return self._progress

    def count(self, line: str) -> None:
        """Parses a line of ninja such as `[3/80] Building ...`."""
        if match := _COUNTER.match(line):
            if self._compile is None:
                self._compile = self._steps.enter_context(self.start().step("compile", "steps"))
            self._compile.update(int(match[1]), int(match[2]), line[match.end() :].strip())


def _execute(
    command: Sequence[str], log: Path, mode: str, failure: str, on_line: Callable[[str], None]
) -> None:
    # Flags from the environment would affect the binary without being in its record.
    hidden = {
        "CFLAGS",
        "CXXFLAGS",
        "LDFLAGS",
        "CC",
        "CXX",
        "CMAKE_TOOLCHAIN_FILE",
        "CMAKE_GENERATOR",
        "DESTDIR",
    }
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    try:
        with (
            log.open(mode, encoding="utf-8") as file,
            subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env=environment,
            ) as process,
        ):
            file.write(f"$ {shlex.join(command)}\n")
            assert process.stdout is not None
            for line in process.stdout:
                file.write(line)
                on_line(line)
    except OSError as error:
        raise BuildError(f"{failure}: {error.strerror}", where=str(error.filename or log)) from None
    if process.returncode:
        raise BuildError(f"{failure}:\n{first_errors(log)}", hint=f"the full output is in {log}")


def first_errors(log: Path) -> str:
    """The error lines of the last command in a log, indented."""
    text = log.read_text(encoding="utf-8", errors="replace").rpartition("\n$ ")[2]
    lines = text.splitlines()
    errors = [
        line
        for line in lines
        if re.search(r"\berror\b|undefined (symbol|reference)|No space left", line, re.I)
    ]
    return "\n".join(
        f"    {line.strip()}" for line in (errors or lines[-_SHOWN_ERRORS:])[:_SHOWN_ERRORS]
    )


def flags(tree: Path) -> dict[str, list[str]]:
    """The actual flags, without paths: `compile` of the engine's core, `link` of the runner."""
    with (tree / "compile_commands.json").open(encoding="utf-8") as file:
        commands = {entry["file"]: entry["command"] for entry in strict_json.loads(file.read())}
    source = next(name for name in sorted(commands) if "/runtime/core/" in name)
    linking = subprocess.run(
        [ninja(), "-C", str(tree), "-t", "commands", "-s", "trimtab-run"],
        capture_output=True,
        text=True,
        check=False,
    )
    link = linking.stdout.replace(" && :", "").rpartition("&& ")[2].partition(" > ")[0]
    return {"compile": _options(commands[source]), "link": _options(link)}


def _options(command: str) -> list[str]:
    options: list[str] = []
    skip = False
    for word in shlex.split(command)[1:]:
        if skip or word in _PATH_FLAGS:
            skip = not skip and word != "-c"
        elif word.startswith("-") and not word.startswith("-I") and word not in options:
            options.append(word)
    return options


def compiler_version(tree: Path) -> str:
    """The first line of `--version` of the compiler of a build tree."""
    cache = (tree / "CMakeCache.txt").read_text(encoding="utf-8")
    descriptions = sorted(tree.glob("CMakeFiles/*/CMakeCXXCompiler.cmake"))
    settings = descriptions[-1].read_text(encoding="utf-8") if descriptions else cache
    match = re.search(r'CMAKE_CXX_COMPILER "([^"]+)"', settings)
    program = match[1] if match else "c++"
    result = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return result.stdout.partition("\n")[0].strip()
