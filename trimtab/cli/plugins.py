"""Which plug-ins there are."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

GROUP = "Plug-ins"


@task(help={"json": "as JSON on standard output"})
def plugins(_: Context, json: bool = False) -> None:
    """List the plug-ins in use, what each brings, and what is wrong with those left out."""
    from trimtab.plugin_kit import listing as plugin_list

    table = plugin_list.table()
    print(table.json() if json else table.text())
