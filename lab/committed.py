"""Committed results: the source of the figures in pages, and the baseline of later measurements.

A result file holds the output of one command: date, command, machine, versions, one row of figures
per measured item, and the SHA-256 of all that. A command replaces the whole file, so that all rows
belong together; a file that was edited since is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import lab
from trimtab import files
from trimtab.errors import FileAccessError, RegressionError

ALLOWED = 0.02  # relative increase over the committed figure

Row = Mapping[str, Any]


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True, kw_only=True)
class Results:
    """The content of a result file.

    `date`: ISO 8601; `command`: repeats the measurement; `machine`: properties of the machine, for
    figures that depend on it; `versions`: of the programs that the figures depend on; `notes`:
    sentences that the reader of the figures needs; `sha256`: that of the rest, as `write` has set
    it.
    """

    date: str = field(default_factory=_today)
    command: str
    machine: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str]
    notes: Sequence[str] = ()
    rows: Sequence[Row]
    sha256: str = ""

    def digest(self) -> str:
        """The SHA-256 of everything but `sha256`, as JSON with sorted keys."""
        facts = {**asdict(self), "sha256": ""}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Baseline:
    """Figures that must not grow: columns `figures` of the result file `name`, whose rows are
    identified by the columns `keys`.

    The figures do not depend on the load of the machine (bytes, counted instructions, modeled
    cycles), so that a small allowance is sufficient.
    """

    name: str
    keys: tuple[str, ...]
    figures: tuple[str, ...]

    def check(self, rows: Sequence[Row]) -> None:
        """Compares `rows` with the committed ones.

        RegressionError for a figure more than 2 % above the committed one, or without a committed
        one; FileAccessError without a result file.
        """
        baseline, current = self._by_key(read(self.name).rows), self._by_key(rows)
        where = str(path_of(self.name))
        if missing := sorted(set(current) - set(baseline)):
            raise RegressionError(
                f"no figure is committed for {', '.join(missing)}",
                where=where,
                hint="write it with --update, and commit it",
            )
        worse = [
            f"{key}: {baseline[key]:.6g} to {value:.6g} ({value / baseline[key] - 1:+.1%})"
            for key, value in current.items()
            if value > baseline[key] * (1 + ALLOWED)
        ]
        if worse:
            raise RegressionError(
                f"worse than the baseline by more than {ALLOWED:.0%}: {'; '.join(worse)}",
                where=where,
                hint="find the change that caused it; to accept the cost, use --update and commit",
            )

    def merged(self, results: Results) -> Results:
        """The committed results with the rows of `results` in place of those with the same keys, or
        behind them, the notes of both, and one that names these rows with their date: one note for
        each date other than that of the committed results.

        The results themselves without a result file.
        """
        if not path_of(self.name).exists():
            return results
        before = read(self.name)
        rows = {self._key(row): row for row in (*before.rows, *results.rows)}
        measured = [self._key(row) for row in results.rows]
        notes, of_the_day = [*before.notes], f"Measured on {results.date}: "
        if notes and notes[-1].startswith(of_the_day):
            earlier = notes.pop().removeprefix(of_the_day).removesuffix(".")
            measured = [*dict.fromkeys([*earlier.split(", "), *measured])]
        notes += [note for note in results.notes if note not in notes]
        if results.date != before.date:
            notes.append(f"{of_the_day}{', '.join(measured)}.")
        return replace(
            before,
            versions={**before.versions, **results.versions},
            notes=notes,
            rows=list(rows.values()),
        )

    def _key(self, row: Row) -> str:
        return " ".join(str(row[key]) for key in self.keys)

    def _by_key(self, rows: Sequence[Row]) -> dict[str, float]:
        return {
            f"{self._key(row)} {figure}": row[figure]
            for row in rows
            for figure in self.figures
            if row[figure] is not None
        }


def path_of(name: str) -> Path:
    """The result file `name`: lab/sizes/result.json for "sizes", lab/peers/int8.json for
    "peers/int8".
    """
    return lab.FOLDER / f"{name if '/' in name else f'{name}/result'}.json"


def read(name: str) -> Results:
    """Reads the result file `name`; FileAccessError when it is missing or damaged, or was changed
    since it was written.
    """
    path = path_of(name)
    try:
        results = Results(**json.loads(path.read_text(encoding="utf-8")))
        for row in results.rows:
            dict(row)
        if results.sha256 != results.digest():
            raise ValueError("they are not those that --update wrote, whose SHA-256 they have")
    except (OSError, ValueError, TypeError) as error:
        raise unreadable(name, error) from error
    return results


def names() -> Iterator[str]:
    """The names of all result files."""
    for path in sorted(lab.FOLDER.glob("*/*.json")):
        name = path.relative_to(lab.FOLDER).with_suffix("").as_posix()
        yield name.removesuffix("/result")


def unreadable(name: str, error: Exception) -> FileAccessError:
    """The error for a result file that is missing or damaged."""
    return FileAccessError(
        f"the committed results cannot be read: {error}",
        where=str(path_of(name)),
        hint="write them again with --update of their task",
    )


def write(name: str, results: Results) -> Path:
    """Replaces the result file `name`, one line per row; returns its path."""
    path = path_of(name)
    facts = {**asdict(results), "sha256": results.digest()}
    rows = ",\n  ".join(json.dumps(row) for row in facts.pop("rows"))
    lines = [*(f'"{key}": {json.dumps(value)}' for key, value in facts.items())]
    lines.append(f'"rows": [\n  {rows}\n ]')
    text = "{\n " + ",\n ".join(lines) + "\n}\n"
    files.write_text(path, text, hint="results are committed in a checkout")
    return path
