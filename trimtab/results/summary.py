"""From raw records to figures: what one run says, and what two or more say beside each other.

Reports format these and compute nothing. A figure of time from an emulated device does not exist
here: an emulator's clock says nothing about the device, so only its counts of instructions become
figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from trimtab.accuracy import Accuracy, Search
from trimtab.bench import comparison, counters, energy, launches, losses, shares, statistics
from trimtab.bench.comparison import Verdict
from trimtab.bench.launches import Drift, Spread
from trimtab.bench.results import Event, Header, Record, Status
from trimtab.bench.shares import Span
from trimtab.bench.shipped import Shipped
from trimtab.bench.statistics import Interval, Ratio, Statistic

SHIPPED_KEYS = ("shipped_bytes", "binary_bytes", "model_bytes")


class Unit(StrEnum):
    """What a figure counts; in all of them less is better."""

    NS = "ns"
    BYTES = "bytes"
    INSTRUCTIONS = "instructions"


@dataclass(frozen=True)
class Figure:
    """One number of a run: the median of its samples, which each launch has some of."""

    key: str
    label: str
    unit: Unit
    launches: tuple[tuple[int, ...], ...]

    @property
    def samples(self) -> tuple[int, ...]:
        """Those of all launches, in order."""
        return tuple(sample for launch in self.launches for sample in launch)

    @cached_property
    def statistic(self) -> Statistic:
        """What the samples say; of few samples the interval says little."""
        return statistics.describe(self.launches)

    @cached_property
    def spread(self) -> Spread | None:
        """How times vary within launches and between them."""
        return launches.spread(self.launches) if self.unit is Unit.NS else None

    @cached_property
    def drift(self) -> Drift | None:
        """How times move over the run."""
        return launches.drift(self.launches) if self.unit is Unit.NS else None

    @property
    def value(self) -> float:
        """The median."""
        return self.statistic.median


@dataclass(frozen=True)
class OpCost:
    """What one operator of the network costs in one run: medians, None for what is not known.
    `samples_ns`: its time in each inference that was measured by operator, in order, and `shares`
    those of each thread; none where times mean nothing, or where nobody told them.
    """

    index: int
    label: str
    ns: float | None
    instructions: float | None
    samples_ns: tuple[int, ...] = ()
    shares: tuple[tuple[Span, ...], ...] = ()

    @property
    def cost(self) -> float:
        """The one that the run is judged by, for sorting and shares."""
        return self.ns or self.instructions or 0.0


@dataclass(frozen=True)
class Summary:
    """One run, reduced: its header, how it ended, its `launches`, figures, operators and bytes,
    and what is `shipped`: this binary and model, and others beside them. `accuracy`: of the
    model beside the float32 network, None where no samples told it, and `search` of its precisions.
    `hardware`: its hardware events, and `energy` what its inferences took; None when that was not
    asked for. `uncontrolled`: what the device could not be made to do; `losses`: how it was lost
    meanwhile, in words. `network`: what its operators do (the event of that name), empty in records
    of before there was such.
    """

    header: Header
    path: str
    status: Status
    message: str
    golden: str
    launches: int
    figures: tuple[Figure, ...]
    ops: tuple[OpCost, ...]
    sections: Mapping[str, int]
    groups: Mapping[str, int]
    shipped: tuple[Shipped, ...]
    accuracy: Accuracy | None = None
    search: Search | None = None
    hardware: tuple[counters.Row, ...] | None = None
    energy: tuple[energy.Row, ...] | None = None
    uncontrolled: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    network: Mapping[str, Any] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be known to read these figures."""
        found = [*self.losses]
        if self.hardware is not None:
            found.append(counters.RULE if self.hardware else counters.NOTHING)
        if self.energy is not None:
            found.append(energy.RULE if self.energy else energy.NOTHING)
        return tuple(found)

    def figure(self, key: str) -> Figure | None:
        """The figure of that key, or None when this run has none."""
        return next((figure for figure in self.figures if figure.key == key), None)

    @property
    def headline(self) -> Figure | None:
        """The figure that a run is judged by: its latency, under an emulator its instructions."""
        return self.figure("latency") or self.figure("latency_instructions")

    @property
    def name(self) -> str:
        """What tells this run from others in a table: model, profile and device."""
        header = self.header
        return f"{header.model.name.split('.')[0]} / {header.profile} / {header.device['name']}"


@dataclass(frozen=True)
class Row:
    """One figure over all compared runs; `ratios[i]` sets run i + 1 against run 0."""

    key: str
    label: str
    unit: Unit
    values: tuple[float | None, ...]
    ratios: tuple[Ratio | None, ...]


