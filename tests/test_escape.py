"""Escapes, each judged by a reader of its format that is not ours."""

from __future__ import annotations

import ast
import html
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.hostile_text import (
    ALL,
    PAYLOADS,
    check_csv,
    check_displayed,
    check_html,
    check_json,
    check_markdown,
)
from tests.some import some
from trimtab import escape, strict_json, tables
from trimtab.tables import Column, Table

PACKAGE = Path(escape.__file__).parent
PLACES = ["{}", "# {}", "* {}", "before\n\n{}\n\nafter", "| a   |\n| --- |\n| {} |"]


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
class TestEveryPayload:
    def test_shows_what_it_is_on_a_terminal(self, payload: str) -> None:
        check_displayed(escape.text(payload))
        assert "\n" not in escape.line(payload)

    @pytest.mark.parametrize("place", PLACES)
    def test_is_plain_text_wherever_it_stands_in_markdown(self, payload: str, place: str) -> None:
        harmless = check_markdown(place.format("harmless"))
        escaped = escape.markdown_cell if "|" in place else escape.markdown
        page = check_markdown(place.format(escaped(payload)))
        assert page.names == harmless.names
        shown = " ".join(escape.text(payload).split())
        assert shown in page.text.replace("\u200b", "")

    def test_is_text_in_html_and_in_its_attributes(self, payload: str) -> None:
        page = check_html(f'<a title="{escape.html(payload)}">{escape.html(payload)}</a>')
        assert page.names == ["a"]
        assert page.text == escape.text(payload)

    def test_is_text_in_xml(self, payload: str) -> None:
        element = ElementTree.Element("a", b=escape.xml(payload))
        element.text = escape.xml(payload)
        again = ElementTree.fromstring(ElementTree.tostring(element, encoding="unicode"))
        assert again.text == again.get("b") == escape.text(payload)

    def test_is_one_cell_without_a_formula_in_csv(self, payload: str) -> None:
        rows = check_csv(escape.csv_document([["name", "count"], [payload, 1]]))
        assert [len(row) for row in rows] == [2, 2]
        assert rows[1][0].removeprefix("'") == escape.text(payload)

    def test_is_read_from_json(self, payload: str) -> None:
        value = check_json(strict_json.dumps({payload: [payload]}))
        lone = payload.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        assert value == {lone: [lone]}


def test_ordinary_names_stay_as_they_are() -> None:
    names = ["conv2d_1/BiasAdd:0", "model.22.cv3 (f32)", "日本 größe", "👩\u200d🔬", "a  b", "50 %"]
    assert [escape.text(name) for name in names] == names
    assert [escape.markdown(name) for name in names if "  " not in name] == names[:4] + names[5:]
    assert escape.markdown("-0.92x") == "-0.92x"
    assert escape.csv_document([names]) == ",".join(names) + "\n"


def test_numbers_stay_numbers_in_csv() -> None:
    row = [-1, -1.5, 1e-7, None, "-3.25", "+4e3", "-x"]
    assert escape.csv_document([row]) == "-1,-1.5,1e-07,,-3.25,+4e3,'-x\n"


def test_a_table_shows_hostile_names_in_every_form() -> None:
    hostile = Table([Column(ALL), Column("b")], [(ALL, 1), ("x", ALL)], ALL)
    harmless = Table([Column("a"), Column("b")], [("a", 1), ("x", "y")], "title")
    check_displayed(hostile.text())
    check_displayed(tables.text([ALL, hostile]))
    assert check_html(hostile.html()).names == check_html(harmless.html()).names
    assert check_markdown(hostile.markdown()).names == check_markdown(harmless.markdown()).names
    check_json(hostile.json())


@pytest.mark.parametrize("room", ["cli", "reports", "results/export.py", "tables.py"])
def test_output_is_escaped_in_one_module(room: str) -> None:
    """No other module of these imports a writer of CSV or HTML."""
    path = PACKAGE / room
    for module in some(sorted(path.rglob("*.py")) if path.is_dir() else [path]):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Import):
                assert not {alias.name for alias in node.names} & {"csv", "html"}, module
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert node.module not in ("csv", "html"), module


def test_html_is_not_escaped_twice() -> None:
    assert html.unescape(escape.html("a & <b>")) == "a & <b>"


@pytest.mark.parametrize("name", ["std::vector", "::", "a::b::c", "::1", "# heading", "## heading"])
def test_colons_and_signs_that_are_no_command_stay(name: str) -> None:
    assert escape.text(name) == escape.line(name) == name
