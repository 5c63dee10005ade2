"""Pages of the documentation, as far as the code writes them.

A part of a page that is made stands between two marks:

    <!-- made by ./inv docs: NAME -->
    <!-- end -->

NAME is a function with the decorator `block` in a module of this package; what it returns, Markdown
or a page of tables, takes the part's place. There is no list to edit.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from trimtab import files, paths, tables
from trimtab.errors import FileAccessError
from trimtab.tables import Page

_MARK = "<!-- made by ./inv docs: "
_BEGIN = re.compile(f"^{_MARK}", re.MULTILINE)
_PART = re.compile(rf"^{_MARK}(\w+) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A part that pages can ask for by its name."""

    name: str
    make: Callable[[], str | Page]

    def text(self) -> str:
        """What stands between the marks."""
        made = self.make()
        return made if isinstance(made, str) else tables.markdown(made)


def block(make: Callable[[], str | Page]) -> Block:
    """Lets pages ask for what `make` returns, under its name."""
    return Block(make.__name__, make)


@cache
def blocks() -> dict[str, Block]:
    """All parts there are, by name."""
    found: dict[str, Block] = {}
    for info in pkgutil.iter_modules(__path__):
        for item in vars(importlib.import_module(f"{__name__}.{info.name}")).values():
            if isinstance(item, Block):
                assert found.setdefault(item.name, item) is item, f"two blocks {item.name}"
    return found


def renewed(page: str, where: str) -> str:
    """The text of a page with its parts as the code writes them now.

    FileAccessError, at `where`, for a part without its end or of a name that nobody makes.
    """

    def part(match: re.Match[str]) -> str:
        name, old = match[1], match[2]
        if _BEGIN.search(old):
            raise FileAccessError(f"the part {name} has no end", where=where, hint="<!-- end -->")
        if name not in blocks():
            known = ", ".join(sorted(blocks()))
            raise FileAccessError(f"nobody makes {name!r}", where=where, hint=f"known: {known}")
        return f"{_MARK}{name} -->\n\n{blocks()[name].text()}\n\n<!-- end -->"

    made, count = _PART.subn(part, page)
    if count != len(_BEGIN.findall(page)):
        raise FileAccessError(
            "a part has no end, or an odd name",
            where=where,
            hint=f"write {_MARK}NAME -->, and below it <!-- end -->, each in a line of its own",
        )
    return made


def stale() -> dict[Path, str]:
    """The pages of this checkout that are not what the code writes, with what it writes.

    FileAccessError where there are no pages, in an installed trimtab.
    """
    found = {}
    for path in _pages():
        page = path.read_text(encoding="utf-8")
        if (made := renewed(page, str(path))) != page:
            found[path] = made
    return found


def renew() -> list[Path]:
    """Writes the stale pages; returns which these were."""
    written = stale()
    for path, made in written.items():
        files.write_text(path, made)
    return [*written]


def _pages() -> Iterator[Path]:
    root = paths.root()
    if not (root / "docs").is_dir():
        raise FileAccessError(
            "there are no pages", where=str(root), hint="they belong to a checkout of the sources"
        )
    yield from (*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md")))
