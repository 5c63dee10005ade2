"""Which devices there are."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

GROUP = "Devices"


@task(help={"json": "as JSON on standard output"})
def devices(_: Context, json: bool = False) -> None:
    """List the devices that a binary can run on."""
    from trimtab.devices import listing

    print(listing.as_json() if json else listing.as_table().text())
