"""Model formats and their operators, from the docstrings of importers and exporters."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from lab.docs.generator import reference
from trimtab import exporters, importers, schema
from trimtab.exporters import Exporter
from trimtab.importers import Importer
from trimtab.tables import Column, Markup, Page, Table


@reference("Operators that exporters write")
def written_formats() -> Page:
    """One section per format: the docstring of its exporter and a table of its emitters."""
    return _indexed(_exporter(*item) for item in exporters.exporters().items())


def _exporter(name: str, exporter: Exporter) -> Iterator[str | Table]:
    title, *text = _paragraphs(exporter)
    yield f"## {re.split(r'[:.]| [(]', title.removeprefix('Writes '))[0]}"
    yield from (title, *text)
    graph = importlib.import_module(f"{exporters.__name__}.{name}_ops.graph")
    forms = {t: _paragraphs(emitter)[0] for t, emitter in graph.EMITTERS.all().items()}
    if name == "onnx":
        own = schema.operators().values()
        forms = {op.name: f"Writes {op.onnx}." for op in own if op.onnx} | forms
    rows = [(Markup(f"`{type}`"), Markup(form)) for type, form in sorted(forms.items())]
    yield Table([Column("operator"), Column("form")], rows)


@reference("Operators that importers read")
def formats() -> Page:
    """One section per format: the docstring of its module and a table of its handlers."""
    return _indexed(_section(*item) for item in importers.importers().items())


def _indexed(sections: Iterable[Iterable[str | Table]]) -> Page:
    """Sections, below a line for each that has a table: the names in its first column."""
    index, parts = [], list[str | Table]()
    for section in map(list, sections):
        heading, *_, table = section
        if isinstance(table, Table):
            names = ", ".join(row[0] for row in table.rows)
            index.append(f"{str(heading).removeprefix('## ')}: {names}.")
        parts += section
    return [*index, *parts]


def _section(name: str, importer: Importer) -> Iterator[str | Table]:
    title, *text = _paragraphs(importer)
    suffixes = ", ".join(f"`{suffix}`" for suffix in importer.SUFFIXES)
    yield f"## {re.split(r'[:.]| [(]', title)[0]}"
    yield from (title, f"Files: {suffixes}.", *text)
    yield from _operators(name)


def _operators(name: str) -> Iterator[Table]:
    """One row per handler, in the order of the source."""
    if f"{name}_ops" not in {m.name for m in pkgutil.iter_modules(importers.__path__) if m.ispkg}:
        return
    network = importlib.import_module(f"{importers.__name__}.{name}_ops.network")
    handlers: dict[Callable[..., Any], list[str]] = {}
    for operator, handler in network.HANDLERS.items():
        handlers.setdefault(handler, []).append(f"`{operator}`")
    yield Table(
        [Column("operators"), Column("translation and supported forms")],
        [
            (Markup(", ".join(operators)), Markup(_paragraphs(handler)[0]))
            for handler, operators in handlers.items()
        ],
    )


def _paragraphs(documented: Importer | Exporter | Callable[..., Any]) -> list[str]:
    """The paragraphs of a docstring, each on one line."""
    text = inspect.getdoc(documented) or ""
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
