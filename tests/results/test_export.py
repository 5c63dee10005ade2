"""Queries of the index, and exports of their results."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.bench.fakes import make_header, write_record
from trimtab.errors import MissingRequirementError, UsageError
from trimtab.results import export as workflow
from trimtab.results import index
from trimtab.results.records import Status, Writer


def swept(folder: Path, commit: str, prefer: str, ns: int) -> None:
    """A record of a sweep."""
    revision = {
        "commit": commit,
        "time": "2026-01-31T00:00:00Z",
        "subject": "s",
        "is_changed": False,
    }
    role = {
        "name": "mine",
        "cell": f"{commit}-{prefer}",
        "series": prefer,
        "configuration": {"model": "net.onnx", "prefer": prefer},
        "revisions": {"trimtab": revision, "project": None},
    }
    header = make_header()
    protocol = {"threads": 1, "sweep": role}
    with Writer(folder, type(header)(**{**vars(header), "protocol": protocol})) as writer:
        writer.event({"event": "run", "i": 0, "ns": ns, "instructions": None})
        writer.end(Status.OK)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for commit, ns in (("aa" * 20, 1000), ("bb" * 20, 2000)):
        for prefer in ("balanced", "size"):
            swept(tmp_path, commit, prefer, ns)
    write_record(tmp_path, is_emulated=True, instructions=77)
    return tmp_path


def ask(query: str, folder: Path) -> list[dict[str, Any]]:
    columns, rows = index.query(query, folder)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def test_only_a_column_of_numbers_is_laid_out_as_numbers() -> None:
    rows = [(1234.0, 0.5, 7, "net", None), (5678.0, None, "unknown", "b", None)]
    table = workflow.table(["whole", "parts", "mixed", "text", "empty"], rows)
    layouts = [(column.align, column.form) for column in table.columns]
    text = ("left", "")
    assert layouts == [("right", ",.0f"), ("right", ",.4g"), text, text, text]
    assert [*map(list, table.rows)] == [*map(list, rows)]


def test_a_condition_selects_results(folder: Path) -> None:
    assert len(ask("", folder)) == 5
    (row,) = ask("prefer = 'size' AND latency_ns > 1500", folder)
    assert (row["trimtab_commit"], row["prefer"], row["latency_ns"]) == ("bb" * 20, "size", 2000)
    (emulated,) = ask("is_emulated", folder)
    assert (emulated["instructions"], emulated["latency_ns"]) == (77, None)


def test_cells_devices_and_commits_can_be_queried(folder: Path) -> None:
    cells = ask("SELECT * FROM cells ORDER BY cell", folder)
    assert [(c["sweep"], c["prefer"], c["runs"]) for c in cells] == [
        ("mine", "balanced", 1),
        ("mine", "size", 1),
    ] * 2
    devices = ask("SELECT name, runs, cpu FROM devices ORDER BY name", folder)
    assert devices == [
        {"name": "pi4", "runs": 4, "cpu": "cortex-a53"},
        {"name": "qemu-a53", "runs": 1, "cpu": "cortex-a53"},
    ]
    commits = ask("SELECT * FROM commits ORDER BY 2", folder)
    assert [(c["repository"], c["commit"], c["subject"]) for c in commits] == [
        ("trimtab", "aa" * 20, "s"),
        ("trimtab", "bb" * 20, "s"),
    ]


def test_the_index_is_rebuilt_from_the_records_alone(folder: Path) -> None:
    before = ask("", folder)
    (folder / index.FILE_NAME).unlink()
    assert ask("", folder) == before
    next(iter(sorted(folder.glob("*.jsonl")))).unlink()
    assert ask("", folder) == before[1:]


@pytest.mark.parametrize(
    "query",
    [
        "prefer = 'size' AND",
        "color = 'red'",
        "SELECT * FROM nothing",
        "1; DELETE FROM runs",
        "WITH a AS (SELECT 1) DELETE FROM runs",
        "SELECT 1; DROP TABLE runs",
    ],
)
def test_an_invalid_or_modifying_query_is_rejected(folder: Path, query: str) -> None:
    with pytest.raises(UsageError, match="SQLite rejects") as caught:
        index.query(query, folder)
    assert "latency_ns" in caught.value.hint
    assert len(ask("", folder)) == 5


def test_a_folder_without_runs_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no runs"):
        index.query("", tmp_path / "none")


def test_every_form_has_the_same_values(folder: Path, tmp_path: Path) -> None:
    columns, rows = index.query("status = 'OK'", folder)
    read = [*csv.DictReader(io.StringIO(workflow.as_csv(columns, rows), newline=""))]
    assert [row["run_id"] for row in read] == [row[columns.index("run_id")] for row in rows]
    assert read[0]["latency_ns"] == "1000.0"
    path = tmp_path / "out" / "all.parquet"
    workflow.write_parquet(columns, rows, path)
    assert pyarrow.parquet.read_table(path).to_pylist() == [
        dict(zip(columns, row, strict=True)) for row in rows
    ]
    shown = workflow.table(columns, rows).text()
    assert "prefer" in shown
    assert "peak_bytes" not in shown, "people get the columns that they look at first"


def test_parquet_without_its_library_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingRequirementError, match="pyarrow") as caught:
        workflow.write_parquet(["a"], [(1,)], tmp_path / "x.parquet")
    assert "trimtab[parquet]" in caught.value.hint


def test_the_task_prints_json_and_nothing_else(folder: Path, root: Path) -> None:
    argv = [sys.executable, "-m", "trimtab.cli", "results", "--results", str(folder), "--json"]
    argv += ["--query", "prefer = 'size'"]
    message = subprocess.run(argv, cwd=root, capture_output=True, text=True, check=True)
    assert {row["prefer"] for row in json.loads(message.stdout)} == {"size"}
    assert message.stderr == ""
