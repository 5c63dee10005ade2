"""The part of docs/importers.md that the importers themselves say: formats and their operators."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from trimtab import importers, paths
from trimtab.errors import FileAccessError
from trimtab.importers import Importer

BEGIN = "<!-- from here on written by `./inv docs` -->\n"
END = "<!-- to here -->\n"


def path() -> Path:
    """Where the page lies in a checkout."""
    return paths.root() / "docs" / "importers.md"


def updated(page: str) -> str:
    """`page` with what the code says now between its two markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise FileAccessError(
            "lacks the marks of its generated part",
            where=str(path()),
            hint=f"put back {BEGIN.strip()} and {END.strip()}",
        )
    return before + begin + "".join(_formats()) + end + after


def _formats() -> Iterator[str]:
    for name, importer in importers.importers().items():
        title, *text = _paragraphs(importer)
        suffixes = ", ".join(f"`{suffix}`" for suffix in importer.SUFFIXES)
        yield f"\n## {re.split(r'[:.]| [(]', title)[0]}\n\n"
        yield "\n\n".join((title, f"Files: {suffixes}.", *text)) + "\n"
        yield from _operators(name)


def _operators(name: str) -> Iterator[str]:
    """A row per handler, in the order of the source."""
    if f"{name}_ops" not in {m.name for m in pkgutil.iter_modules(importers.__path__) if m.ispkg}:
        return
    network = importlib.import_module(f"{importers.__name__}.{name}_ops.network")
    rows: dict[Callable[..., Any], list[str]] = {}
    for operator, handler in network.HANDLERS.items():
        rows.setdefault(handler, []).append(operator)
    yield "\n| operators | what they do, and what is supported |\n|---|---|\n"
    for handler, operators in rows.items():
        names = ", ".join(f"`{operator}`" for operator in operators)
        text = _paragraphs(handler)[0].replace("|", "\\|")
        yield f"| {names} | {text} |\n"


def _paragraphs(documented: Importer | Callable[..., Any]) -> list[str]:
    """The paragraphs of a docstring, each on one line."""
    text = inspect.getdoc(documented) or ""
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
