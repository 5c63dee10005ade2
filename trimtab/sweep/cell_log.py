"""Which cells a commit has: what `history` needs, since a cell is measured once, at whichever
commit had its binary first.

One immutable JSON file for each state of the sources that a sweep was run in, beside the records.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trimtab import files
from trimtab.errors import ResultError

FORMAT = 1
SUFFIX = ".sweep.json"


@dataclass(frozen=True)
class Seen:
    """A cell by its key, without hashes its `series`, and what it is."""

    cell: str
    series: str
    configuration: Mapping[str, Any]


@dataclass(frozen=True)
class Sighting:
    """The cells of the sweep `name` in a state of the sources; `time`: when it was first run so."""

    name: str
    time: str
    revisions: Mapping[str, Any]
    cells: tuple[Seen, ...]


def write(name: str, revisions: Mapping[str, Any], cells: Sequence[Seen], folder: Path) -> Path:
    """Writes that a sweep has these cells now, unless that is known; ResultError when refused."""
    facts = {"name": name, "revisions": revisions, "cells": [asdict(cell) for cell in cells]}
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
    path = folder / f"{name}-{digest}{SUFFIX}"
    if not path.exists():
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        content = {"format": FORMAT, "time": now, **facts}
        files.write_text(path, json.dumps(content, indent=1) + "\n", error=ResultError)
    return path


def read_all(folder: Path) -> list[Sighting]:
    """Those of a folder, oldest first; ResultError for a file that is damaged."""
    found = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != FORMAT:
                raise ValueError(f"format {content['format']}")
            cells = tuple(Seen(**cell) for cell in content["cells"])
            found.append(Sighting(content["name"], content["time"], content["revisions"], cells))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultError(
                f"not the record of a sweep: {error}", where=str(path), hint="remove it"
            ) from error
    return sorted(found, key=lambda sighting: sighting.time)
