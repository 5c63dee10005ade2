"""Two or more runs side by side; the first one is the baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from trimtab.compare import verdicts
from trimtab.compare.verdicts import Verdict
from trimtab.paths import PROGRAM
from trimtab.results import statistics
from trimtab.results.records import Record, Status
from trimtab.results.statistics import Interval, Ratio
from trimtab.results.summary import Figure, OpCost, Summary, Unit, summarize


@dataclass(frozen=True)
class ComparedFigure:
    """One figure of all runs; `ratios[i]` is run i + 1 to run 0."""

    key: str
    label: str
    unit: Unit
    values: tuple[float | None, ...]
    ratios: tuple[Ratio | None, ...]
    part_of: str = ""


@dataclass(frozen=True)
class Comparison:
    """Two or more runs side by side; the first one is the baseline.

    `notes` name what makes them hard to compare. The arms of an A/B comparison have a `verdict`
    and `operators`, those that both of them execute.
    """

    runs: tuple[Summary, ...]
    rows: tuple[ComparedFigure, ...]
    notes: tuple[str, ...]
    verdict: Verdict | None = None
    operators: tuple[ComparedFigure, ...] = ()


def compare(records: Sequence[Record]) -> Comparison:
    """Sets at least two runs side by side; the first one is the baseline."""
    runs = tuple(summarize(record) for record in records)
    keys = dict.fromkeys(figure.key for run in runs for figure in run.figures)
    rows = tuple(_row(key, runs) for key in keys)
    if not verdicts.belong_together(records) or not all(run.status.is_measured for run in runs):
        return Comparison(runs, rows, tuple(_notes(runs, are_separate=True)))
    verdict = verdicts.judge(records[0], records[1])
    rows = tuple(_with_interleaved_ratio(row, records, verdict) for row in rows)
    notes = (*verdict.notes, *_notes(runs, are_separate=False))
    return Comparison(runs, rows, notes, verdict, tuple(_operators(runs, records)))


def _operators(runs: Sequence[Summary], records: Sequence[Record]) -> Iterator[ComparedFigure]:
    """The operators whose label is unique in both arms.

    No device is calibrated for operators, so a difference of their times gets no verdict.
    """
    a, b = map(_by_label, runs)
    for label in (label for label in a if label in b):
        ops = (a[label], b[label])
        times = [op.ns for op in ops if op.ns]
        counts = [op.instructions for op in ops if op.instructions]
        key = f"op {ops[0].index}"
        if len(times) == 2:
            indices = (ops[0].index, ops[1].index)
            effect = verdicts.effect(records[0], records[1], "op", indices)
            ratio = Ratio(effect.value, effect.interval, None)
            yield ComparedFigure(key, label, Unit.NS, tuple(times), (ratio,))
        elif len(counts) == 2:
            value = counts[1] / counts[0]
            ratio = Ratio(value, Interval(value, value), value != 1)
            yield ComparedFigure(key, label, Unit.INSTRUCTIONS, tuple(counts), (ratio,))


def _with_interleaved_ratio(
    row: ComparedFigure, records: Sequence[Record], verdict: Verdict
) -> ComparedFigure:
    """The row with the ratio of interleaved launches; only inferences get a verdict."""
    if row.unit is not Unit.NS:
        return row
    if row.key == "latency":
        return replace(row, ratios=(Ratio(verdict.ratio, verdict.interval, verdict.is_real),))
    a, b = records
    effect = verdicts.effect(a, b, row.key)
    return replace(row, ratios=(Ratio(effect.value, effect.interval, None),))


def _by_label(run: Summary) -> dict[str, OpCost]:
    counted = Counter(op.label for op in run.ops)
    return {op.label: op for op in run.ops if counted[op.label] == 1}


def _row(key: str, runs: Sequence[Summary]) -> ComparedFigure:
    figures = [run.figure(key) for run in runs]
    sample = next(figure for figure in figures if figure)
    return ComparedFigure(
        key,
        sample.label,
        sample.unit,
        tuple(figure.value if figure else None for figure in figures),
        tuple(_ratio(figures[0], other) for other in figures[1:]),
        sample.part_of,
    )


def _ratio(baseline: Figure | None, other: Figure | None) -> Ratio | None:
    if baseline is None or other is None or min(baseline.samples) <= 0:
        return None
    are_counts = baseline.unit is not Unit.NS
    return statistics.compare(baseline.launches, other.launches, are_counts=are_counts)


def _notes(runs: Sequence[Summary], *, are_separate: bool) -> list[str]:
    notes = []
    first = runs[0].header
    if any(run.header.model.name != first.model.name for run in runs):
        notes.append("The runs are of different models.")
    if any(run.header.device.name != first.device.name for run in runs):
        notes.append("The runs are on different devices: ratios compare device and build at once.")
    if any(run.header.protocol.get("threads") != first.protocol.get("threads") for run in runs):
        notes.append("The runs used different numbers of threads.")
    if are_separate:
        notes += [f"{run.name}: {loss}" for run in runs for loss in run.losses]
    if are_separate and all(run.figure("latency") for run in runs):
        notes.append(
            "The times are from separate measurements, so no difference is called real: "
            f"`{PROGRAM} bench.ab` measures both in interleaved rounds."
        )
    if any(run.header.is_emulated for run in runs):
        notes.append(
            "Emulated: instruction counts are exact; times are not measurements and are not shown."
        )
    notes += [
        f"{run.name} ended with {run.status}: {run.message}"
        for run in runs
        if run.status != Status.OK
    ]
    return notes
