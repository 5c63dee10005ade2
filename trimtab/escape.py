"""The one way in which text from outside reaches each format of output.

Names in models, records, devices and files are written by others: they may hold terminal escapes,
Markdown, formulas, or lone surrogates that no encoder accepts. Everything that writes such text
escapes it here:

    text, line       a terminal, a log (of CI, too), plain text in a file; `line` has no line breaks
    markdown         one line of Markdown: a heading, an item of a list or a paragraph
    markdown_cell    a cell of a table in Markdown
    html, xml        text or an attribute's value in HTML; in XML, which includes SVG and JUnit
    csv_document     rows of a CSV file

JSON has one writer, too: `strict_json`.
Uses the standard library only.
"""

from __future__ import annotations

import csv
import html as standard_html
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_JOINERS = "\u200c\u200d"  # in the spelling of some languages, and inside of emoji

_MARKDOWN = re.compile(
    r"[\\`\[|~$]"  # code, links, pictures, cells, struck text, formulas
    r"|\*(?!\s|$)|(?<=\S)\*"  # emphasis; not a star between spaces
    r"|<(?=[a-z/!?])"  # tags
    r"|(?<![^\W_])_|_(?![^\W_])"  # emphasis; not an underscore inside a word
    r"|&(?=[#\w])"  # character references
    r"|:(?=//)|(?<=\bwww)\.",  # addresses that become links
    re.IGNORECASE,
)
# Quotes, headings, lists, rules, and underlines of headings.
_BLOCK = re.compile(r"^(?:>|#(?=[#\s]|$)|[*+-](?=[\s-]|$)|=(?==*$))")
_NUMBERED = re.compile(r"^(\d+)([.)])(?=\s|$)")
# A user, a team, an issue or an address of mail; GitHub looks for them after Markdown's escapes.
_REFERENCE = re.compile(r"(@|(?<!\w)#)(?=\w)")
_NO_SPACE = "&#8203;"  # a space without width

# What the log of a CI service takes as a command: "::error file=x::" (GitHub) and
# "##[error]" or "##vso[" (GitHub, Azure Pipelines), at the beginning of a line.
_COMMAND = re.compile(r"^(\s*)(?=::[\w-]+(?:[ \t][^\n]*)?::|##(?:vso)?\[)(.)", re.MULTILINE)

# What a spreadsheet evaluates, also in the wide forms that some of them accept.
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def text(source: str) -> str:
    r"""`source` with every character that is not displayed as a Python escape, such as \x1b.

    These are control characters and terminal escapes, marks that turn the direction of writing,
    lone surrogates and unassigned characters; and the first character of a line that is a command
    to the log of a CI service. Line breaks, tabs and all kinds of spaces stay.
    """
    if not source.isprintable():
        source = "".join(c if _is_displayed(c) else _python_escape(c) for c in source)
    if "::" in source or "##" in source:
        source = _COMMAND.sub(lambda command: f"{command[1]}\\x{ord(command[2]):02x}", source)
    return source


def line(source: str) -> str:
    """`text` on one line: line breaks and tabs are spaces."""
    return text(source if source.isprintable() else re.sub(r"[\n\t]", " ", source))


def markdown(source: str) -> str:
    """`source` as Markdown that shows it literally, on one line, wherever it stands.

    Nothing in it becomes markup, a link, or a mention that notifies somebody on GitHub.
    """
    return _NUMBERED.sub(r"\1\\\2", _BLOCK.sub(r"\\\g<0>", markdown_cell(source)))


def markdown_cell(source: str) -> str:
    """`markdown` for a cell of a table, where nothing begins a list or a heading."""
    source = _MARKDOWN.sub(r"\\\g<0>", " ".join(text(source).split()))
    return _REFERENCE.sub(rf"\1{_NO_SPACE}", source)


def html(source: str) -> str:
    """`source` as text or as a quoted attribute's value in HTML."""
    return standard_html.escape(text(source))


def xml(source: str) -> str:
    """`source` with the characters that XML cannot represent escaped as in `text`.

    For a library that writes XML, and escapes `<`, `&` and quotes by itself.
    """
    return text(source)


def csv_document(rows: Iterable[Sequence[object]]) -> str:
    """A CSV document with these rows; None is an empty cell.

    Numbers stay numbers. Text that a spreadsheet would evaluate as a formula begins with an
    apostrophe, which spreadsheets take as the mark of text.
    """
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerows([_cell(value) for value in row] for row in rows)
    return written.getvalue()


def texts_of(value: Any) -> Any:
    """A JSON value with `text` of every string in it, for a program that will display them."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {key: texts_of(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [texts_of(item) for item in value]
    return value


def _is_displayed(character: str) -> bool:
    if character.isprintable() or character in "\n\t" or character in _JOINERS:
        return True
    return unicodedata.category(character) == "Zs"


def _python_escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _cell(value: object) -> object:
    if value is None or isinstance(value, int | float):
        return value
    shown = text(str(value))
    if shown.lstrip(" ").startswith(_FORMULA) and not _is_number(shown):
        return f"'{shown}"
    return shown


def _is_number(source: str) -> bool:
    return re.fullmatch(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", source, re.ASCII | re.I) is not None
