"""Lists of networks to compare on, made before any of them is measured.

A list is a TOML file of tables. In a table, `files` are paths or patterns of ONNX files relative to
the list; any other key, such as `timm`, has names of networks, whose files are NAME.onnx somewhere
below the folder of exports. `lab/networks/list.toml` is such a list, and `export.py` beside it
writes its networks.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from trimtab.errors import FileAccessError, UsageError

_FILES = "files"


def models(suite: Path, exports: Path) -> tuple[list[Path], list[str]]:
    """The ONNX files of a list, and the names without a file.

    FileAccessError or UsageError for a list that cannot be read, is malformed, or names two files
    alike.
    """
    chosen: list[Path] = []
    missing: list[str] = []
    exported = {path.stem: path for path in sorted(exports.rglob("*.onnx"))}
    for key, name in _entries(suite):
        if key == _FILES:
            fitting = sorted(suite.parent.glob(name))
            chosen += fitting
            missing += [] if fitting else [name]
        elif name in exported:
            chosen.append(exported[name])
        else:
            missing.append(name)
    if twice := sorted(n for n, count in Counter(p.stem for p in chosen).items() if count > 1):
        raise UsageError(f"{twice[0]} is listed twice", where=str(suite), hint="rename one file")
    if not chosen:
        raise UsageError(
            f"no file of the list is below {exports}",
            where=str(suite),
            hint="write them: python lab/networks/export.py FOLDER; then --exports FOLDER",
        )
    return chosen, missing


def _entries(suite: Path) -> Iterator[tuple[str, str]]:
    """The key and the name of each entry of a list."""
    try:
        tables = tomllib.loads(suite.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        hint = "see lab/networks/list.toml for one"
        raise FileAccessError(f"cannot be read: {error}", where=str(suite), hint=hint) from error
    for table in tables.values():
        lists = table.items() if isinstance(table, dict) else ()
        for key, names in lists:
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise UsageError(f"'{key}' is no list of names", where=str(suite))
            yield from ((key, name) for name in names)
        if not isinstance(table, dict):
            raise UsageError("its entries must be tables", where=str(suite), hint="[networks]")
