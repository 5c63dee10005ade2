"""Logs which cells a sweep had at each commit.

A cell is measured once, at the first commit that produces its binary. `history` needs this log to
know at which later commits the cell was the same. The log is one immutable JSON file for each state
of the sources, beside the records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trimtab import files, strict_json
from trimtab.errors import ResultError

FORMAT = 1
SUFFIX = ".sweep.json"


@dataclass(frozen=True)
class LoggedCell:
    """One cell: its full key, its series key (the key without content hashes), and its
    configuration.
    """

    cell: str
    series: str
    configuration: Mapping[str, Any]


@dataclass(frozen=True)
class CellLog:
    """The cells of the sweep `name` in one state of the sources, first run at `time`."""

    name: str
    time: str
    revisions: Mapping[str, Any]
    cells: tuple[LoggedCell, ...]


def write(
    name: str, revisions: Mapping[str, Any], cells: Sequence[LoggedCell], folder: Path
) -> Path:
    """Writes the log of this state, unless it exists. Raises ResultError if that fails."""
    facts = {"name": name, "revisions": revisions, "cells": [asdict(cell) for cell in cells]}
    digest = hashlib.sha256(strict_json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
    path = folder / f"{name}-{digest}{SUFFIX}"
    if not path.exists():
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        content = {"format": FORMAT, "time": now, **facts}
        files.write_text(path, strict_json.dumps(content, indent=1) + "\n", error=ResultError)
    return path


def read_all(folder: Path) -> list[CellLog]:
    """All logs of a folder, oldest first. Raises ResultError for a damaged file."""
    logs = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            content = strict_json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != FORMAT:
                raise ValueError(f"format {content['format']}")
            cells = tuple(LoggedCell(**cell) for cell in content["cells"])
            logs.append(CellLog(content["name"], content["time"], content["revisions"], cells))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultError(
                f"not the cell log of a sweep: {error}", where=str(path), hint="remove it"
            ) from error
    return sorted(logs, key=lambda log: log.time)
