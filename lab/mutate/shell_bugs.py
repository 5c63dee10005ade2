"""Every bug that can be planted in a shell script, found in its words.

Comments, formats of `printf` and numbers of descriptors stay. A mutant that the shell cannot read
is none: the campaign draws another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lab.mutate.mutants import Mutant

_SIGNS: dict[str, list[tuple[str, str]]] = {
    " = ": [("comparison", " != ")],
    " != ": [("comparison", " = ")],
    " -eq ": [("comparison", " -ne ")],
    " -ne ": [("comparison", " -eq ")],
    " -lt ": [("bound", " -le "), ("comparison", " -ge ")],
    " -le ": [("bound", " -lt "), ("comparison", " -gt ")],
    " -gt ": [("bound", " -ge "), ("comparison", " -le ")],
    " -ge ": [("bound", " -gt "), ("comparison", " -lt ")],
    " && ": [("logic", " || ")],
    " || ": [("logic", " && ")],
}
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
_ARITHMETIC = {"+": "-", "-": "+", "*": "/"}
_SUM = re.compile(r"\$\(\(([^()]*)\)\)")
_PLUS_MINUS_ONE = re.compile(r"[+-]1(?!\w)")
# Not those of `[0-9]`, and not 1 as "true" or as any failure.
_NUMBER = re.compile(r"(?<![\w.$&{/\[-])(?<!=)(?<!exit )(?<!return )(?:0|[1-9]\d*)(?![\w.}><])"
                     r"|(?<==)0(?![\w.])|(?<=exit )(?!1\b)\d+|(?<=return )0\b")  # fmt: skip
_TEST = re.compile(r"(?<=\[ )(-[a-zA-Z] )")
_CHECK = re.compile(r"\b(?:el)?if (.*?); then\b")
_COMMENT = re.compile(r"(?m)(?:^|(?<=\s))#.*|printf '[^']*'")
# A line that is one command, and nothing that another line depends on.
_OTHERS = "if|for|while|case|else|fi|done|esac|then|do|exit|return|true"
_STEP = re.compile(rf"^\s*((?!(?:{_OTHERS})\b)[a-z]\w*(?: [^|&;(){{}}\\]*)?)$")


def find(file: str, source: str) -> list[Mutant]:
    """All mutants of a script, by their place."""
    # Comments become blanks, so that offsets stay.
    code = _COMMENT.sub(lambda match: " " * len(match[0]), source)
    mutants: list[Mutant] = []
    offset = 0
    for number, line in enumerate(code.splitlines(keepends=True), 1):
        mutants += [
            Mutant(file, kind, number, offset + start, offset + end, text)
            for kind, start, end, text in _changes(line)
        ]
        offset += len(line)
    return mutants


def _changes(line: str) -> Iterator[tuple[str, int, int, str]]:
    """(kind, start, end, text) of each change of a line."""
    for match in _SIGN.finditer(line):
        for kind, text in _SIGNS[match[0]]:
            yield kind, *match.span(), text
    for match in _SUM.finditer(line):
        for at, sign in enumerate(match[1], match.start(1)):
            if sign in _ARITHMETIC:
                yield "arithmetic", at, at + 1, _ARITHMETIC[sign]
        for one in _PLUS_MINUS_ONE.finditer(match[1]):
            yield "bound", match.start(1) + one.start(), match.start(1) + one.end(), ""
    for match in _NUMBER.finditer(line):
        yield "constant", *match.span(), str(int(match[0]) + 1)
    for match in _TEST.finditer(line):
        yield "logic", match.start(), match.start(), "! "
    for match in _CHECK.finditer(line):
        yield "check", *match.span(1), "false"
    if step := _STEP.match(line.rstrip()):
        yield "step", *step.span(1), ":"
