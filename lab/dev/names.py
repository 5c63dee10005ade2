"""Words that declared names must not have: the field has standard terms for them.

`lab.dev.words` reports them. In C++ the names of files, types, functions, constants and macros are
checked; in Python, in `trimtab` and `lab`, those of functions, classes, parameters and variables of
modules. Local variables, such as the one in `for one in rows`, and parameters of lambdas are not
checked; nor are fields, which are columns of results.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

CPP_WORDS = {
    "ask": "check or request",
    "aside": "partial",
    "eights": "the number, as in Depth8",
    "fives": "the number, as in Window5x5",
    "most": "max",
    "own": "what it belongs to, as in ThreadState",
    "place": "index, offset, position or location",
    "places": "indices, offsets, positions or locations",
    "real": "f32 or dequantized",
    "reals": "f32 or dequantized",
    "said": "status",
    "several": "group or count",
    "threes": "the number, as in Window3x3",
    "told": "what the value is",
    "turn": "iteration",
    "turns": "iterations, or interleaved",
    "twin": "copy or counterpart",
    "way": "method or schedule",
}
"""Words in names of C++, with the terms to write instead."""

PYTHON_WORDS = {
    "own": "what it belongs to",
    "places": "indices, offsets, positions or locations",
    "twin": "copy or counterpart",
    "twins": "copies or counterparts",
}
"""Words in names of Python, with the terms to write instead."""

NOT_A_NOUN = "one"
"""A name must not be this alone: it does not say what it is one of."""

# A kernel or operator named after bytes computes int8 values; what counts or copies bytes may stay.
INT8_IN_BYTES = re.compile(
    r"(?:Gemm|Depthwise|Winograd|Conv|Quantized)\w*Bytes|Bytes(?:Check|Tile)"
)
INT8_FOLDERS = ("kernels/", "bindings/kernel_passes/", "tests/kernels/")
PYTHON_FOLDERS = ("trimtab/", "lab/")

_CPP_NAME = re.compile(r"\b(?:TRIMTAB_[A-Z0-9_]+|k?[A-Z][a-z0-9]\w*)\b")
_CPP_IGNORED = re.compile(r"//[^\n]*|/\*.*?\*/|#\s*include[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

Def = ast.FunctionDef | ast.AsyncFunctionDef


def words_of(name: str) -> list[str]:
    """The words of a name in lower case; `in place` is one word, as it is a term."""
    words = [word.lower() for word in _WORD.findall(name)]
    return [w for i, w in enumerate(words) if w != "place" or words[i - 1 : i] != ["in"]]


def findings(path: str, source: str) -> Iterator[tuple[int, str]]:
    """(line, message) of each name with such a word, at its first occurrence in the file."""
    suffix = Path(path).suffix
    if suffix == ".py" and path.startswith(PYTHON_FOLDERS):
        yield from _messages(_python_names(ast.parse(source)), PYTHON_WORDS)
    elif suffix in {".h", ".cpp"}:
        stem = Path(path).stem
        yield from _messages([(1, stem)], CPP_WORDS)
        if path.startswith(INT8_FOLDERS) and "bytes" in words_of(stem):
            yield 1, f"`{stem}` computes int8 values: write 'i8'"
        for line, name in _cpp_names(source):
            yield from _messages([(line, name)], CPP_WORDS)
            if INT8_IN_BYTES.fullmatch(name):
                yield line, f"`{name}` computes int8 values: write 'I8'"


def _messages(
    names: Iterator[tuple[int, str]] | list[tuple[int, str]], terms: dict[str, str]
) -> Iterator[tuple[int, str]]:
    for line, name in names:
        words = words_of(name)
        for word in filter(terms.get, words):
            yield line, f"`{name}` has the word {word!r}: write {terms[word]}"
        if words == [NOT_A_NOUN]:
            yield line, f"`{name}` does not say what it is one of"


def _cpp_names(source: str) -> Iterator[tuple[int, str]]:
    """Names of types, functions, constants and macros, each once; none of comments and strings."""
    code = _CPP_IGNORED.sub(lambda match: "\n" * match[0].count("\n"), source)
    seen = set()
    for match in _CPP_NAME.finditer(code):
        if match[0] not in seen:
            seen.add(match[0])
            yield code.count("\n", 0, match.start()) + 1, match[0]


def _python_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Names of functions, classes and their parameters, and of variables of the module."""
    for statement in tree.body:
        targets: list[ast.expr] = []
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        elif isinstance(statement, ast.Assign):
            targets = statement.targets
        yield from ((t.lineno, t.id) for t in targets if isinstance(t, ast.Name))
    for node in ast.walk(tree):
        if isinstance(node, Def | ast.ClassDef):
            yield node.lineno, node.name
        if isinstance(node, Def):
            yield from ((a.lineno, a.arg) for a in ast.walk(node.args) if isinstance(a, ast.arg))
