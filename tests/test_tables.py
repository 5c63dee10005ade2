"""Tables in every form, each read by somebody else's reader."""

from __future__ import annotations

import html.parser
import json

import pytest
from markdown_it import MarkdownIt
from rich.cells import cell_len

from trimtab import tables
from trimtab.tables import Column, Table, number

HEADS = ["operator", "MACs", "share"]
ODD = Table(
    [Column("operator"), number("MACs", ","), number("share", ".1%", absent="-", key="part")],
    [
        ("conv1", 118_013_952, 0.987),
        ("  indented", 0, None),
        ("日本 <b>*a*|`b`\\", 7, 0.5),
        ("two\nlines", None, "n/a"),
    ],
    "What is in it",
)
CELLS = [
    ["conv1", "118,013,952", "98.7%"],
    ["  indented", "0", "-"],
    ["日本 <b>*a*|`b`\\", "7", "50.0%"],
    ["two\nlines", "", "n/a"],
]


def test_text_has_its_columns_under_their_headers() -> None:
    title, head, rule, *rows = ODD.text().splitlines()
    assert (title, head.split()) == ("What is in it", HEADS)
    # The displayed ends of the columns, which are those of the rule.
    ends = [cell_len(part) for part in rule.split("  ")]
    assert {*rule} == {"-", " "}
    assert len(rows) == len(CELLS) + 1
    assert rows[0].startswith("conv1 ")
    assert rows[1].startswith("  indented ")
    assert [row.split()[-1] for row in rows[:4]] == ["98.7%", "-", "50.0%", "n/a"]
    assert all(cell_len(row) == sum(ends) + 4 for row in rows[:4])
    assert rows[4] == "lines"


def test_a_table_without_headers_or_rows_is_text_too() -> None:
    pairs = Table([Column(""), Column("", absent="-")], [("cpu", "a53"), ("memory", None)])
    assert pairs.text() == "cpu     a53\nmemory  -"
    assert Table([Column("a"), number("bb")], []).text() == "a  bb\n-  --"
    assert Table([Column("")], []).text() == ""


class Read(html.parser.HTMLParser):
    """The cells of all rows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.kinds: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")
            self.kinds.append(dict(attrs).get("class") or dict(attrs).get("style") or "")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.strip("\n") if data.isspace() else data


def test_a_table_is_drawn_by_notebooks_with_styles_of_its_own() -> None:
    assert Read(ODD._repr_html_()).rows == Read(ODD.html()).rows
    columns = [Column("name"), number("MACs", ",")]
    cells = Table(columns, [('a "b"<', 1000)])._repr_html_()
    assert '<td style="text-align: left">a &quot;b&quot;&lt;</td><td>1,000</td>' in cells
    assert "class=" not in cells


def test_html_keeps_every_cell_and_the_side_it_stands_on() -> None:
    result = Read(ODD.html())
    assert result.rows == [HEADS, *CELLS]
    assert result.kinds == ["left", "", ""] * 5


def test_markdown_keeps_every_cell_whatever_it_holds() -> None:
    """Read by the parser of CommonMark with GitHub's tables."""
    rendered = MarkdownIt().enable("table").render(ODD.markdown())
    assert "<h2>What is in it</h2>" in rendered
    result = Read(rendered)
    assert result.rows == [HEADS, *([" ".join(cell.split()) for cell in row] for row in CELLS)]
    assert result.kinds == ["", "text-align:right", "text-align:right"] * 5


def test_json_holds_values_and_not_their_looks() -> None:
    rows = json.loads(ODD.json())
    assert rows[0] == {"operator": "conv1", "MACs": 118_013_952, "part": 0.987}
    assert rows[1]["part"] is None


def test_a_row_that_does_not_fit_its_columns_is_a_bug() -> None:
    with pytest.raises(ValueError, match="shorter"):
        Table([Column("a"), Column("b")], [("alone",)]).text()


def test_a_page_is_its_parts_in_their_order() -> None:
    page: tables.Page = ["before", Table([Column("a")], [("x",)]), "after"]
    assert tables.text(page) == "before\n\na\n-\nx\n\nafter"
    assert tables.markdown(page) == "before\n\n| a   |\n| --- |\n| x   |\n\nafter"
