"""Pages of the documentation that the code writes."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task


@task
def docs(_: Context) -> None:
    """Bring what the code writes of the pages on importers, operators and cores up to date."""
    from trimtab import files
    from trimtab.cli import _core_page, _operator_page
    from trimtab.importers import _page

    formats, operators = _page.path(), _operator_page.path()
    cores = _core_page.path()
    files.write_text(formats, _page.updated(formats.read_text(encoding="utf-8")))
    files.write_text(operators, _operator_page.text())
    files.write_text(cores, _core_page.updated(cores.read_text(encoding="utf-8")))
    print(f"written: {formats}, {operators}, {cores}")
