"""Ends a process group on the device, and the errors of a command that took too long."""

from __future__ import annotations

from trimtab.devices import scripts
from trimtab.devices.protocol import CommandResult
from trimtab.errors import DeviceTimeoutError, DeviceUnreachableError


def end_script(group: int) -> str:
    """The script that ends a process group, and prints "ended" if that was observed."""
    return scripts.script("end_group", str(group))


def is_ended(result: CommandResult) -> bool:
    """Whether the output of `end_script` confirms the end of the group."""
    return result.stdout.split() == [b"ended"]


def timed_out(device: str, command: str, timeout_s: float, is_ended: bool) -> DeviceTimeoutError:
    """The error of a command that took too long. It claims only what was observed."""
    fate = "ended there" if is_ended else "it may still run there"
    return DeviceTimeoutError(
        f"no end after {timeout_s:g} s, {fate}: {command[-200:]}",
        where=device,
        hint="give it more time (--timeout), or check what the device does"
        if is_ended
        else "the watchdog there ends a runner whose lease is not renewed",
    )


def frozen(device: str, command: str, timeout_s: float) -> DeviceUnreachableError:
    """The error of a command that took too long on a device that has stopped answering."""
    return DeviceUnreachableError(
        f"no end after {timeout_s:g} s, and the device does not answer; it may still run there: "
        f"{command[-200:]}",
        where=device,
        hint="check its network or cable; the watchdog there ends a runner whose lease is not "
        "renewed",
    )
