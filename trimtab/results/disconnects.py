"""What a report says of a device that was lost while it was measured, and came back."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.results.records import Event, Record


def of_records(records: Sequence[Record]) -> tuple[str, ...]:
    """A sentence for each loss, of the records of one measurement: what had happened, and how many
    launches do not count because of it.
    """
    resumed = (record.of("resumed") for record in records)
    return tuple(map(_said, zip(*resumed, strict=False)))


def _said(events: Sequence[Event]) -> str:
    count = sum(len(event["discarded"]) for event in events)
    what = f"{count} launch{'es' * (count > 1)}" if count else "no launch"
    return f"The device was lost and came back ({events[0]['why']}): {what} discarded for that."
