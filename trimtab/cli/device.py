"""One device: what it is, what it does now, and who has it."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

GROUP = "Devices"
NAMESPACE = "device"


@task(
    default=True,
    help={
        "name": "which device (./inv devices)",
        "trust_new": "pin the host key of a device that was never seen",
        "watch": "clocks, temperatures, governors, load and lease, live; once in a pipe",
        "json": "as JSON on standard output; with --watch one state",
    },
)
def show(
    _: Context, name: str, trust_new: bool = False, watch: bool = False, json: bool = False
) -> None:
    """Connect to a device and tell its processor, memory, clock and temperature."""
    from trimtab.cli._progress import redraw
    from trimtab.devices import find_device, listing
    from trimtab.devices.control import monitor

    with find_device(name).open(trust_new=trust_new) as opened:
        if watch and json:
            print(monitor.look(opened).json())
        elif watch:
            redraw(lambda: monitor.look(opened).text())
        elif json:
            print(listing.info_as_json(name, opened.describe(), opened.connection))
        else:
            print(listing.info_as_table(name, opened.describe(), opened.connection).text())


@task(
    help={
        "name": "which device (./inv devices)",
        "force": "also from a measurement that may still go on: its runner is ended",
        "trust_new": "pin the host key of a device that was never seen",
    }
)
def unlock(_: Context, name: str, force: bool = False, trust_new: bool = False) -> None:
    """Take a device away from a measurement that has it and is gone."""
    from trimtab.devices import find_device
    from trimtab.devices.control import lease

    with find_device(name).open(trust_new=trust_new) as opened:
        print(f"{name}: {lease.unlock(opened, force=force)}")
