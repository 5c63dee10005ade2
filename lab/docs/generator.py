"""Generated parts of the documentation's pages, and the pages of `docs/reference`.

A generated part of a page stands between two marks:

    <!-- made by ./inv docs: NAME -->
    <!-- end -->

NAME is a function decorated with `block` or `reference`, in the `page.py` of an experiment or in a
module of `lab/docs/pages/`. It returns Markdown or tables. Blocks are found by these file names.

What a `block` returns stands between the marks. What a `reference` returns is a page of its own,
`docs/reference/NAME.md`, which git ignores and a release contains; between the marks stand its
headline and a link to it.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile, zip_longest
from pathlib import Path

import lab
from lab.dev.words import SENTENCE_END
from lab.docs import pages
from trimtab import files, tables
from trimtab.errors import FileAccessError
from trimtab.tables import Page, Table

_MARK = "<!-- made by ./inv docs: "
_BEGIN = re.compile(f"^{_MARK}", re.MULTILINE)
_PART = re.compile(rf"^{_MARK}(\w+) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)

Make = Callable[[], str | Page]


@dataclass(frozen=True)
class PageBlock:
    """A generated part, which pages include by its name.

    `title`: that of its page in `docs/reference`; empty: it stands in the page that includes it.
    """

    name: str
    make: Make
    title: str = ""

    def text(self) -> str:
        """The Markdown that `make` returns, one sentence per line."""
        return _markdown(self._parts())

    def headline(self, target: str) -> str:
        """The paragraphs before the first table or heading, without captions and without what
        stands below the first line of a paragraph; then the link to `target`, the block's page.
        """
        lead = takewhile(lambda part: isinstance(part, str) and part[0] != "#", self._parts())
        lines = [str(part).splitlines()[0] for part in lead]
        lines = [line.replace("](#", f"]({target}#") for line in lines if line[-1] != ":"]
        link = f"`./inv docs` writes the page [{self.title}]({target})."
        return "\n".join([*map(_sentences, lines), link])

    def page(self, included_by: str) -> str:
        """The page in `docs/reference`. `included_by`: the link to the page that includes it."""
        source = f"{self.make.__module__.replace('.', '/')}.py"
        name = Path(included_by).name
        origin = f"`./inv docs` makes this page (`{source}`).\n[{name}]({included_by}) explains it."
        return f"# {self.title}\n\n{origin}\n\n{self.text()}\n"

    def _parts(self) -> Sequence[str | Table]:
        content = self.make()
        return [content] if isinstance(content, str) else content


def _markdown(parts: Sequence[str | Table]) -> str:
    return "\n".join(map(_sentences, tables.markdown(parts).splitlines()))


def _sentences(line: str) -> str:
    """Breaks a line of a paragraph or a list item after each sentence; keeps tables and code."""
    if line.startswith(("|", "#", "    ")):
        return line
    indent = "  " if line.startswith("* ") else ""
    return SENTENCE_END.sub(f".\n{indent}", line)


def block(make: Make) -> PageBlock:
    """Declares the function `make` as the block of its name, in the page that includes it."""
    return PageBlock(make.__name__, make)


def reference(title: str) -> Callable[[Make], PageBlock]:
    """Declares a function as the block of its name, with a page of its own in `docs/reference`."""
    return lambda make: PageBlock(make.__name__, make, title)


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


def renewed(path: Path) -> dict[Path, str]:
    """The text of a page with all blocks generated anew, and the pages of its references.

    FileAccessError, at the page, for a block without an end or with an unknown name.
    """
    where = str(path)
    references: dict[Path, str] = {}

    def part(match: re.Match[str]) -> str:
        name, old = match[1], match[2]
        if _BEGIN.search(old):
            raise FileAccessError(f"the block {name} has no end", where=where, hint="<!-- end -->")
        if name not in blocks():
            names = ", ".join(sorted(blocks()))
            raise FileAccessError(
                f"unknown block {name!r}", where=where, hint=f"use one of {names}"
            )
        item = blocks()[name]
        if not item.title:
            return f"{_MARK}{name} -->\n\n{item.text()}\n\n<!-- end -->"
        target = folder() / f"{name}.md"
        references[target] = item.page(_link(target, path))
        return f"{_MARK}{name} -->\n{item.headline(_link(path, target))}\n<!-- end -->"

    page = path.read_text(encoding="utf-8")
    text, count = _PART.subn(part, page)
    if count != len(_BEGIN.findall(page)):
        raise FileAccessError(
            "a block has no end, or an invalid name",
            where=where,
            hint=f"write {_MARK}NAME -->, and below it <!-- end -->, each on its own line",
        )
    return {path: text} | references


def _link(page: Path, to: Path) -> str:
    return Path(os.path.relpath(to, page.parent)).as_posix()


def every_page() -> dict[Path, str]:
    """The text that each page of this checkout should have, those of `docs/reference` included."""
    return {path: text for page in tracked() for path, text in renewed(page).items()}


def stale(texts: Mapping[Path, str]) -> list[Path]:
    """The pages that git tracks and that differ from `texts`, the result of `every_page`."""
    return [page for page in tracked() if page.read_text(encoding="utf-8") != texts[page]]


def difference(page: Path, text: str) -> str:
    """The first line of a page that is not that of `text`, with its block; "" if there is none."""
    name = page.stem if page.parent == folder() else ""
    lines = page.read_text(encoding="utf-8").splitlines(), text.splitlines()
    for number, (present, right) in enumerate(zip_longest(*lines), 1):
        if present != right:
            parts = (f"{what}: {line}" for what, line in (("there", present), ("right", right)))
            return "\n  ".join([f"{page}:{number}: block {name}", *parts])
        if match := _BEGIN.match(present):
            name = present[match.end() :].partition(" ")[0]
    return ""


def renew() -> list[Path]:
    """Writes the out-of-date pages, and all that are absent from `docs/reference`; removes those
    that are no more there. Returns the paths of written pages.
    """
    texts = every_page()
    changed = [
        path
        for path, text in texts.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path in changed:
        files.write_text(path, texts[path])
    for path in folder().glob("*.md"):
        if path not in texts:
            path.unlink()
    return changed


def folder() -> Path:
    """The folder of the pages that git ignores."""
    return lab.FOLDER.parent / "docs" / "reference"


def tracked() -> Iterator[Path]:
    """The pages of this checkout that git tracks."""
    root = lab.FOLDER.parent
    docs = (path for path in sorted((root / "docs").rglob("*.md")) if path.parent != folder())
    yield from (*sorted(root.glob("*.md")), *docs)
