"""What comes of a fault at each step of a measurement, as the tests make it happen."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from lab.docs.generator import block
from lab.docs.words import listed
from trimtab import errors, paths
from trimtab.tables import Column, Markup, Page, Table

_TABLE = "tests/devices/faults.toml"


@block
def faults() -> Page:
    """The steps, a row per fault, and why some cells are empty."""
    table = tomllib.loads((paths.root() / _TABLE).read_text(encoding="utf-8"))
    steps, rows = table["steps"], table["fault"].values()
    faults = [(row["title"], Markup(row["doc"])) for row in rows]
    return [
        Table([Column("step"), Column("when")], [(_name(s), Markup(t)) for s, t in steps.items()]),
        Table([Column("fault"), Column("what")], faults),
        "Exit code, and status of the record; with * the device was waited for, and what was going "
        "on was done once more:",
        Table(
            [Column(""), *(Column(_name(step)) for step in steps)],
            [(row["title"], *(_cell(row[step]) for step in steps)) for row in rows],
        ),
        "\n".join(f"* {sentence}" for row in rows for sentence in _notes(row, steps)),
    ]


def _name(step: str) -> Markup:
    return Markup(f"`{step}`")


def _cell(told: str | Mapping[str, Any]) -> str:
    if isinstance(told, str):
        return "-"
    record = "no record" if told["record"] == "none" else told["record"]
    return f"{_code(told)}, {record}{' *' if told.get('resumed') else ''}"


def _code(told: Mapping[str, Any]) -> str:
    name = told.get("error", "")
    if name == "SIGKILL":
        return "137"  # as shells count: 128 and the signal
    return str(getattr(errors, name).exit_code) if name else "0"


def _notes(row: Mapping[str, Any], steps: Mapping[str, str]) -> Iterator[str]:
    """What is left on the device, and what cannot be; steps of which the same is said together."""
    for what, form in ((_left, "{}"), (_never, "cannot be, as {}")):
        said: dict[str, list[str]] = {}
        for step in steps:
            if text := what(row[step]):
                said.setdefault(text, []).append(_name(step))
        for text, where in said.items():
            yield f"{row['title'].capitalize()} at {listed(where)}: {form.format(text)}."


def _left(told: str | Mapping[str, Any]) -> str:
    return "" if isinstance(told, str) else str(told.get("left", ""))


def _never(told: str | Mapping[str, Any]) -> str:
    return told if isinstance(told, str) else ""
