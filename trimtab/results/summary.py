"""Reduces a record to figures: the summary that reports format without further computation.

An emulated device has no figures of time: the emulator's clock says nothing about the device, so
only its instruction counts become figures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from trimtab.accuracy import Accuracy, AccuracyBound, Search
from trimtab.errors import ResultError
from trimtab.paths import PROGRAM
from trimtab.results import (
    counters,
    disconnects,
    energy,
    paced,
    statistics,
    thread_spans,
    variation,
)
from trimtab.results.footprint import Footprint
from trimtab.results.records import WRONG, Event, Header, Record, Status
from trimtab.results.statistics import Statistic
from trimtab.results.thread_spans import Span
from trimtab.results.variation import Drift, Spread

_STEADY = 2.0  # the most p90 of a median; caches and schedulers of quiet devices stay below
SHIPPED_KEYS = ("shipped_bytes", "binary_bytes", "model_bytes")


class Unit(StrEnum):
    """The unit of a figure; less is better in all of them."""

    NS = "ns"
    BYTES = "bytes"
    INSTRUCTIONS = "instructions"


@dataclass(frozen=True)
class Figure:
    """One number of a run: the median of its samples, grouped by launch.

    `part_of` is the key of the figure that this one is a part of, "" for none.
    """

    key: str
    label: str
    unit: Unit
    launches: tuple[tuple[int, ...], ...]
    part_of: str = ""

    @property
    def samples(self) -> tuple[int, ...]:
        """The samples of all launches, in order."""
        return tuple(sample for launch in self.launches for sample in launch)

    @cached_property
    def statistic(self) -> Statistic:
        """The statistics of the samples; few samples make a weak interval."""
        return statistics.describe(self.launches)

    @cached_property
    def spread(self) -> Spread | None:
        """The variation of times within launches and between them."""
        return variation.spread(self.launches) if self.unit is Unit.NS else None

    @cached_property
    def drift(self) -> Drift | None:
        """The drift of times over the run."""
        return variation.drift(self.launches) if self.unit is Unit.NS else None

    @property
    def value(self) -> float:
        """The median of the samples."""
        return self.statistic.median


@dataclass(frozen=True)
class OpCost:
    """The median cost of one operator in one run; None where it is unknown.

    `samples_ns` are its times in each inference measured by operator, and `shares` the spans of
    each thread; both are empty if times mean nothing or are unknown.
    """

    index: int
    label: str
    ns: float | None
    instructions: float | None
    samples_ns: tuple[int, ...] = ()
    shares: tuple[tuple[Span, ...], ...] = ()

    @property
    def cost(self) -> float:
        """The time, or else the instructions: for sorting and for shares."""
        return self.ns or self.instructions or 0.0


@dataclass(frozen=True)
class Summary:
    """One run reduced to its figures.

    `shipped` are the footprints of this build and of its alternatives. `accuracy` is that of the
    model against the float32 network, None without samples, and `search` the search of its
    precisions. `hardware` and `energy` are None if they were not requested. `uncontrolled` names
    the settings of the device that could not be controlled, and `losses` describes its disconnects.
    `network` is the event of that name, empty in records of earlier versions. `paced` is None
    unless frames arrived at a fixed rate.
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
    shipped: tuple[Footprint, ...]
    accuracy: Accuracy | None = None
    search: Search | None = None
    hardware: tuple[counters.OperatorCounters, ...] | None = None
    energy: tuple[energy.SourceEnergy, ...] | None = None
    uncontrolled: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    network: Mapping[str, Any] = field(default_factory=dict)
    paced: paced.Paced | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that explain the figures."""
        notes = [*self.losses, *filter(None, [self.unsteadiness])]
        if self.hardware is not None:
            notes.append(counters.RULE if self.hardware else counters.NOTHING)
        if self.paced is not None:
            notes.append(paced.EMULATED if self.header.is_emulated else paced.RULE)
            notes += [f"clock and temperature: {self.paced.why}"] if self.paced.why else []
        if self.energy is not None:
            rule = energy.ABOVE_IDLE if self.paced else energy.RULE
            notes.append(rule if self.energy else energy.NOTHING)
        return tuple(notes)

    @property
    def unsteadiness(self) -> str:
        """The warning about times that are spread more widely than any network's; "" for none."""
        of = self.headline.statistic if self.headline else None
        if of is None or of.p90 <= _STEADY * of.median:
            return ""
        return (
            f"warning: the p90 is {of.p90 / of.median:.1f} times the median: something else ran on "
            "the device, or its clock changed; measure again when it is quiet"
        )

    def figure(self, key: str) -> Figure | None:
        """The figure with this key, None if the run has none."""
        return next((figure for figure in self.figures if figure.key == key), None)

    @property
    def headline(self) -> Figure | None:
        """The main figure of a run: its latency, or under an emulator its instructions."""
        return self.figure("latency") or self.figure("latency_instructions")

    @property
    def budget(self) -> Sequence[AccuracyBound]:
        """The accuracy budget that its build was searched for; empty without one."""
        return self.search.bounds if self.search else ()

    @property
    def name(self) -> str:
        """The run's label in a table: model, profile and device."""
        header = self.header
        return f"{header.model.name.split('.')[0]} / {header.profile} / {header.device.name}"


