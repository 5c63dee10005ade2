"""The watchdog on the device, and the note that lets it find a runner.

A launch under a lease notes its process, which leads its group, in the folder of the lease. The
watchdog checks the lease. When nobody renews it, because the link is cut or frozen or this process
was stopped or killed, it ends that group and restores what the measurement has changed.
"""

from __future__ import annotations

from trimtab.devices import scripts
from trimtab.devices.control import lease
from trimtab.devices.protocol import Device


def start(device: Device, root: str, number: int) -> None:
    """Starts the watchdog of lease `number`. It outlives the connection, not the lease."""
    text = lease.script(device, root, "watch", number, device.limits.watch_s)
    device.shell(scripts.script("start_detached", text), "start the watchdog")


def launch_note(folder: str) -> str:
    """The script before a launch: it notes the process in the lease's folder, or exits."""
    return scripts.script("note_launch", folder)
