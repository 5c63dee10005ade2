"""An SQLite index over a folder of records, which lists, finds and queries runs.

The records are the source of truth: opening the index synchronizes it with the folder, and it may
be deleted at any time. Its only table is `runs`; cells, devices and commits are views.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from trimtab import escape, strict_json
from trimtab.errors import ResultError, TruncatedResultError, UsageError
from trimtab.paths import PROGRAM
from trimtab.results import records
from trimtab.results.records import Record
from trimtab.results.summary import Unit, summarize

FILE_NAME = "index.sqlite"
TRUNCATED = "TRUNCATED"  # not a status that a run can give itself


@dataclass(frozen=True)
class Entry:
    """One run in the index; `headline` is in `unit`. A truncated file has empty fields.

    A run of a sweep has the key of its `cell`, and the key of its `series` over commits. `seconds`
    is the run's duration, `comparison` its interleaved comparison. A figure is None if the run has
    none, such as times of an emulator. The last three fields are JSON, for the views.
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
    is_emulated: bool = False
    latency_ns: float | None = None
    latency_low_ns: float | None = None
    latency_high_ns: float | None = None
    instructions: float | None = None
    load_ns: float | None = None
    model_bytes: float | None = None
    arena_bytes: float | None = None
    peak_bytes: float | None = None
    sweep: str = ""
    trimtab_commit: str = ""
    project_commit: str = ""
    configuration: str = "{}"
    about_device: str = "{}"
    revisions: str = "{}"


_COLUMNS = tuple(field.name for field in fields(Entry))
_VERSION = 4
_JSON = ("configuration", "about_device", "revisions")
# The axes of a cell's configuration that are not columns of its runs.
_AXES = ("precision", "plan", "prefer", "weights", "calibration", "budget")
_DEVICE = ("machine", "kernel", "cpu", "cpu_model")


def _json_columns(column: str, *keys: str) -> str:
    return ", ".join(f"json_extract({column}, '$.{key}') AS {key}" for key in keys)


def _commits(repository: str) -> str:
    facts = ", ".join(f"json_extract(revisions, '$.{repository}.{k}')" for k in ("time", "subject"))
    commit = f"{repository}_commit"
    return f"SELECT DISTINCT '{repository}', {commit}, {facts} FROM runs WHERE {commit} <> ''"


_VIEWS = {
    "results": "SELECT "
    + ", ".join(column for column in _COLUMNS if column not in _JSON)
    + f", {_json_columns('configuration', *_AXES)} FROM runs",
    "cells": "SELECT cell, series, sweep, model, profile, toolchain, device, threads, "
    f"{_json_columns('configuration', *_AXES)}, count(*) AS runs, max(time) AS newest "
    "FROM runs WHERE cell <> '' GROUP BY cell",
    "devices": f"SELECT device AS name, is_emulated, {_json_columns('about_device', *_DEVICE)}, "
    "count(*) AS runs, max(time) AS newest FROM runs WHERE device <> '' GROUP BY device",
    "commits": f"SELECT column1 AS repository, column2 AS 'commit', column3 AS time, "
    f"column4 AS subject FROM (SELECT 1 AS column1, 2 AS column2, 3 AS column3, 4 AS column4 "
    f"WHERE 0 UNION {_commits('trimtab')} UNION {_commits('project')})",
}


def entries(directory: Path) -> list[Entry]:
    """All runs of a folder, oldest first; synchronizes the index. Raises ResultError."""
    if not directory.is_dir():
        return []
    path = directory / FILE_NAME
    try:
        return _synchronized(directory, path)
    except sqlite3.DatabaseError:
        # Damaged, or written by another version: the records hold everything that it holds.
        try:
            path.unlink(missing_ok=True)
            return _synchronized(directory, path)
        except (OSError, sqlite3.Error) as error:
            raise ResultError(
                f"the index of runs cannot be written: {error}",
                where=str(path),
                hint="free some space, or make the folder writable",
            ) from error


