"""The table of heads."""

from __future__ import annotations

import inspect

from lab.docs.generator import block
from trimtab import heads as package
from trimtab.tables import Column, Markup, Page, Table


@block
def heads() -> Page:
    """Every head with the first paragraph of its docstring."""
    rows = [(Markup(f"`{name}`"), Markup(_summary(name))) for name in package.names()]
    return [Table([Column("head"), Column("reads")], rows)]


def _summary(name: str) -> str:
    paragraph = (inspect.getdoc(package.find(name)) or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).replace("|", "\\|")
