"""The report of a tuning: where the rule was wrong, operator by operator, as a table and as a
picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trimtab import tables
from trimtab.errors import UsageError
from trimtab.reports import html_page, text_plot
from trimtab.reports.chart_data import MIN_POINTS, Chart
from trimtab.tables import Column, Page, Table, number
from trimtab.tuning.confirmation import Change
from trimtab.tuning.tuned import Tuned

FORMATS = (".html", ".md")
_MAX_BARS = 20


def check_format(path: str) -> None:
    """UsageError if no report has the suffix of `path`."""
    if Path(path).suffix not in FORMATS:
        raise UsageError(
            f"the report {path} has an unknown format", hint=f"use {' or '.join(FORMATS)}"
        )


def page(tuned: Tuned) -> Page:
    """The report for a terminal: the outcome, the changes, and their picture."""
    parts: list[str | Table] = [f"{tuned.network} on {tuned.device} ({tuned.core})"]
    if tuned.places:
        parts.append(_placements(tuned))
    if tuned.search.changes:
        parts += [_changes(tuned.search.changes), _bars(tuned.search.changes)]
    if tuned.bytes:
        parts.append(_sizes(tuned))
    return [*parts, *_notes(tuned), tuned.sentence()]


def rendered(tuned: Tuned, path: str) -> str:
    """The report as the text of a file, in the format of its suffix."""
    every = _tried(tuned.search.alternatives)
    if Path(path).suffix == ".md":
        bars = f"```\n{_bars(tuned.search.changes)}\n```" if tuned.search.changes else ""
        parts = [p for p in page(tuned) if not (isinstance(p, str) and "█" in p)]
        return tables.markdown([*parts, *filter(None, [bars]), every]) + "\n"
    head, *rest = page(tuned)
    texts = [part for part in rest if isinstance(part, str) and "█" not in part]
    own = [part for part in rest if isinstance(part, Table)]
    charts = [chart(tuned)] if len(tuned.search.changes) >= MIN_POINTS else []
    return html_page.page(str(head), [tuned.sentence()], charts, [*own, every], texts[:-1])


def _notes(tuned: Tuned) -> list[str]:
    search = tuned.search
    notes = [
        f"{search.measured} alternatives measured, {search.reused} known from earlier timings."
    ]
    if not search.is_complete:
        notes.append("The time was over before everything was measured: a repetition continues.")
    if tuned.throttled:
        notes.append(f"{tuned.throttled} blocks are discarded: the device throttled.")
    if tuned.unit == "instructions":
        notes.append(
            "The device is emulated: executed instructions were counted, which are not time. "
            "Memory traffic is that of the cost model; caches and pipes have no influence."
        )
    if tuned.proof:
        notes += [str(tuned.proof.verdict), *tuned.proof.verdict.notes]
    return notes


def _columns(unit_first: Sequence[Column]) -> list[Column]:
    return [
        *unit_first,
        number("share", ".1%"),
        number("ratio", ".3f"),
        Column("interval"),
        Column("rule", key="before"),
        Column("tuned", key="after"),
    ]


def _row(change: Change) -> tuple[object, ...]:
    low, high = change.effect.interval.low, change.effect.interval.high
    before, after = difference(change.before, change.after)
    return change.share, change.effect.value, f"{low:.3f} .. {high:.3f}", before, after


def difference(before: str, after: str) -> tuple[str, str]:
    """Both decisions, without the parts that both have, except for the first."""
    one, other = before.split(", "), after.split(", ")
    return (
        ", ".join([part for part in one if part not in other] or one[:1]),
        ", ".join([part for part in other if part not in one] or other[:1]),
    )


def _changes(changes: Sequence[Change]) -> Table:
    rows = [(change.layer, change.occurrences, *_row(change)) for change in changes]
    columns = _columns([Column("layer"), number("layers")])
    return Table(columns, rows, "Where the rule was wrong")


def _tried(alternatives: Sequence[Change]) -> Table:
    """Every alternative, the most saving ones first."""
    rows = [
        (change.layer, "kept" if change.is_kept else "", change.occurrences, *_row(change))
        for change in alternatives
    ]
    first = [Column("layer"), Column("", key="is_kept"), number("layers")]
    return Table(_columns(first), rows, "All alternatives that were measured")


def _bars(changes: Sequence[Change]) -> str:
    rows = [
        (change.layer[:48], change.saved, f"-{change.saved:.2%} of the network")
        for change in changes[:_MAX_BARS]
    ]
    return text_plot.bars(rows)


def chart(tuned: Tuned) -> Chart:
    """The time that each change saves, with its interval."""
    total = tuned.search.total
    rows = [
        {
            "label": f"{index}. {change.layer}",
            "value": total * change.saved,
            "low": total * change.share * (1 - change.effect.interval.high),
            "high": total * change.share * (1 - change.effect.interval.low),
        }
        for index, change in enumerate(tuned.search.changes[:_MAX_BARS], 1)
    ]
    what = "executed instructions" if tuned.unit == "instructions" else "time"
    caption = "What the tuned plan saves of an inference, with intervals of 99 %, by layer."
    return Chart(
        "bars", f"Where the rule was wrong ({what})", caption, {"rows": rows, "unit": tuned.unit}
    )


def _placements(tuned: Tuned) -> Table:
    columns = [Column("threads"), number("ratio", ".3f"), Column("interval"), Column("")]
    rows = [
        (
            str(one.place),
            one.effect.value,
            f"{one.effect.interval.low:.3f} .. {one.effect.interval.high:.3f}",
            "chosen" if one.is_chosen else "",
        )
        for one in tuned.places
    ]
    return Table(columns, rows, "Time of the rule's plan by number of threads")


def _sizes(tuned: Tuned) -> Table:
    columns = [Column("plan"), number("binary", ","), number("model", ",")]
    rows = [(name, binary, model) for name, (binary, model) in tuned.bytes.items()]
    return Table(columns, rows, "Bytes")
