"""Texts that attack each format of output, and readers that notice when one succeeds."""

from __future__ import annotations

import csv
import html.parser
import io
import json
import re
import unicodedata
from datetime import datetime
from typing import Any
from xml.etree import ElementTree

from markdown_it import MarkdownIt

PAYLOADS = {
    "clears the screen": "\x1b[2J\x1b[1;31mred",
    "renames the window": "\x1b]0;other\x07",
    "an escape of one byte": "\x9b31m",
    "goes back": "harmless\rOK\x08\x08",
    "erases": "a\x7f\x00b",
    "another line": "first\n## second\n\n| a | b |",
    "turns the direction": "a\u202egnp.exe\u2066",
    "a line separator": "a\u2028b\u2029c\x85d",
    "half a character": "a\ud800b\udfff",
    "no character": "a\uffff\ufdd0b",
    "a tag": "</td></script></title><script>alert(1)</script><img src=x onerror=alert(1)>",
    "an attribute": "\" onmouseover='alert(1)' x=\"",
    "a comment": "<!-- --><![CDATA[ ]]>",
    "a reference": "&lt;b&gt;&#x1b;&amp;",
    "a link": "[free](http://evil.example) ![x](http://evil.example/x.png)",
    "an address": "see http://evil.example/ or www.evil.example or <http://evil.example>",
    "a mention": "@everyone closes #1 mail@evil.example",
    "emphasis": "**bold** _emphasized_ ~~struck~~ `code` $x^2$",
    "a heading": "# heading",
    "a list": "- item",
    "a number": "1. item",
    "a quote": "> quoted",
    "a rule": "---",
    "a wide rule": "- - -",
    "an underline": "===",
    "an empty item": "-",
    "an empty heading": "##",
    "a closed number": "12) item",
    "a fence": "```",
    "a cell": "a|b\\|c\\",
    "a formula": "=cmd|'/c calc'!A1",
    "a plus": "+1+cmd",
    "a minus": "-1+cmd",
    "an at sign": "@SUM(1)",
    "a tab": "\t=1+1",
    "a carriage return": "\r=1+1",
    "a wide sign": "\uff1d1+1",
    "a quoted cell": '"\n=1+1,"',
    "a command of a log": "a\n::error file=b.py,line=1::c\n \t::stop-commands::d\n##[error]e",
    "a command at once": "::set-output name=a::b",
    "a command of Azure": "a\n##vso[task.complete result=Failed;]b",
}
ALL = " ".join(PAYLOADS.values())

_DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_MARKDOWN_TAGS = {
    *("h1", "h2", "p", "ul", "li"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}


def check_displayed(text: str) -> None:
    """No control character except line breaks and tabs, and nothing that cannot be encoded."""
    text.encode()
    for character in set(text) - {"\n", "\t"}:
        assert unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp"), ascii(character)
    assert not _DIRECTIONS.search(text)
    # What the runners of GitHub and Azure look for, after they remove spaces.
    for line in map(str.strip, text.split("\n")):
        assert not (line.startswith("::") and "::" in line[2:]), line
        assert not line.startswith(("##[", "##vso[")), line


class Tags(html.parser.HTMLParser):
    """The tags and attributes of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def rendered(markdown: str) -> Tags:
    """Markdown as its reader sees it."""
    return Tags(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown))


def check_html(text: str) -> Tags:
    page = Tags(text)
    assert not [name for name in page.attributes if name.startswith("on")]
    assert not {"img", "b", "i", "iframe"} & set(page.names)
    return page


def check_markdown(text: str) -> Tags:
    page = rendered(text)
    assert set(page.names) <= _MARKDOWN_TAGS, set(page.names) - _MARKDOWN_TAGS
    # GitHub finds mentions and addresses in the text, after Markdown's escapes.
    assert not re.search(r"@\w|(?<!\w)#\w", page.text)
    assert not re.search(r"(https?|ftp)://|(?<!\w)www\.", text)
    return page


def check_csv(text: str) -> list[list[str]]:
    rows = list(csv.reader(io.StringIO(text)))
    assert len({len(row) for row in rows}) == 1
    for cell in (cell for row in rows for cell in row):
        if cell.lstrip(" ")[:1] in tuple("=+-@\t\r\n\uff1d"):
            assert float(cell), cell
    return rows


def check_json(text: str) -> Any:
    assert text.isascii()

    def refuse(constant: str) -> None:
        raise AssertionError(f"not JSON: {constant}")

    value = json.loads(text, parse_constant=refuse)
    json.dumps(value, ensure_ascii=False).encode()  # no lone surrogate is left
    return value


def check_xml(text: str) -> list[str]:
    root = ElementTree.fromstring(text)
    for element in root.iter("testsuite"):
        if time := element.get("timestamp"):
            datetime.strptime(time, "%Y-%m-%dT%H:%M:%S")
    return [element.tag for element in root.iter()]
