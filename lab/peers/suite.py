"""Lists of networks to compare on, made before any of them is measured.

A list is a TOML file of tables. In a table, `files` are paths or patterns of ONNX files, relative
to the list unless they are absolute; any other key, such as `timm`, has names of networks, whose
files are NAME.onnx somewhere below the folder of exports. `lab/networks/list.toml` is such a list,
and `export.py` beside it writes its networks.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from trimtab.errors import FileAccessError, UsageError

_FILES = "files"


def models(suite: Path, exports: Path, only: Collection[str] = ()) -> tuple[list[Path], list[str]]:
    """The ONNX files of a list, or of the tables `only`, and the names without a file.

    Tables of which nothing is exported do not take part: `export.py` writes the tables it is told.
    FileAccessError or UsageError for a list that cannot be read, is malformed, names two files
    alike, or lacks a table.
    """
    chosen: list[Path] = []
    missing: list[str] = []
    exported = {path.stem: path for path in sorted(exports.rglob("*.onnx"))}
    listed = tables(suite)
    if unknown := sorted({*only} - {*listed}):
        hint = f"use {', '.join(listed)}"
        raise UsageError(f"there is no table {unknown[0]}", where=str(suite), hint=hint)
    for title, entries in listed.items():
        if only and title not in only:
            continue
        model_files: list[Path] = []
        absent: list[str] = []
        for key, name in entries:
            if key == _FILES:
                fitting = _fitting(suite, Path(name))
                model_files += fitting
                absent += [] if fitting else [name]
            elif name in exported:
                model_files.append(exported[name])
            else:
                absent.append(name)
        chosen += model_files
        missing += absent if model_files else []
    if twice := sorted(n for n, count in Counter(p.stem for p in chosen).items() if count > 1):
        raise UsageError(f"{twice[0]} is listed twice", where=str(suite), hint="rename one file")
    if not chosen:
        raise UsageError(
            f"no file of the list is below {exports}",
            where=str(suite),
            hint="write them: python -m lab.networks.export FOLDER; then --exports FOLDER",
        )
    return chosen, missing


def classes(suite: Path) -> dict[str, str]:
    """The table of each network that a list names. Raises the errors of `models`."""
    return {
        name: table for table, entries in tables(suite).items() for key, name in entries
        if key != _FILES
    }  # fmt: skip


def _fitting(suite: Path, pattern: Path) -> list[Path]:
    """The files of a pattern, which is relative to the list or absolute."""
    folder, relative = suite.parent / pattern.anchor, pattern.relative_to(pattern.anchor)
    # Python takes "a**" for "a*" from version 3.13 on.
    if not relative.parts or any("**" in part and part != "**" for part in relative.parts):
        what = f"'{pattern}' is not a pattern of files"
        raise UsageError(what, where=str(suite), hint="name files, or use * and ?")
    return sorted(folder.glob(str(relative)))


def tables(suite: Path) -> dict[str, list[tuple[str, str]]]:
    """The entries of each table of a list, as key and name."""
    try:
        content = tomllib.loads(suite.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        hint = "see lab/networks/list.toml for one"
        raise FileAccessError(f"cannot be read: {error}", where=str(suite), hint=hint) from error
    entries: dict[str, list[tuple[str, str]]] = {}
    for title, table in content.items():
        if not isinstance(table, dict):
            raise UsageError("its entries must be tables", where=str(suite), hint="[networks]")
        for key, names in table.items():
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise UsageError(f"'{key}' is not a list of names", where=str(suite))
        entries[title] = [(key, name) for key, names in table.items() for name in names]
    return entries
