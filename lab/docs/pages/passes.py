"""The table of passes."""

from __future__ import annotations

import inspect

from lab.docs.generator import reference
from trimtab import passes as package
from trimtab.tables import Column, Markup, Page, Table


@reference("Passes in order")
def passes() -> Page:
    """Every pass in execution order, with the first paragraph of its docstring."""
    rows = [(Markup(f"`{name}`"), Markup(_summary(module))) for name, module in _passes()]
    names = ", ".join(f"`{name}`" for name, _ in _passes())
    table = Table([Column("pass"), Column("rewrite")], rows)
    return [f"{len(rows)} passes, in the order of execution: {names}.", table]


def _passes() -> list[tuple[str, object]]:
    return list(package.passes().items())


def _summary(module: object) -> str:
    paragraph = (inspect.getdoc(module) or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).replace("|", "\\|")
