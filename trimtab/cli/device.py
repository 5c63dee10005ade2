"""Devices: their list, and the description, state and lease of one."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import argument, command, option
from trimtab.cli._options import TRUST_HELP
from trimtab.paths import PROGRAM

GROUP = "Devices"
NAMESPACE = "device"
RENAMED = {"devices": "device.show"}


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """Options of `device`."""

    name: tuple[str, ...] = option("device; without one: list all", ())
    trust_new: bool = option(TRUST_HELP, False)
    watch: bool = option(
        "clocks, temperatures, governors, load and lease, live; once in a pipe", False
    )
    json: bool = option("print JSON; with --watch one state", False)


@command(ShowOptions, default=True)
def show(options: ShowOptions) -> None:
    """Connect to a device and show its processor, memory, clock and temperature; or list all."""
    from trimtab.cli._progress import redraw
    from trimtab.devices import find_device, listing
    from trimtab.devices.control import monitor
    from trimtab.errors import UsageError

    if not options.name and not options.watch:
        print(listing.as_json() if options.json else listing.as_table().text())
        return
    if len(options.name) != 1:
        raise UsageError("which device?", hint=f"name one; {PROGRAM} device lists all")
    (name,) = options.name
    with find_device(name).open(trust_new=options.trust_new) as device:
        if options.watch and options.json:
            print(monitor.look(device).json())
        elif options.watch:
            redraw(lambda: monitor.look(device).text())
        elif options.json:
            print(listing.info_as_json(name, device.describe(), device.connection))
        else:
            print(listing.info_as_table(name, device.describe(), device.connection).text())


@dataclass(frozen=True, kw_only=True)
class UnlockOptions:
    """Options of `device.unlock`."""

    name: str = argument(f"device ({PROGRAM} device)")
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
