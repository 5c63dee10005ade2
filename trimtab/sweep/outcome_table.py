"""The outcomes of a sweep as rows and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trimtab.compare import verdicts
from trimtab.errors import ResultError
from trimtab.results import records, summary
from trimtab.results.records import Record
from trimtab.sweep.campaign import CellOutcome
from trimtab.sweep.matrix import AXES, Cell
from trimtab.tables import Column, Table, number


def varying(cells: Sequence[Cell]) -> list[str]:
    """The axes in which the cells differ; the model if they differ in none."""
    rows = [cell.configuration for cell in cells]
    return [a for a in AXES if len({row.get(a) for row in rows}) > 1] or ["model"]


def rows(outcomes: Sequence[CellOutcome], folder: Path) -> list[dict[str, Any]]:
    """One JSON object per cell: its configuration, status, and figures if it has any.

    `ratio` is its latency to that of the first cell of its interleaved group, with its interval and
    whether the difference is real (see `bench.ab`).
    """
    rows: list[dict[str, Any]] = []
    baselines: dict[str, Record] = {}
    for outcome in outcomes:
        row: dict[str, Any] = {
            "configuration": outcome.cell.configuration,
            "status": outcome.status,
            "message": outcome.message,
            "file": outcome.file_name or None,
            "measured": "earlier" if outcome.is_old else "now",
        }
        if outcome.is_good and (record := _read(folder / outcome.file_name)):
            row |= _figures(record)
            comparison = record.header.protocol.get("comparison")
            if comparison and not record.header.is_emulated:
                baseline = baselines.setdefault(comparison, record)
                if baseline is not record and verdicts.belong_together([baseline, record]):
                    verdict = verdicts.judge(baseline, record)
                    row["ratio"] = verdict.ratio
                    row["interval"] = [verdict.interval.low, verdict.interval.high]
                    row["is_real"] = verdict.is_real
                    row["beside"] = baseline.header.run_id
        rows.append(row)
    return rows


def table(rows: Sequence[dict[str, Any]], axes: Sequence[str]) -> Table:
    """A table of `rows` with these axes of the configurations. Cells of a device whose binary and
    model are the same bytes are one row, with the figures of the first.
    """
    columns = [*map(Column, axes), Column("status")]
    columns += [number("inference"), number("binary bytes", ","), number("model bytes", ",")]
    columns += [number("load"), number("cosine", ".6f", absent="")]
    has_ratios = any("ratio" in row for row in rows)
    if has_ratios:
        columns += [number("to baseline"), Column("difference")]
    lines = []
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for i, row in enumerate(rows):
        place = [row["configuration"].get(axis) for axis in ("model", "threads", "device")]
        groups.setdefault((row.get("build", i), *place), []).append(row)
    for row, *equal in groups.values():
        line: list[str | int | float | None] = [
            " = ".join(dict.fromkeys(str(r["configuration"].get(axis, "")) for r in (row, *equal)))
            for axis in axes
        ]
        line += [row["status"], _cost(row, "latency_ns", "instructions")]
        line += [row.get("binary_bytes"), row.get("model_bytes")]
        line += [_cost(row, "load_ns", "load_instructions"), row.get("cosine")]
        if has_ratios:
            ratio = row.get("ratio")
            line.append(None if ratio is None else f"{ratio:.3f}x")
            line.append("" if ratio is None else "real" if row["is_real"] else "not significant")
        lines.append(line)
    return Table(columns, lines)


def _cost(row: dict[str, Any], time: str, instructions: str) -> str | None:
    if row.get(time) is not None:
        return f"{row[time] / 1e6:,.3f} ms"
    count = row.get(instructions)
    return None if count is None else f"{count / 1e6:,.3f} M instr."


def _figures(record: Record) -> dict[str, Any]:
    run = summary.summarize(record)
    header = record.header
    figures: dict[str, Any] = {"run_id": header.run_id}
    figures["build"] = f"{header.binary.sha256[:12]}-{header.model.sha256[:12]}"
    for key, name in (
        *(("latency", "latency_ns"), ("latency_instructions", "instructions")),
        *(("load", "load_ns"), ("load_instructions", "load_instructions")),
    ):
        figure = run.figure(key)
        figures[name] = figure.value if figure else None
        if figure and name == "latency_ns":
            bounds = figure.statistic.interval
            figures["latency_interval_ns"] = [bounds.low, bounds.high]
    figures["cosine"] = run.accuracy.cosine if run.accuracy else None
    for name in ("binary_bytes", "model_bytes", "arena_bytes", "peak_bytes"):
        figure = run.figure(name)
        figures[name] = int(figure.value) if figure else None
    return figures


def _read(path: Path) -> Record | None:
    try:
        record = records.read(path)
    except ResultError:  # the file was removed in the meantime
        return None
    return record if record.status.is_measured else None


def count(outcomes: Sequence[CellOutcome]) -> str:
    """A sentence with the number of cells by outcome."""
    good = sum(outcome.is_good for outcome in outcomes)
    old = sum(outcome.is_good and outcome.is_old for outcome in outcomes)
    failed = len(outcomes) - good
    parts = [f"{good - old} measured", f"{old} measured earlier", f"{failed} failed"]
    return f"{format_cells(len(outcomes))}: {', '.join(parts)}"


def format_cells(count: int) -> str:
    """A number of cells, such as "1 cell"."""
    return "1 cell" if count == 1 else f"{count} cells"
