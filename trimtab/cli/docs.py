"""Pages of the documentation that the code writes."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task


@task
def docs(_: Context) -> None:
    """Bring what the code writes of docs/importers.md and docs/operators.md up to date."""
    from trimtab import files
    from trimtab.cli import _operator_page
    from trimtab.importers import _page

    formats, operators = _page.path(), _operator_page.path()
    files.write_text(formats, _page.updated(formats.read_text(encoding="utf-8")))
    files.write_text(operators, _operator_page.text())
    print(f"written: {formats}, {operators}")
