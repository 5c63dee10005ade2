"""Outcomes of injected faults at each step of a measurement, from the table of the tests."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from lab.docs.generator import reference
from lab.docs.sentences import listed
from trimtab import errors, paths
from trimtab.tables import Column, Markup, Page, Table

_TABLE = "tests/devices/faults.toml"


@reference("Injected faults and their outcomes")
def faults() -> Page:
    """The steps, one row per fault, and the reasons of empty cells."""
    table = tomllib.loads((paths.root() / _TABLE).read_text(encoding="utf-8"))
    steps, rows = table["steps"], table["fault"].values()
    faults = [(row["title"], Markup(row["doc"])) for row in rows]
    return [
        Table([Column("step"), Column("when")], [(_name(s), Markup(t)) for s, t in steps.items()]),
        Table([Column("fault"), Column("what")], faults),
        "Exit code and status of the record; * marks steps that waited for the device and were "
        "repeated:",
        Table(
            [Column(""), *(Column(_name(step)) for step in steps)],
            [(row["title"], *(_cell(row[step]) for step in steps)) for row in rows],
        ),
        "\n".join(f"* {sentence}" for row in rows for sentence in _notes(row, steps)),
    ]


def _name(step: str) -> Markup:
    return Markup(f"`{step}`")


def _cell(outcome: str | Mapping[str, Any]) -> str:
    if isinstance(outcome, str):
        return "-"
    record = "no record" if outcome["record"] == "none" else outcome["record"]
    return f"{_code(outcome)}, {record}{' *' if outcome.get('resumed') else ''}"


def _code(outcome: Mapping[str, Any]) -> str:
    name = outcome.get("error", "")
    if name == "SIGKILL":
        return "137"  # as a shell reports it: 128 plus the signal
    return str(getattr(errors, name).exit_code) if name else "0"


def _notes(row: Mapping[str, Any], steps: Mapping[str, str]) -> Iterator[str]:
    """Sentences on remains on the device and on impossible cells, merged over steps."""
    for note, form in ((_remains, "{}"), (_impossible, "impossible, because {}")):
        notes: dict[str, list[str]] = {}
        for step in steps:
            if text := note(row[step]):
                notes.setdefault(text, []).append(_name(step))
        for text, where in notes.items():
            yield f"{row['title'].capitalize()} at {listed(where)}: {form.format(text)}."


def _remains(outcome: str | Mapping[str, Any]) -> str:
    return "" if isinstance(outcome, str) else str(outcome.get("left", ""))


def _impossible(outcome: str | Mapping[str, Any]) -> str:
    return outcome if isinstance(outcome, str) else ""