def summarize(record: Record) -> Summary:
    """Reduces one run. Raises ResultError if an event lacks a field, or has a wrong one."""
    try:
        return _summary(record)
    except WRONG as error:
        raise ResultError(
            f"not a result file: an event is wrong: {type(error).__name__}: {error}",
            where=str(record.path),
            hint=f"measure again: {PROGRAM} bench",
        ) from error


def _summary(record: Record) -> Summary:
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
        losses=disconnects.notes([record]),
        network=record.first("network") or {},
        paced=paced.of_record(record),
    )


def _uncontrolled(record: Record) -> tuple[str, ...]:
    """The settings that could not be controlled, and the launches that began hot."""
    notes = list(record.header.control.get("uncontrolled", ()))
    hot = [event["hot"] for event in record.of("conditions") if event.get("hot")]
    if hot:
        notes.append(f"temperature: {len(hot)} launches began hot ({hot[0]})")
    return tuple(notes)


def _shipped(record: Record) -> tuple[Footprint, ...]:
    if event := record.first("shipped"):
        return tuple(Footprint(**values) for values in event["ways"])
    header = record.header
    model_bytes = 0 if header.is_model_embedded else header.model.file_bytes
    return (Footprint("trimtab", model_bytes, header.binary.file_bytes, is_built=True),)


def _accuracy(record: Record) -> Accuracy | None:
    event = record.first("accuracy")
    accuracy = Accuracy.of(event) if event else None
    if accuracy:
        accuracy.rows()  # raises for figures that are no numbers
    return accuracy


def _search(record: Record) -> Search | None:
    event = record.first("precision")
    return Search.of(event) if event else None


def _figures(record: Record) -> Iterator[Figure]:
    emulated = record.header.is_emulated
    binary_bytes, model_bytes = record.header.binary.file_bytes, record.header.model.file_bytes
    has_model_file = not record.header.is_model_embedded
    shipped_bytes = binary_bytes + has_model_file * model_bytes
    yield Figure("shipped_bytes", "shipped", Unit.BYTES, ((shipped_bytes,),))
    yield Figure("binary_bytes", "binary", Unit.BYTES, ((binary_bytes,),), "shipped_bytes")
    if has_model_file:
        yield Figure("model_bytes", "model", Unit.BYTES, ((model_bytes,),), "shipped_bytes")
    for key, label, kind in (
        ("latency", "inference", "run"),
        ("cpu", "CPU time of an inference, all threads", "cpu"),
        ("first", "first inference", "first"),
        ("load", "load", "load"),
        ("verify", "check of the weights", "verify"),
    ):
        if not emulated and (times := _samples(record, kind, "ns")):
            yield Figure(key, label, Unit.NS, times)
        if counts := _samples(record, kind, "instructions"):
            yield Figure(f"{key}_instructions", label, Unit.INSTRUCTIONS, counts)
    if memory := record.first("memory"):
        for key, label, whole in (
            ("arena_bytes", "activation memory", ""),
            ("arena_lower_bound_bytes", "its lower bound", "arena_bytes"),
            ("weights_bytes", "weights", ""),
            ("prepared_bytes", "weights prepared at load", ""),
        ):
            if key in memory:  # records of earlier versions lack some
                yield Figure(key, label, Unit.BYTES, ((memory[key],),), whole)
    if record.header.device.peak_of == "emulator":
        return
    for key, label, source, whole in (
        ("peak_bytes", "peak memory, weights included", "vm_hwm_bytes", ""),
        ("file_bytes", "pages of files at the end", "rss_file_bytes", "peak_bytes"),
    ):
        if samples := _samples(record, "peak", source):
            yield Figure(key, label, Unit.BYTES, samples, whole)


def _samples(record: Record, kind: str, field: str) -> tuple[tuple[int, ...], ...]:
    """A field of the events of one kind, by launch; empty if any value is null."""
    values: list[tuple[Any, ...]] = [
        tuple(event.get(field) for event in launch if event["event"] == kind)
        for launch in record.launches()
    ]
    wrong = [one for launch in values for one in launch if not isinstance(one, int | None)]
    if wrong:
        raise TypeError(f"{field} of {kind!r} is {wrong[0]!r:.100}")
    return () if any(None in launch for launch in values) else tuple(filter(None, values))


def _ops(record: Record) -> Iterator[OpCost]:
    labels = (record.first("operators") or {}).get("labels", [])
    samples: dict[int, list[Event]] = {}
    for event in record.of("op"):
        samples.setdefault(event["index"], []).append(event)
    for index, events in sorted(samples.items()):
        name = events[0]["name"] or f"op {events[0]['id']}"
        is_timed = not record.header.is_emulated
        yield OpCost(
            index,
            label=labels[index] if index < len(labels) else name,
            ns=_median(events, "ns") if is_timed else None,
            instructions=_median(events, "instructions"),
            samples_ns=tuple(event["ns"] for event in events) if is_timed else (),
            shares=thread_spans.of_events(events) if is_timed else (),
        )


def _median(events: Sequence[Event], field: str) -> float | None:
    values = [event[field] for event in events]
    return None if None in values else float(np.median(values))


def _golden(record: Record) -> str:
    event = record.first("golden")
    if event is None:
        return "not checked"
    worst = max(math.inf if (e := one["max_error"]) is None else e for one in event["outputs"])
    error = f"largest error {worst:.2g}" if math.isfinite(worst) else "values that are not finite"
    return f"{error} against {event['oracle']}"
