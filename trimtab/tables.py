"""Tables: typed columns and rows, rendered as plain text, Markdown, HTML, or JSON.

    columns = [Column("operator"), number("MACs", ",")]
    table = Table(columns, [("conv1", 118_013_952), ("relu1", None)])
    print(table.text())
    print(table.markdown())

`tabulate` lays out text and Markdown. A page is a sequence of paragraphs and tables: a function
that reports several things returns a page, and its caller picks the output form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from rich.cells import cell_len
from tabulate import SEPARATING_LINE, DataRow, Line, TableFormat, tabulate

from trimtab import escape, strict_json

_MAX_PADDED_WIDTH = 40  # a wider Markdown cell does not widen the other cells of its column
_MIN_MARKDOWN_WIDTH = 3


@dataclass(frozen=True)
class Column:
    """How to render one column.

    `form` is the `format()` spec of its numbers, such as ",", ".2f" or ".0%". `absent` stands for
    None. `key` is the column's name in JSON, by default its header.
    """

    header: str
    form: str = ""
    align: Literal["left", "right"] = "left"
    absent: str = ""
    key: str = ""

    def cell(self, value: object) -> str:
        """`value` as text; strings pass through unchanged."""
        if value is None:
            return self.absent
        return value if isinstance(value, str) else format(value, self.form)


def number(header: str, form: str = "", *, absent: str = "", key: str = "") -> Column:
    """A right-aligned column, for numbers and for text that stands for numbers."""
    return Column(header, form, "right", absent, key)


@dataclass(frozen=True)
class Table:
    """Rows with one value per column, under an optional title."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    title: str = ""

    def text(self) -> str:
        """Plain text for a terminal. Cells may span several lines."""
        rows = [line for row in self._cells(escape.text) for line in _split_lines(row)]
        head = [escape.text(column.header) for column in self.columns]
        if any(head):
            rows = [*_split_lines(head), [SEPARATING_LINE], *rows]
        lines = [line.rstrip() for line in self._layout(rows, _TEXT).splitlines()]
        return "\n".join([escape.line(self.title), *lines] if self.title else lines)

    def markdown(self) -> str:
        """A GitHub pipe table, under a level-2 heading if it has a title."""
        head = [
            f"{_markdown_cell(c.header):{'<' if c.align == 'left' else '>'}{_MIN_MARKDOWN_WIDTH}}"
            for c in self.columns
        ]
        wide_cells: list[str] = []

        def fitted(cell: str) -> str:
            if cell_len(cell) <= _MAX_PADDED_WIDTH:
                return cell
            wide_cells.append(cell)
            return _PLACEHOLDER

        rows = [[fitted(cell) for cell in row] for row in self._cells(_markdown_cell)]
        drawn = self._layout([head, [SEPARATING_LINE], *rows], _MARKDOWN)
        remaining = iter(wide_cells)
        drawn = re.sub(f" *{_PLACEHOLDER} *(?= \\|)", lambda _: " " + next(remaining), drawn)
        return f"## {escape.markdown(self.title)}\n\n{drawn}" if self.title else drawn

    def html(self) -> str:
        """A `<table>` under an `<h2>`; cells of text have the class "left"."""
        return self._html('class="left"')

    def _repr_html_(self) -> str:
        """The table in a notebook, which aligns cells to the right."""
        return self._html('style="text-align: left"')

    def _html(self, left: str) -> str:
        def row(tag: str, cells: Iterable[str]) -> str:
            kinds = (f" {left}" if c.align == "left" else "" for c in self.columns)
            marked = zip(kinds, cells, strict=True)
            return f"<tr>{''.join(f'<{tag}{k}>{c}</{tag}>' for k, c in marked)}</tr>"

        rows = [row("th", (escape.html(column.header) for column in self.columns))]
        rows += [row("td", cells) for cells in self._cells(escape.html)]
        heading = f"<h2>{escape.html(self.title)}</h2>\n" if self.title else ""
        return heading + "<table>" + "\n".join(rows) + "</table>"

    def json(self) -> str:
        """A JSON array with one object per row; values are unformatted."""
        return strict_json.dumps(self.records(), indent=1)

    def records(self) -> list[dict[str, Any]]:
        """One dictionary per row: values by column key."""
        keys = [column.key or column.header for column in self.columns]
        return [dict(zip(keys, row, strict=True)) for row in self.rows]

    def _cells(self, escaped: Callable[[str], str]) -> list[list[str]]:
        return [
            [escaped(column.cell(value)) for column, value in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    def _layout(self, rows: Sequence[Sequence[str]], form: TableFormat) -> str:
        drawn = tabulate(
            [[_widened(cell) for cell in row] for row in rows],
            tablefmt=form,
            colalign=[column.align for column in self.columns],
            disable_numparse=True,
            preserve_whitespace=True,
        )
        return drawn.replace(_FILLER, "")


# Headers are laid out as an ordinary first row: tabulate pads real headers by two more columns.
def _pipe_rule(widths: Sequence[int], aligns: Sequence[str]) -> str:
    ends = ["-" if align == "left" else ":" for align in aligns]
    rules = ["-" * (width - 1) + end for width, end in zip(widths, ends, strict=True)]
    return f"| {' | '.join(rules)} |"


_TEXT_ROW = DataRow("", "  ", "")
_TEXT = TableFormat(
    lineabove=None,
    linebelowheader=Line("", "-", "  ", ""),
    linebetweenrows=None,
    linebelow=None,
    headerrow=_TEXT_ROW,
    datarow=_TEXT_ROW,
    padding=0,
    with_header_hide=None,
)
_MARKDOWN = _TEXT._replace(
    linebelowheader=_pipe_rule,
    headerrow=DataRow("| ", " | ", " |"),
    datarow=DataRow("| ", " | ", " |"),
)
_PLACEHOLDER = "\ue000"  # stands for a wide cell during layout; private use area
_FILLER = "\u2060"  # word joiner: adds to a cell's length and takes no space


def _widened(cell: str) -> str:
    """`cell` with a length that equals its width on a terminal, where CJK takes two columns."""
    return cell + _FILLER * (cell_len(cell) - len(cell))


class Markup(str):
    """A cell that is Markdown source already; other forms show it as it stands."""

    __slots__ = ()


Page = Sequence[str | Table]


def text(page: Page) -> str:
    """A page as plain text."""
    return "\n\n".join(escape.text(p) if isinstance(p, str) else p.text() for p in page)


def markdown(page: Page) -> str:
    """A page as Markdown; its paragraphs are Markdown already."""
    return "\n\n".join(p if isinstance(p, str) else p.markdown() for p in page)


def _markdown_cell(cell: str) -> str:
    if isinstance(cell, Markup):
        return " ".join(cell.replace("|", "\\|").split())
    return escape.markdown_cell(cell)


def _split_lines(row: Sequence[str]) -> Iterable[list[str]]:
    """A row whose cells span several lines, as one row per line."""
    return map(list, zip_longest(*(cell.split("\n") for cell in row), fillvalue=""))
