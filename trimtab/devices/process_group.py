"""Ends a process group on the device, and the errors of a command that took too long."""

from __future__ import annotations

from trimtab.devices import scripts
from trimtab.devices.protocol import CommandResult
from trimtab.errors import DeviceTimeoutError, DeviceUnreachableError


def end_script(group: int) -> str:
    """The script that ends a process group, and prints "ended" if that was observed."""
    return scripts.script("end_group", str(group))


def is_ended(result: CommandResult) -> bool:
    """Whether what `end_script` printed says that the group's end was seen."""
    return result.stdout.split() == [b"ended"]


def timed_out(device: str, command: str, timeout_s: float, is_ended: bool) -> DeviceTimeoutError:
    """The error of a command that took too long, which says no more than what was seen."""
    fate = "ended there" if is_ended else "it may still run there"
    return DeviceTimeoutError(
        f"no end after {timeout_s:g} s, {fate}: {command[-200:]}",
        where=device,
        hint="give it longer (--timeout), or look at what the device does"
        if is_ended
        else "the watchdog there ends a runner whose lease is not renewed; the next run looks",
    )


def frozen(device: str, command: str, timeout_s: float) -> DeviceUnreachableError:
    """The error of a command that took too long on a device that does not answer any more."""
    return DeviceUnreachableError(
        f"no end after {timeout_s:g} s, and the device does not answer; it may still run there: "
        f"{command[-200:]}",
        where=device,
        hint="is its network or cable well? The watchdog there ends a runner whose lease is not "
        "renewed; the next run looks",
    )
