"""The folder that a build is delivered into."""

from __future__ import annotations

from pathlib import Path

from trimtab import files, strict_json
from trimtab.errors import BuildError

RECORD = "build.json"
ELSEWHERE = "name another folder with --output"


def check_output(output: Path) -> None:
    """BuildError if the folder cannot be written, or contains foreign files: a delivery replaces
    the whole folder.
    """
    if not output.exists():
        files.check_writable(output, error=BuildError, hint=ELSEWHERE)
        return
    if not output.is_dir():
        raise BuildError(
            "the output is a file, not a folder",
            where=str(output),
            hint=ELSEWHERE,
        )
    present = {str(path.relative_to(output)) for path in output.rglob("*") if not path.is_dir()}
    if foreign := sorted(present - _delivered(output)):
        raise BuildError(
            f"the output folder contains a file that is not from a build: {foreign[0]}",
            where=str(output),
            hint=f"move it away, or {ELSEWHERE}",
        )


def _delivered(output: Path) -> set[str]:
    """The files of an earlier delivery, according to its record."""
    try:
        files = strict_json.loads((output / RECORD).read_text(encoding="utf-8"))["files"]
        return {*map(str, files), RECORD}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
