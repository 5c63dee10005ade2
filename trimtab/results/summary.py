"""From raw records to figures: what one run says, and what two or more say beside each other.

Reports format these and compute nothing. A figure of time from an emulated device does not exist
here: an emulator's clock says nothing about the device, so only its counts of instructions become
figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from trimtab.accuracy import Accuracy, Search
from trimtab.results import counters, disconnects, energy, statistics, thread_spans, variation
from trimtab.results.footprint import Footprint
from trimtab.results.records import Event, Header, Record, Status
from trimtab.results.statistics import Statistic
from trimtab.results.thread_spans import Span
from trimtab.results.variation import Drift, Spread

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
        return variation.spread(self.launches) if self.unit is Unit.NS else None

    @cached_property
    def drift(self) -> Drift | None:
        """How times move over the run."""
        return variation.drift(self.launches) if self.unit is Unit.NS else None

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
    shipped: tuple[Footprint, ...]
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
        losses=disconnects.notes([record]),
        network=record.first("network") or {},
    )


def _uncontrolled(record: Record) -> tuple[str, ...]:
    """What could not be had from the beginning, and launches that began while it was hot."""
    found = list(record.header.control.get("uncontrolled", ()))
    hot = [event["hot"] for event in record.of("conditions") if event.get("hot")]
    if hot:
        found.append(f"temperature: {len(hot)} launches began hot ({hot[0]})")
    return tuple(found)


def _shipped(record: Record) -> tuple[Footprint, ...]:
    if event := record.first("shipped"):
        return tuple(Footprint(**way) for way in event["ways"])
    header = record.header
    model_bytes = 0 if header.is_model_embedded else header.model.file_bytes
    return (Footprint("trimtab", model_bytes, header.binary.file_bytes, is_built=True),)


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
            shares=thread_spans.of_events(events) if is_timed else (),
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
