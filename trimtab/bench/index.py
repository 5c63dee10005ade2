"""An SQLite index over a folder of result records, to list and find runs without reading them all.

The records are the truth: the index is brought up to date with the folder whenever it is opened,
and may be deleted at any time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path

from trimtab.bench import results
from trimtab.bench.summary import Unit, summarize
from trimtab.errors import ResultError, TruncatedResultError, UsageError

FILE_NAME = "index.sqlite"
TRUNCATED = "TRUNCATED"  # not a status that a run can give itself


@dataclass(frozen=True)
class Entry:
    """One run in the index; `headline` counts `unit`. A file that is cut off has empty fields.

    Of a sweep: the key of the `cell`, and what it shares with those of other commits (`series`).
    `seconds` that the run took, and in which `comparison` it took turns with others.
    """

    file_name: str
    run_id: str
    time: str
    status: str
    model: str
    profile: str
    toolchain: str
    device: str
    threads: int
    launches: int
    binary_sha256: str
    binary_bytes: int
    headline: float | None
    unit: str
    cell: str = ""
    series: str = ""
    comparison: str = ""
    seconds: float | None = None


_COLUMNS = tuple(field.name for field in fields(Entry))
_VERSION = 3


def entries(directory: Path) -> list[Entry]:
    """All runs of a folder, oldest first; brings the index up to date. Raises ResultError."""
    if not directory.is_dir():
        return []
    path = directory / FILE_NAME
    try:
        return _synchronised(directory, path)
    except sqlite3.DatabaseError:
        # Damaged, or written by another version: it holds nothing that the records do not.
        try:
            path.unlink(missing_ok=True)
            return _synchronised(directory, path)
        except (OSError, sqlite3.Error) as error:
            raise ResultError(
                f"the index of runs cannot be written: {error}",
                where=str(path),
                hint="free some space, or make the folder writable",
            ) from error


def find(reference: str, directory: Path) -> Path:
    """The record that a user means: a path, a run id or its beginning, or `last`, `last~1`, ...

    Raises UsageError when it is no run of `directory`, or several.
    """
    if Path(reference).is_file():
        return Path(reference)
    runs = entries(directory)
    matches = _matches(reference, runs)
    if len(matches) == 1:
        return directory / matches[0].file_name
    ids = ", ".join(run.run_id for run in (matches or runs)[-5:]) or "none yet"
    raise UsageError(
        f"{len(matches) or 'no'} runs match {reference!r}",
        where=str(directory),
        hint=f"runs: {ids}; `./inv report` lists all of them",
    )


def _matches(reference: str, runs: Sequence[Entry]) -> list[Entry]:
    last, _, back = reference.partition("~")
    if last == "last" and (back.isdecimal() or not back):
        position = len(runs) - 1 - int(back or 0)
        return [runs[position]] if position >= 0 else []
    return [run for run in runs if run.run_id.startswith(reference)]


def _synchronised(directory: Path, path: Path) -> list[Entry]:
    with closing(sqlite3.connect(path)) as database, database:
        if database.execute("PRAGMA user_version").fetchone()[0] not in (0, _VERSION):
            raise sqlite3.DatabaseError("an index of another version")
        database.execute(f"PRAGMA user_version = {_VERSION}")
        columns = ", ".join(_COLUMNS)
        database.execute(f"CREATE TABLE IF NOT EXISTS runs ({columns}, PRIMARY KEY (file_name))")
        known = {row[0] for row in database.execute("SELECT file_name FROM runs")}
        present = {path.name for path in directory.glob(f"*{results.SUFFIX}")}
        database.executemany(
            "DELETE FROM runs WHERE file_name = ?", [(n,) for n in known - present]
        )
        for name in sorted(present - known):
            entry = _entry(directory / name)
            if entry is not None:
                marks = ", ".join("?" * len(_COLUMNS))
                values = [getattr(entry, column) for column in _COLUMNS]
                database.execute(f"INSERT OR REPLACE INTO runs VALUES ({marks})", values)
        rows = database.execute(f"SELECT {columns} FROM runs ORDER BY file_name").fetchall()
    return [Entry(*row) for row in rows]


def _entry(path: Path) -> Entry | None:
    """The index row of one file; None for a file that is not a record at all."""
    try:
        record = results.read(path)
        summary = summarize(record)
    except TruncatedResultError:
        return Entry(path.name, "", "", TRUNCATED, "", "", "", "", 0, 0, "", 0, None, "")
    except ResultError:
        return None
    header, headline = summary.header, summary.headline
    sweep = header.protocol.get("sweep") or {}
    return Entry(
        file_name=path.name,
        run_id=header.run_id,
        time=header.time,
        status=summary.status,
        model=header.model.name,
        profile=header.profile,
        toolchain=header.toolchain,
        device=str(header.device["name"]),
        threads=int(header.protocol.get("threads", 1)),
        launches=summary.launches,
        binary_sha256=header.binary.sha256,
        binary_bytes=header.binary.file_bytes,
        headline=headline.value if headline else None,
        unit=headline.unit if headline else Unit.NS,
        cell=str(sweep.get("cell", "")),
        series=str(sweep.get("series", "")),
        comparison=str(header.protocol.get("comparison", "")),
        seconds=record.seconds,
    )