def find(reference: str, directory: Path) -> Path:
    """The record with this reference: a path, a run id or its prefix, or `last`, `last~1`, ...

    Raises UsageError if no run of `directory` matches, or several do.
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
        hint=f"runs: {ids}; `{PROGRAM} report` lists all of them",
    )


def _matches(reference: str, runs: Sequence[Entry]) -> list[Entry]:
    last, _, back = reference.partition("~")
    if last == "last" and (back.isdecimal() or not back):
        position = len(runs) - 1 - int(back or 0)
        return [runs[position]] if position >= 0 else []
    return [run for run in runs if run.run_id.startswith(reference)]


def _synchronized(directory: Path, path: Path) -> list[Entry]:
    columns = ", ".join(_COLUMNS)
    # Without a transaction for each statement, which waits for the disk.
    with closing(sqlite3.connect(path, isolation_level=None)) as database, database:
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, _VERSION):
            raise sqlite3.DatabaseError("an index of another version")
        if not version:
            database.execute("BEGIN IMMEDIATE")
            _create(database)
        indexed = {row[0] for row in database.execute("SELECT file_name FROM runs")}
        present = {path.name for path in directory.glob(f"*{records.SUFFIX}")}
        if indexed != present and not database.in_transaction:
            database.execute("BEGIN IMMEDIATE")
        database.executemany(
            "DELETE FROM runs WHERE file_name = ?", [(n,) for n in indexed - present]
        )
        for name in sorted(present - indexed):
            entry = _entry(directory / name)
            if entry is not None:
                marks = ", ".join("?" * len(_COLUMNS))
                values = [_stored(getattr(entry, column)) for column in _COLUMNS]
                database.execute(f"INSERT OR REPLACE INTO runs VALUES ({marks})", values)
        rows = database.execute(f"SELECT {columns} FROM runs ORDER BY file_name").fetchall()
    return [Entry(*row) for row in rows]


def _create(database: sqlite3.Connection) -> None:
    """The table and the views, unless another process has made them."""
    columns = ", ".join(_COLUMNS)
    database.execute(f"CREATE TABLE IF NOT EXISTS runs ({columns}, PRIMARY KEY (file_name))")
    for name, select in _VIEWS.items():
        database.execute(f"CREATE VIEW IF NOT EXISTS {name} AS {select}")
    database.execute(f"PRAGMA user_version = {_VERSION}")


def _entry(path: Path) -> Entry | None:
    """The index row of one file; None if the file is no record."""
    try:
        return _entry_of(records.read(path))
    except TruncatedResultError:
        return Entry(path.name, "", "", TRUNCATED, "", "", "", "", 0, 0, "", 0, None, "")
    except (ResultError, *records.WRONG):
        return None


def _entry_of(record: Record) -> Entry:
    summary = summarize(record)
    header, headline = summary.header, summary.headline
    sweep = header.protocol.get("sweep") or {}
    revisions = sweep.get("revisions") or {}
    figures = {figure.key: figure.value for figure in summary.figures}
    latency = summary.figure("latency")
    return Entry(
        file_name=record.path.name,
        run_id=header.run_id,
        time=header.time,
        status=summary.status,
        model=header.model.name,
        profile=header.profile,
        toolchain=header.toolchain,
        device=header.device.name,
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
        is_emulated=header.is_emulated,
        latency_ns=figures.get("latency"),
        latency_low_ns=latency.statistic.interval.low if latency else None,
        latency_high_ns=latency.statistic.interval.high if latency else None,
        instructions=figures.get("latency_instructions"),
        load_ns=figures.get("load"),
        model_bytes=figures.get("model_bytes"),
        arena_bytes=figures.get("arena_bytes"),
        peak_bytes=figures.get("peak_bytes"),
        sweep=str(sweep.get("name", "")),
        trimtab_commit=_commit(revisions.get("trimtab")),
        project_commit=_commit(revisions.get("project")),
        configuration=strict_json.dumps(sweep.get("configuration", {})),
        about_device=strict_json.dumps(asdict(header.device)),
        revisions=strict_json.dumps(revisions),
    )


def _stored(value: Any) -> Any:
    """A value of a column; SQLite refuses texts that no encoder accepts."""
    return escape.text(value) if isinstance(value, str) else value


def _commit(revision: Mapping[str, Any] | None) -> str:
    """The commit in hex, with `+` if files differed from it."""
    if not revision:
        return ""
    return f"{revision['commit']:.100}{'+' if revision['is_changed'] else ''}"


def query(text: str, directory: Path) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns and rows of a query on the runs of a folder.

    `text` is a SELECT, or a condition on the view `results`, whose rows come oldest first; ""
    selects all of them. Raises UsageError, with the available columns, for a query that SQLite does
    not understand, or that would modify the index.
    """
    entries(directory)
    is_select = text.lstrip().lower().startswith(("select", "with"))
    where = f" WHERE {text}" if text.strip() else ""
    statement = text if is_select else f"SELECT * FROM results{where} ORDER BY file_name"
    path = directory / FILE_NAME
    if not path.is_file():
        raise UsageError(
            "the folder has no runs", where=str(directory), hint=f"{PROGRAM} sweep, or bench"
        )
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        allowed = {
            *(sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ),
            *(sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE),
        }
        database.set_authorizer(
            lambda action, *_: sqlite3.SQLITE_OK if action in allowed else sqlite3.SQLITE_DENY
        )
        try:
            cursor = database.execute(statement)
            rows = cursor.fetchall()
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise UsageError(
                f"SQLite rejects the query: {error}",
                hint=f"views {', '.join(_VIEWS)}; results has {', '.join(_result_columns())}",
            ) from error
        return [column[0] for column in cursor.description], rows


def _result_columns() -> list[str]:
    return [*(column for column in _COLUMNS if column not in _JSON), *_AXES]
