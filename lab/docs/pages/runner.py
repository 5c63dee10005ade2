"""The events that the runner prints, from the table that checks its output."""

from __future__ import annotations

from collections.abc import Iterable

from lab.docs.generator import reference
from trimtab.bench import runner_events
from trimtab.bench.runner_events import FieldSchema
from trimtab.tables import Column, Markup, Page, Table


@reference("Events of the runner")
def runner_lines() -> Page:
    """One row per event, in their order, then one per field."""
    events = [
        tuple(map(Markup, (_code([line.event]), line.when, _code(f.name for f in line.fields))))
        for line in runner_events.EVENTS
    ]
    holders: dict[FieldSchema, list[str]] = {}
    for line in runner_events.EVENTS:
        for field in line.fields:
            holders.setdefault(field, []).append(line.event)
    fields = [
        tuple(map(Markup, (_code([field.name]), _code(of), field.kind.text, field.note)))
        for field, of in holders.items()
    ]
    return [
        f"Events: {_code(line.event for line in runner_events.EVENTS)}.",
        Table([Column("event"), Column("when"), Column("fields")], events),
        f"A line has at most {runner_events.MAX_LINE_BYTES:,} bytes, all of them together at most "
        f"{runner_events.MAX_OUTPUT_BYTES:,}.\nNumbers are integers.",
        Table([Column("field"), Column("of"), Column("value"), Column("meaning")], fields),
    ]


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
