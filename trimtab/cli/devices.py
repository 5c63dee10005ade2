"""Which devices there are, and whether one of them answers."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task


@task(help={"json": "as JSON on standard output"})
def devices(_: Context, json: bool = False) -> None:
    """List the devices that a binary can run on."""
    from trimtab.devices import listing

    print(listing.as_json() if json else listing.as_table().text())


@task(
    help={
        "name": "which device (./inv devices)",
        "trust_new": "pin the host key of a device that was never seen",
        "json": "as JSON on standard output",
    }
)
def device(_: Context, name: str, trust_new: bool = False, json: bool = False) -> None:
    """Connect to a device and tell its processor, memory, clock and temperature."""
    from trimtab.devices import find_device, listing

    with find_device(name).open(trust_new=trust_new) as opened:
        info = opened.describe()
    if json:
        print(listing.info_as_json(name, info))
    else:
        print(listing.info_as_table(name, info).text())