@dataclass(frozen=True)
class Comparison:
    """Two or more runs side by side, the first is the baseline; `notes` say what does not match.
    `verdict`: of two that were measured in turns, and `operators` those that both of these have.
    """

    runs: tuple[Summary, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    verdict: Verdict | None = None
    operators: tuple[Row, ...] = ()


def summarize(record: Record) -> Summary:
    """Reduce one run."""
    size = record.first("size") or {}
    figures, ops = tuple(_figures(record)), tuple(_ops(record))
    latency_ns = next((figure.value for figure in figures if figure.key == "latency"), None)
    return Summary(
        header=record.header,
        path=str(record.path),
        status=record.status,
        message=record.message,
        golden=_golden(record),
        launches=len(record.launches()),
        figures=figures,
        ops=ops,
        sections=size.get("sections", {}),
        groups=size.get("groups", {}),
        shipped=_shipped(record),
        accuracy=_accuracy(record),
        search=_search(record),
        hardware=counters.rows(record, [(op.index, op.label, op.ns) for op in ops], latency_ns),
        energy=energy.rows(record),
        uncontrolled=_uncontrolled(record),
        losses=losses.of_records([record]),
        network=record.first("network") or {},
    )


def compare(records: Sequence[Record]) -> Comparison:
    """Set runs side by side; the first one is the baseline (at least two)."""
    runs = tuple(summarize(record) for record in records)
    keys = dict.fromkeys(figure.key for run in runs for figure in run.figures)
    rows = tuple(_row(key, runs) for key in keys)
    if not comparison.belong_together(records) or any(run.status != Status.OK for run in runs):
        return Comparison(runs, rows, tuple(_notes(runs, is_apart=True)))
    verdict = comparison.judge(records[0], records[1])
    rows = tuple(_in_turns(row, records, verdict) for row in rows)
    said = (*verdict.notes, *_notes(runs, is_apart=False))
    return Comparison(runs, rows, said, verdict, tuple(_operators(runs, records)))


def _operators(runs: Sequence[Summary], records: Sequence[Record]) -> Iterator[Row]:
    """Those that have a label of their own in both runs, which were measured in turns. No device is
    calibrated for operators, so no difference of their times is judged.
    """
    a, b = map(_by_label, runs)
    for label in (label for label in a if label in b):
        ops = (a[label], b[label])
        times = [op.ns for op in ops if op.ns]
        counts = [op.instructions for op in ops if op.instructions]
        key = f"op {ops[0].index}"
        if len(times) == 2:
            indices = (ops[0].index, ops[1].index)
            found = comparison.effect(records[0], records[1], "op", indices)
            ratio = Ratio(found.value, found.interval, None)
            yield Row(key, label, Unit.NS, tuple(times), (ratio,))
        elif len(counts) == 2:
            value = counts[1] / counts[0]
            ratio = Ratio(value, Interval(value, value), value != 1)
            yield Row(key, label, Unit.INSTRUCTIONS, tuple(counts), (ratio,))


def _in_turns(row: Row, records: Sequence[Record], verdict: Verdict) -> Row:
    """A row of times with the ratio of interleaved launches; the verdict is on inferences alone."""
    if row.unit is not Unit.NS:
        return row
    if row.key == "latency":
        return replace(row, ratios=(Ratio(verdict.ratio, verdict.interval, verdict.is_real),))
    a, b = records
    found = comparison.effect(a, b, row.key)
    return replace(row, ratios=(Ratio(found.value, found.interval, None),))


def _by_label(run: Summary) -> dict[str, OpCost]:
    counted = Counter(op.label for op in run.ops)
    return {op.label: op for op in run.ops if counted[op.label] == 1}


def _uncontrolled(record: Record) -> tuple[str, ...]:
    """What could not be had from the beginning, and launches that began while it was hot."""
    found = list(record.header.control.get("uncontrolled", ()))
    hot = [event["hot"] for event in record.of("conditions") if event.get("hot")]
    if hot:
        found.append(f"temperature: {len(hot)} launches began hot ({hot[0]})")
    return tuple(found)


def _shipped(record: Record) -> tuple[Shipped, ...]:
    if event := record.first("shipped"):
        return tuple(Shipped(**way) for way in event["ways"])
    header = record.header
    model_bytes = 0 if header.is_model_embedded else header.model.file_bytes
    return (Shipped("trimtab", model_bytes, header.binary.file_bytes, is_built=True),)


def _accuracy(record: Record) -> Accuracy | None:
    event = record.first("accuracy")
    return Accuracy.of(event) if event else None


def _search(record: Record) -> Search | None:
    event = record.first("precision")
    return Search.of(event) if event else None


def _figures(record: Record) -> Iterator[Figure]:
    emulated = record.header.is_emulated
    binary_bytes, model_bytes = record.header.binary.file_bytes, record.header.model.file_bytes
    is_apart = not record.header.is_model_embedded
    shipped_bytes = binary_bytes + is_apart * model_bytes
    yield Figure("shipped_bytes", "shipped", Unit.BYTES, ((shipped_bytes,),))
    yield Figure("binary_bytes", "  binary", Unit.BYTES, ((binary_bytes,),))
    if is_apart:
        yield Figure("model_bytes", "  model", Unit.BYTES, ((model_bytes,),))
    for key, label, kind in (
        ("latency", "inference", "run"),
        ("first", "first inference", "first"),
        ("load", "load", "load"),
        ("verify", "check of the weights", "verify"),
    ):
        if not emulated and (times := _samples(record, kind, "ns")):
            yield Figure(key, label, Unit.NS, times)
        if counts := _samples(record, kind, "instructions"):
            yield Figure(f"{key}_instructions", label, Unit.INSTRUCTIONS, counts)
    if memory := record.first("memory"):
        for key, label in (
            ("arena_bytes", "activation memory"),
            ("arena_lower_bound_bytes", "  its lower bound"),
            ("weights_bytes", "weights"),
            ("prepared_bytes", "weights prepared at load"),
        ):
            if key not in memory:  # a record of before there were such
                continue
            yield Figure(key, label, Unit.BYTES, ((memory[key],),))
    if record.header.device.get("peak_of") == "emulator":
        return
    for key, label, told in (
        ("peak_bytes", "peak memory, weights included", "vm_hwm_bytes"),
        ("file_bytes", "  pages of files at the end", "rss_file_bytes"),
    ):
        if samples := _samples(record, "peak", told):
            yield Figure(key, label, Unit.BYTES, samples)


def _samples(record: Record, kind: str, field: str) -> tuple[tuple[int, ...], ...]:
    """What the events of a kind say in each launch that has some; nothing if one does not know."""
    found: list[tuple[Any, ...]] = [
        tuple(event.get(field) for event in launch if event["event"] == kind)
        for launch in record.launches()
    ]
    return () if any(None in launch for launch in found) else tuple(filter(None, found))


def _ops(record: Record) -> Iterator[OpCost]:
    labels = (record.first("operators") or {}).get("labels", [])
    samples: dict[int, list[Event]] = {}
    for event in record.of("op"):
        samples.setdefault(event["index"], []).append(event)
    for index, events in sorted(samples.items()):
        named = events[0]["name"] or f"op {events[0]['id']}"
        is_timed = not record.header.is_emulated
        yield OpCost(
            index,
            label=labels[index] if index < len(labels) else named,
            ns=_median(events, "ns") if is_timed else None,
            instructions=_median(events, "instructions"),
            samples_ns=tuple(event["ns"] for event in events) if is_timed else (),
            shares=shares.of_events(events) if is_timed else (),
        )


def _median(events: Sequence[Event], field: str) -> float | None:
    values = [event[field] for event in events]
    return None if None in values else float(np.median(values))


def _golden(record: Record) -> str:
    event = record.first("golden")
    if event is None:
        return "not checked"
    worst = max(output["max_error"] for output in event["outputs"])
    return f"largest error {worst:.2g} against {event['oracle']}"


def _row(key: str, runs: Sequence[Summary]) -> Row:
    figures = [run.figure(key) for run in runs]
    some = next(figure for figure in figures if figure)
    return Row(
        key,
        some.label,
        some.unit,
        tuple(figure.value if figure else None for figure in figures),
        tuple(_ratio(figures[0], other) for other in figures[1:]),
    )


def _ratio(baseline: Figure | None, other: Figure | None) -> Ratio | None:
    if baseline is None or other is None or min(baseline.samples) <= 0:
        return None
    are_counts = baseline.unit is not Unit.NS
    return statistics.compare(baseline.launches, other.launches, are_counts=are_counts)


def _notes(runs: Sequence[Summary], *, is_apart: bool) -> list[str]:
    notes = []
    first = runs[0].header
    if any(run.header.model.name != first.model.name for run in runs):
        notes.append("The runs are of different models.")
    if any(run.header.device["name"] != first.device["name"] for run in runs):
        notes.append("The runs are on different devices: ratios compare device and build at once.")
    if any(run.header.protocol.get("threads") != first.protocol.get("threads") for run in runs):
        notes.append("The runs used different numbers of threads.")
    if is_apart:
        notes += [f"{run.name}: {loss}" for run in runs for loss in run.losses]
    if is_apart and all(run.figure("latency") for run in runs):
        notes.append(
            "The times were measured apart, so no difference of them is called real: "
            "`./inv bench.ab` measures both in turns."
        )
    if any(run.header.is_emulated for run in runs):
        notes.append("Emulated: instructions are exact, times are not measurements and not shown.")
    notes += [
        f"{run.name} ended with {run.status}: {run.message}"
        for run in runs
        if run.status != Status.OK
    ]
    return notes
