"""A program of another engine, which the user names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trimtab.errors import MissingRequirementError


@dataclass(frozen=True)
class NamedRunner:
    """A program of another engine: `NAME=PROGRAM` or `NAME=PROGRAM:FILE:FILE`.

    It is called with the number of threads, the number of inferences and the files' paths, and
    prints the nanoseconds of an inference per line.
    """

    name: str
    program: Path
    files: tuple[Path, ...]

    @staticmethod
    def parse(text: str) -> NamedRunner:
        """The runner of an option; MissingRequirementError for files that do not exist."""
        name, separator, paths = text.partition("=")
        program, *others = map(Path, paths.split(":"))
        for path in (program, *others):
            if not separator or not path.is_file():
                raise MissingRequirementError(
                    f"--runner {text!r} names no file {str(path)!r}",
                    hint="write it as NAME=PROGRAM or NAME=PROGRAM:FILE:FILE",
                )
        return NamedRunner(name, program, tuple(others))
