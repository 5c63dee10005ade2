"""Results that are committed: what pages are made of, and what checks hold later figures against.

`bench/NAME.json` is what one command found out: when, where, with which versions, and a row of
figures for each thing that was measured. A command replaces the whole file, so that all of it
belongs together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trimtab import files, paths
from trimtab.errors import FileAccessError, RegressionError

ALLOWED = 0.02  # a part of the committed figure

Row = Mapping[str, Any]


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True, kw_only=True)
class Results:
    """What a command found out.

    `date`: ISO 8601; `command` makes it again; `machine`: facts of it, where figures depend on it;
    `versions`: of the programs that they depend on; `notes`: what a reader must know beside.
    """

    date: str = field(default_factory=_today)
    command: str
    machine: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str]
    notes: Sequence[str] = ()
    rows: Sequence[Row]


@dataclass(frozen=True)
class Baseline:
    """Figures that may not grow: in rows of the file `name` that are known by their `keys`.

    They do not depend on the load of a machine (bytes, counted instructions, a model's cycles), so
    a small allowance is enough.
    """

    name: str
    keys: tuple[str, ...]
    figures: tuple[str, ...]

    def check(self, rows: Sequence[Row]) -> None:
        """RegressionError when a figure is worse than the committed one by more than 2 %, or has
        none; FileAccessError without a committed file.
        """
        known, new = self._by_name(read(self.name).rows), self._by_name(rows)
        where = str(path_of(self.name))
        if missing := sorted(set(new) - set(known)):
            raise RegressionError(
                f"no figure is committed for {', '.join(missing)}",
                where=where,
                hint="write it with --update, and commit it",
            )
        worse = [
            f"{key}: {known[key]:.6g} to {value:.6g} ({value / known[key] - 1:+.1%})"
            for key, value in new.items()
            if value > known[key] * (1 + ALLOWED)
        ]
        if worse:
            raise RegressionError(
                f"worse than the baseline by more than {ALLOWED:.0%}: {'; '.join(worse)}",
                where=where,
                hint="find the change that did it; if it is worth its price, use --update and "
                "commit",
            )

    def _by_name(self, rows: Sequence[Row]) -> dict[str, float]:
        return {
            " ".join([*(str(row[key]) for key in self.keys), figure]): row[figure]
            for row in rows
            for figure in self.figures
            if row[figure] is not None
        }


def path_of(name: str) -> Path:
    """The committed file `name`, in a checkout."""
    return paths.root() / "bench" / f"{name}.json"


def read(name: str) -> Results:
    """What is committed as `name`; FileAccessError when it is missing or damaged."""
    path = path_of(name)
    try:
        found = Results(**json.loads(path.read_text(encoding="utf-8")))
        for row in found.rows:
            dict(row)
    except (OSError, ValueError, TypeError) as error:
        raise FileAccessError(
            f"the committed results cannot be read: {error}",
            where=str(path),
            hint="make them again with the --update of their task",
        ) from error
    return found


def write(name: str, results: Results) -> Path:
    """Commits to `results` as `name`: a line per row. Returns the path."""
    path = path_of(name)
    facts = {key.name: getattr(results, key.name) for key in fields(results)}
    rows = ",\n  ".join(json.dumps(row) for row in facts.pop("rows"))
    lines = [*(f'"{key}": {json.dumps(value)}' for key, value in facts.items())]
    lines.append(f'"rows": [\n  {rows}\n ]')
    text = "{\n " + ",\n ".join(lines) + "\n}\n"
    files.write_text(path, text, hint="committed results belong to a checkout")
    return path
