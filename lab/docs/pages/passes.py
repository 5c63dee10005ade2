"""The table of passes."""

from __future__ import annotations

import inspect

from lab.docs.generator import block
from trimtab import passes as package
from trimtab.tables import Column, Markup, Page, Table


@block
def passes() -> Page:
    """Every pass in execution order, with the first paragraph of its docstring."""
    rows = [(Markup(f"`{name}`"), Markup(_summary(module))) for name, module in _passes()]
    return [Table([Column("pass"), Column("rewrite")], rows)]


def _passes() -> list[tuple[str, object]]:
    return list(package.passes().items())


def _summary(module: object) -> str:
    paragraph = (inspect.getdoc(module) or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).replace("|", "\\|")
