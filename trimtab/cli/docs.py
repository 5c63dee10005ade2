"""Pages of the documentation that the code writes."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task


@task
def docs(_: Context) -> None:
    """Bring the generated part of docs/importers.md up to date."""
    from trimtab import files
    from trimtab.importers import _page

    page = _page.path()
    files.write_text(page, _page.updated(page.read_text(encoding="utf-8")))
    print(f"written: {page}")
