"""Generated parts of the documentation's pages.

A generated part of a page stands between two marks:

    <!-- made by ./inv docs: NAME -->
    <!-- end -->

NAME is a function decorated with `block`, in the `page.py` of an experiment or in a module of
`lab/docs/pages/`. It returns Markdown or tables. Blocks are found by these file names.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import lab
from lab.dev.words import SENTENCE_END
from lab.docs import pages
from trimtab import files, tables
from trimtab.errors import FileAccessError
from trimtab.tables import Page

_MARK = "<!-- made by ./inv docs: "
_BEGIN = re.compile(f"^{_MARK}", re.MULTILINE)
_PART = re.compile(rf"^{_MARK}(\w+) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class PageBlock:
    """A generated part, which pages include by its name."""

    name: str
    make: Callable[[], str | Page]

    def text(self) -> str:
        """The Markdown between the marks, one sentence per line."""
        content = self.make()
        text = content if isinstance(content, str) else tables.markdown(content)
        return "\n".join(map(_sentences, text.splitlines()))


def _sentences(line: str) -> str:
    """Breaks a line of a paragraph or a list item after each sentence; keeps tables and code."""
    if line.startswith(("|", "#", "    ")):
        return line
    indent = "  " if line.startswith("* ") else ""
    return SENTENCE_END.sub(f".\n{indent}", line)


def block(make: Callable[[], str | Page]) -> PageBlock:
    """Declares the function `make` as the block of its name."""
    return PageBlock(make.__name__, make)


@cache
def blocks() -> dict[str, PageBlock]:
    """All blocks by name."""
    names = [info.name for info in pkgutil.iter_modules(pages.__path__)]
    modules = [importlib.import_module(f"{pages.__name__}.{name}") for name in names]
    by_name: dict[str, PageBlock] = {}
    for module in (*lab.modules("page"), *modules):
        for item in vars(module).values():
            if isinstance(item, PageBlock):
                assert by_name.setdefault(item.name, item) is item, f"two blocks {item.name}"
    return by_name


def renewed(page: str, where: str) -> str:
    """The text of a page with all blocks generated anew.

    FileAccessError, at `where`, for a block without an end or with an unknown name.
    """

    def part(match: re.Match[str]) -> str:
        name, old = match[1], match[2]
        if _BEGIN.search(old):
            raise FileAccessError(f"the block {name} has no end", where=where, hint="<!-- end -->")
        if name not in blocks():
            names = ", ".join(sorted(blocks()))
            raise FileAccessError(
                f"unknown block {name!r}", where=where, hint=f"use one of {names}"
            )
        return f"{_MARK}{name} -->\n\n{blocks()[name].text()}\n\n<!-- end -->"

    text, count = _PART.subn(part, page)
    if count != len(_BEGIN.findall(page)):
        raise FileAccessError(
            "a block has no end, or an invalid name",
            where=where,
            hint=f"write {_MARK}NAME -->, and below it <!-- end -->, each on its own line",
        )
    return text


def stale() -> dict[Path, str]:
    """The out-of-date pages of this checkout, with their new text."""
    changed = {}
    for path in _paths():
        page = path.read_text(encoding="utf-8")
        if (text := renewed(page, str(path))) != page:
            changed[path] = text
    return changed


def renew() -> list[Path]:
    """Writes the out-of-date pages; returns their paths."""
    changed = stale()
    for path, text in changed.items():
        files.write_text(path, text)
    return [*changed]


def _paths() -> Iterator[Path]:
    root = lab.FOLDER.parent
    yield from (*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md")))
