"""The list of devices."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option

GROUP = "Devices"


@dataclass(frozen=True, kw_only=True)
class DevicesOptions:
    """Options of `devices`."""

    json: bool = option("print JSON", False)


@command(DevicesOptions)
def devices(options: DevicesOptions) -> None:
    """List the devices that a binary can run on."""
    from trimtab.devices import listing

    print(listing.as_json() if options.json else listing.as_table().text())
