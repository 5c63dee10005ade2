"""Tables: columns and rows that draw themselves as text, Markdown, HTML and JSON.

    columns = [Column("operator"), number("MACs", ",")]
    table = Table(columns, [("conv1", 118_013_952), ("relu1", None)])
    print(table.text())
    print(table.markdown())

A page is paragraphs and tables in their order; what shows several things returns one, and whoever
prints it chooses the form.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from rich.cells import cell_len

_WIDE = 40  # cells of Markdown that are wider do not widen the others


@dataclass(frozen=True)
class Column:
    """How one column is drawn. `form`: what `format()` makes of its numbers, such as ",", ".2f" or
    ".0%"; `absent` stands for None; `key`: its name in JSON, which is the header where none is
    given.
    """

    header: str
    form: str = ""
    align: Literal["left", "right"] = "left"
    absent: str = ""
    key: str = ""

    def cell(self, value: object) -> str:
        """`value` as text; texts are taken as they are."""
        if value is None:
            return self.absent
        return value if isinstance(value, str) else format(value, self.form)


def number(header: str, form: str = "", *, absent: str = "", key: str = "") -> Column:
    """A column of numbers, or of texts that stand for numbers: on the right."""
    return Column(header, form, "right", absent, key)


@dataclass(frozen=True)
class Table:
    """Rows of values, one for each column, under an optional title."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    title: str = ""

    def text(self) -> str:
        """For a terminal: columns under their headers; a cell may have several lines."""
        head = [column.header for column in self.columns]
        cells = [head, *self._cells()] if any(head) else self._cells()
        rows = self._padded([line for row in cells for line in _lines(row)])
        if any(head):
            rows.insert(1, ["-" * cell_len(cell) for cell in rows[0]])
        lines = ["  ".join(row).rstrip() for row in rows]
        return "\n".join([self.title, *lines] if self.title else lines)

    def markdown(self) -> str:
        """Between pipes, under a heading of the second level."""
        cells = [[column.header for column in self.columns], *self._cells()]
        rows = self._padded([[_marked(cell) for cell in row] for row in cells], 3, _WIDE)
        ends = ["-" if column.align == "left" else ":" for column in self.columns]
        rules = ["-" * (cell_len(c) - 1) + end for c, end in zip(rows[0], ends, strict=True)]
        lines = [f"| {' | '.join(row)} |" for row in (rows[0], rules, *rows[1:])]
        return "\n".join([f"## {self.title}\n", *lines] if self.title else lines)

    def html(self) -> str:
        """A `table` under an `h2`; cells of the class "left" are texts, the others numbers."""

        def row(tag: str, cells: Iterable[str]) -> str:
            kinds = (' class="left"' if c.align == "left" else "" for c in self.columns)
            marked = zip(kinds, cells, strict=True)
            return f"<tr>{''.join(f'<{tag}{k}>{html.escape(c)}</{tag}>' for k, c in marked)}</tr>"

        rows = [row("th", (column.header for column in self.columns))]
        rows += [row("td", cells) for cells in self._cells()]
        heading = f"<h2>{html.escape(self.title)}</h2>\n" if self.title else ""
        return heading + "<table>" + "\n".join(rows) + "</table>"

    def json(self) -> str:
        """An array of objects, one per row, with the values as they are."""
        return json.dumps(self.records(), indent=1)

    def records(self) -> list[dict[str, Any]]:
        """The values of each row by the keys of their columns."""
        keys = [column.key or column.header for column in self.columns]
        return [dict(zip(keys, row, strict=True)) for row in self.rows]

    def _cells(self) -> list[list[str]]:
        return [
            [column.cell(value) for column, value in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    def _padded(
        self, rows: list[list[str]], least: int = 0, most: float = math.inf
    ) -> list[list[str]]:
        """`rows` with all cells of a column as wide as its widest, counted as terminals show it;
        those that are wider than `most` stick out.
        """
        if not rows:
            return []
        widths = [
            max([least, *(width for width in map(cell_len, column) if width <= most)])
            for column in zip(*rows, strict=True)
        ]
        return [
            [
                " " * (width - cell_len(cell)) + cell
                if column.align == "right"
                else cell + " " * (width - cell_len(cell))
                for column, cell, width in zip(self.columns, row, widths, strict=True)
            ]
            for row in rows
        ]


class Markup(str):
    """A cell that is Markdown already; elsewhere it is drawn as it stands."""

    __slots__ = ()


Page = Sequence[str | Table]


def text(page: Page) -> str:
    """A page for a terminal."""
    return "\n\n".join(p if isinstance(p, str) else p.text() for p in page)


def markdown(page: Page) -> str:
    """A page in Markdown."""
    return "\n\n".join(p if isinstance(p, str) else p.markdown() for p in page)


def escape_markdown(text: str) -> str:
    """`text` in one line that is not taken for syntax of Markdown or for the end of a cell."""
    for character in "\\`*|<":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


def _marked(cell: str) -> str:
    if isinstance(cell, Markup):
        return " ".join(cell.replace("|", "\\|").split())
    return escape_markdown(cell)


def _lines(row: Sequence[str]) -> Iterable[list[str]]:
    """A row whose cells have several lines, as rows of one line."""
    return map(list, zip_longest(*(cell.split("\n") for cell in row), fillvalue=""))
