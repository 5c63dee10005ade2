"""The committed history of a repository's networks, and the gate against its last entry.

A history is a file of JSON lines, one for each accepted state:

    {"date": "2026-11-29", "core": "neoverse-n2", "rows": [{"network": "net", "precision": "f32",
     "threads": 1, "bytes": 5230000, "ratio": 0.74}]}

Machines of a service differ, so no time is compared: sizes are exact, and the ratio to the fastest
other engine was measured in the same interleaved rounds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.silicon.measure import SiliconRow
from trimtab import files, strict_json
from trimtab.errors import RegressionError, ResultError

BYTES = 0.01  # share by which a size may grow, for another version of a compiler
_HINT = "--append writes an entry; commit the file"

Key = tuple[str, str, int]


def entry(core: str, date: str, rows: Iterable[SiliconRow]) -> dict[str, Any]:
    """The entry of these figures."""
    facts = [
        {
            "network": row.network,
            "precision": row.precision,
            "threads": row.threads,
            "bytes": row.binary_bytes + row.model_bytes,
            "ratio": None if row.ratio is None else round(row.ratio, 3),
        }
        for row in rows
    ]
    return {"date": date, "core": core, "rows": facts}


def last(path: Path, core: str) -> Mapping[Key, Mapping[str, Any]]:
    """The rows of the last entry for a core; empty without a file or without the core.

    ResultError for a file of another form.
    """
    if not path.exists():
        return {}
    rows: dict[Key, Mapping[str, Any]] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise ResultError(f"cannot be read: {error}", where=str(path), hint=_HINT) from error
    for number, line in enumerate(lines, 1):
        try:
            one = strict_json.loads(line)
            entries = {_key(row): row for row in one["rows"]}
            for row in entries.values():
                float(row["bytes"]), float(row["ratio"] or 0)
            rows = entries if one["core"] == core else rows
        except (KeyError, TypeError, ValueError) as error:
            raise ResultError(
                f"line {number} is not an entry of a history: {type(error).__name__}: {error}",
                where=str(path),
                hint=_HINT,
            ) from error
    return rows


def append(path: Path, entry: Mapping[str, Any]) -> None:
    """Adds an entry to a history; ResultError if it cannot be written."""
    files.append_text(path, json.dumps(entry) + "\n", error=ResultError)


def worse(
    before: Mapping[Key, Mapping[str, Any]], now: Mapping[str, Any], tolerance: float
) -> Iterator[str]:
    """Figures worse than in the last entry: a size by more than 1 %, a ratio by `tolerance`."""
    for row in now["rows"]:
        name = "{} in {}, {} thread(s)".format(*_key(row))
        old = before.get(_key(row), {})
        for figure, allowed in (("bytes", BYTES), ("ratio", tolerance)):
            then, value = old.get(figure), row[figure]
            if then and value and value > then * (1 + allowed):
                yield f"{name}: {figure} {then:g} to {value:g} ({value / then - 1:+.1%})"


def check(worsened: Sequence[str], path: Path) -> None:
    """RegressionError if something is worse."""
    if worsened:
        raise RegressionError(
            f"worse than the committed history: {'; '.join(worsened)}",
            where=str(path),
            hint=f"find the change that caused it, or accept it: {_HINT}",
        )


def _key(row: Mapping[str, Any]) -> Key:
    return str(row["network"]), str(row["precision"]), int(row["threads"])
