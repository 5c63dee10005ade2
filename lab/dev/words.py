"""Checks the words of the project: docstrings, comments, messages, pages and names of values.

Reports docstrings that begin without a subject, participles as names of values, British spelling,
words that `docs/glossary.md` replaces (its third column), page lines with several sentences, and
words in declared names that `lab.dev.names` refuses.
`./inv lint` runs it on every tracked file; `python -m lab.dev.words PATH...` on some.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.dev import names, shell

GLOSSARY = "docs/glossary.md"

OPENINGS = (
    *("Of", "That", "Those", "As", "By", "What", "Who", "Which", "Where"),
    *("For what", "For which"),
)
"""Openings that a docstring must not have: they leave out its subject."""

PARTICIPLES = {
    *("found", "given", "wanted", "made", "kept", "told", "seen", "asked", "got", "said"),
    *("tried", "lost", "taken", "held", "known"),
}
"""Names that say how a value was obtained, not what it is."""

BRITISH = re.compile(
    r"\w*(?:quantis|optimis|normalis|equalis|recognis|canonicalis|initialis|synchronis|summaris"
    r"|serialis|minimis|randomis|neighbour|behaviour|favour|colour|modelled|(?<!aria-)labelled"
    r"|catalogue)\w*",
    re.IGNORECASE,
)

SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!vs)(?<=[\w)\]`\"*%])\.\s+(?=[A-Z`\[])")
"""The end of a sentence within a line of a page."""

C_COMMENT = re.compile(r"//+\s?(.*)|/\*(.*?)\*/")
HASH_COMMENT = re.compile(r"(?:^|\s)#\s?(.*)")
COMMENTS = {
    **dict.fromkeys((".cpp", ".h", ".c", ".inc", ".js"), C_COMMENT),
    ".toml": re.compile(r"(?:^|\s)#\s?(.*)|\w+\s*=\s*\"(.*)\""),
    ".sh": HASH_COMMENT,
}
TEXT_TOKENS = {
    tokenize.COMMENT,
    tokenize.STRING,
    getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING),  # since Python 3.12
}
# The glossary lists replaced words, and this module and its test name them.
UNCHECKED = {
    *(GLOSSARY, "lab/dev/words.py", "lab/dev/names.py"),
    *("tests/lab/test_dev_words.py", "tests/lab/test_dev_names.py"),
}


@dataclass(frozen=True)
class Finding:
    """One violation: its place and the change that fixes it."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class Replacement:
    """One word that the glossary replaces, as a pattern, and the term in its place."""

    pattern: re.Pattern[str]
    term: str


def replacements(glossary: str) -> list[Replacement]:
    """The words in the third column of the glossary's tables: `| term | meaning | word; word |`."""
    rows = [line.split("|")[1:-1] for line in glossary.splitlines() if line.startswith("|")]
    return [
        Replacement(re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])", re.IGNORECASE), term)
        for term, words in ((row[0].strip(), row[2]) for row in rows if len(row) == 3)
        for word in map(str.strip, words.split(";"))
        if word and word != "Not" and set(word) != {"-"}
    ]


def findings(path: str, source: str, words: Iterable[Replacement]) -> Iterator[Finding]:
    """Every violation in one file."""
    suffix = Path(path).suffix
    if suffix == ".py":
        yield from _names_and_docstrings(path, source)
    yield from (Finding(path, *finding) for finding in names.findings(path, source))
    for line, text in _texts(suffix, source):
        for replacement in words:
            for match in replacement.pattern.finditer(text):
                number = line + text.count("\n", 0, match.start())
                message = f"{match[0]!r}: write {replacement.term!r} ({GLOSSARY})"
                yield Finding(path, number, message)
        for match in BRITISH.finditer(text):
            yield Finding(path, line, f"{match[0]!r}: write it in American spelling")
        if suffix == ".md" and _is_paragraph(text) and SENTENCE_END.search(text):
            yield Finding(path, line, "write one sentence per line")


def _names_and_docstrings(path: str, source: str) -> Iterator[Finding]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node) or ""
            for opening in OPENINGS:
                if re.match(rf"{opening}\b", text):
                    line = node.body[0].lineno
                    message = f"docstring begins with {opening!r}: name its subject"
                    yield Finding(path, line, message)
        name = None
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        elif isinstance(node, ast.arg):
            name = node.arg
        if name in PARTICIPLES and isinstance(node, ast.Name | ast.arg):
            yield Finding(path, node.lineno, f"`{name}` does not say what the value is")


def _texts(suffix: str, source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of each docstring, comment, string or line of a page."""
    if suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in TEXT_TOKENS:
                yield token.start[0], token.string
    elif suffix == ".md":
        is_code = False
        for number, line in enumerate(source.splitlines(), 1):
            is_code ^= line.lstrip().startswith("```")
            if not is_code and not line.startswith("    "):
                yield number, re.sub(r"`[^`]*`", "``", re.sub(r"\]\([^)]*\)", "]", line))
    else:
        for number, line in enumerate(source.splitlines(), 1):
            for match in COMMENTS[suffix].finditer(line):
                yield number, next(filter(None, match.groups()), "")


def _is_paragraph(line: str) -> bool:
    """True for a line of running text: no table row, list item, heading or quotation."""
    return not re.match(r"\s*(?:[|*>#-]|\d+\.)", line)


def main(paths: list[str]) -> int:
    """Prints the violations in `paths`, by default in all tracked files; returns an exit code."""
    tracked = subprocess.check_output(["git", "ls-files", *paths], text=True, cwd=shell.ROOT)
    words = replacements((shell.ROOT / GLOSSARY).read_text(encoding="utf-8"))
    count = 0
    for path in tracked.splitlines():
        is_checked = Path(path).suffix in {".py", ".md", *COMMENTS} and path not in UNCHECKED
        if not is_checked or path.endswith(".min.js") or not (shell.ROOT / path).is_file():
            continue
        source = (shell.ROOT / path).read_text(encoding="utf-8")
        for finding in sorted(findings(path, source, words), key=lambda f: f.line):
            print(finding)
            count += 1
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
