"""Model formats and their operators, from the docstrings of importers and exporters."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any

from lab.docs.generator import block
from trimtab import exporters, importers, schema
from trimtab.exporters import Exporter
from trimtab.importers import Importer
from trimtab.tables import Column, Markup, Page, Table


@block
def written_formats() -> Page:
    """One section per format: the docstring of its exporter and a table of its emitters."""
    return [part for name, one in exporters.exporters().items() for part in _exporter(name, one)]


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


@block
def formats() -> Page:
    """One section per format: the docstring of its module and a table of its handlers."""
    by_name = importers.importers().items()
    return [part for name, importer in by_name for part in _section(name, importer)]


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
