"""Every bug that can be planted in a C++ source, found in its tokens.

clang-format writes spaces around binary operators, and none inside template arguments, which tells
`a < b` from `T<b>`. A mutant that does not compile is none: the campaign draws another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lab.mutate.mutants import Mutant

_SIGNS: dict[str, list[tuple[str, str]]] = {
    " < ": [("bound", " <= "), ("comparison", " >= ")],
    " <= ": [("bound", " < "), ("comparison", " > ")],
    " > ": [("bound", " >= "), ("comparison", " <= ")],
    " >= ": [("bound", " > "), ("comparison", " < ")],
    " == ": [("comparison", " != ")],
    " != ": [("comparison", " == ")],
    " && ": [("logic", " || ")],
    " || ": [("logic", " && ")],
    " + ": [("arithmetic", " - ")],
    " - ": [("arithmetic", " + ")],
    " * ": [("arithmetic", " / ")],
    "std::min(": [("choice", "std::max(")],
    "std::max(": [("choice", "std::min(")],
    "Min(": [("choice", "Max(")],
    "Max(": [("choice", "Min(")],
    " + 1": [("bound", "")],
    " - 1": [("bound", "")],
}
_SIGN = re.compile("|".join(re.escape(sign) for sign in sorted(_SIGNS, key=len, reverse=True)))
_PLUS_MINUS_ONE = re.compile(r" [+-] 1(?![\w.])")
_NUMBER = re.compile(r"(?<![\w.\"])(\d+)(?=[;,)\] ])")
_CHECK = re.compile(r"\bif \((?!constexpr)(.*)\) (?:return|continue|break)\b")
_NOT = re.compile(r"(?<=[( ])!(?=[\w(])")
_HIDDEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|^[ \t]*#[^\n]*(?:\\\n[^\n]*)*', re.S | re.M
)
_DECLARATION = re.compile(
    r"^\s*(?:template|using|static_assert|enum|case|constexpr|inline constexpr)\b"
)


def find(file: str, source: str) -> list[Mutant]:
    """All mutants of a source, by their place."""
    # Comments, texts and preprocessor lines become blanks, so that offsets stay.
    code = _HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)
    mutants: list[Mutant] = []
    offset = 0
    for number, line in enumerate(code.splitlines(keepends=True), 1):
        if not _DECLARATION.match(line):
            mutants += [
                Mutant(file, kind, number, offset + start, offset + end, text)
                for kind, start, end, text in _changes(line)
            ]
        offset += len(line)
    return mutants


def _changes(line: str) -> Iterator[tuple[str, int, int, str]]:
    """(kind, start, end, text) of each change of a line."""
    for match in _SIGN.finditer(line):
        for kind, text in _SIGNS.get(match[0], ()):
            if match[0] not in (" + 1", " - 1"):
                yield kind, *match.span(), text
    for match in _PLUS_MINUS_ONE.finditer(line):
        yield "bound", *match.span(), ""
    for match in _NUMBER.finditer(line):
        yield "constant", *match.span(), str(int(match[1]) + 1)
    for match in _CHECK.finditer(line):
        yield "check", *match.span(1), "false"
    for match in _NOT.finditer(line):
        yield "logic", *match.span(), ""
