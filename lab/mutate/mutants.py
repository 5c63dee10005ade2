"""Planted bugs: one small change of one source line."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = {
    "bound": "a bound is off by one: `<` and `<=`, `>` and `>=`, `n + 1` and `n`",
    "check": "a condition that ends in an error, a return or a jump is never true",
    "comparison": "a comparison is turned: `==` and `!=`, `<` and `>=`, `in` and `not in`",
    "constant": "a number is one larger, or a truth value is the other one",
    "logic": "`and` and `or` are exchanged, or a `not` is left out",
    "arithmetic": "`+` and `-`, or `*` and `/`, are exchanged",
    "choice": "`min` and `max`, or `any` and `all`, are exchanged",
    "step": "a call whose result is not used is left out",
}
"""The kinds of bugs, with what each changes."""


@dataclass(frozen=True)
class Mutant:
    """One planted bug. `start` and `end` are offsets in the file's text, `text` replaces what lies
    between them; `line` counts from 1.
    """

    file: str
    kind: str
    line: int
    start: int
    end: int
    text: str

    def applied(self, source: str) -> str:
        """The source with the bug."""
        return source[: self.start] + self.text + source[self.end :]

    def before(self, source: str) -> str:
        """The first changed line without the bug, without indentation."""
        return source.splitlines()[self.line - 1].strip()

    def after(self, source: str) -> str:
        """The same line with the bug."""
        return self.applied(source).splitlines()[self.line - 1].strip()
