"""One device: its description, its state, and its lease."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import argument, command, option
from trimtab.cli._options import TRUST_HELP

GROUP = "Devices"
NAMESPACE = "device"


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """Options of `device`."""

    name: str = argument("device (./inv devices)")
    trust_new: bool = option(TRUST_HELP, False)
    watch: bool = option(
        "clocks, temperatures, governors, load and lease, live; once in a pipe", False
    )
    json: bool = option("print JSON; with --watch one state", False)


@command(ShowOptions, default=True)
def show(options: ShowOptions) -> None:
    """Connect to a device and show its processor, memory, clock and temperature."""
    from trimtab.cli._progress import redraw
    from trimtab.devices import find_device, listing
    from trimtab.devices.control import monitor

    with find_device(options.name).open(trust_new=options.trust_new) as device:
        if options.watch and options.json:
            print(monitor.look(device).json())
        elif options.watch:
            redraw(lambda: monitor.look(device).text())
        elif options.json:
            print(listing.info_as_json(options.name, device.describe(), device.connection))
        else:
            print(listing.info_as_table(options.name, device.describe(), device.connection).text())


@dataclass(frozen=True, kw_only=True)
class UnlockOptions:
    """Options of `device.unlock`."""

    name: str = argument("device (./inv devices)")
    force: bool = option(
        "also if the measurement may still be running: this ends its runner", False
    )
    trust_new: bool = option(TRUST_HELP, False)


@command(UnlockOptions)
def unlock(options: UnlockOptions) -> None:
    """Remove the stale lease of a device whose holder has died."""
    from trimtab.devices import find_device
    from trimtab.devices.control import lease

    with find_device(options.name).open(trust_new=options.trust_new) as device:
        print(f"{options.name}: {lease.unlock(device, force=options.force)}")
