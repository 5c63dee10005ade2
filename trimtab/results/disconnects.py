"""Notes on a device that disconnected and came back during a measurement."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.results.records import Event, Record


def notes(records: Sequence[Record]) -> tuple[str, ...]:
    """A sentence per disconnect: its cause, and the number of launches it discarded.

    `records` are those of one measurement.
    """
    resumed = (record.of("resumed") for record in records)
    return tuple(map(_note, zip(*resumed, strict=False)))


def _note(events: Sequence[Event]) -> str:
    count = sum(len(event["discarded"]) for event in events)
    launches = f"{count} launch{'es' * (count > 1)}" if count else "no launch"
    return f"The device disconnected and came back ({events[0]['why']}): {launches} discarded."
