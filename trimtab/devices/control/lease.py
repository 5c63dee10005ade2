"""The lease of a device, which lies on the device itself: one measurement at a time.

A lease is a folder `N`, made by `mkdir`, which is atomic. The highest N counts, and the next holder
makes N + 1. A folder names its holder, the boot, and its end in seconds of the device's uptime, a
clock that nobody sets. The holder renews it. A lease that ran out, or of another boot, is free.
Whoever takes over ends the stale runner and restores a changed governor. Everybody who can log in
takes part, because the folder is writable for all.
"""

from __future__ import annotations

import getpass
import os
import posixpath
import re
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from trimtab.devices import printed, scripts
from trimtab.devices.protocol import NO_ROOM, Device
from trimtab.errors import (
    DeviceBusyError,
    DeviceError,
    DeviceRebootedError,
    DeviceUnreachableError,
)
from trimtab.paths import PROGRAM

_ASK_S = 1.0
_MOST_RACES = 200
_MOST_SECONDS = 999_999_999  # that lease.sh reads as a number
_MOST_BYTES = 64 * 1024  # of what lease.sh prints: a holder, and each runner that was ended
_OWNER = ("owner", "purpose", "pid", "machine", "started", "since")  # the keys of `owner`


@dataclass(frozen=True)
class LeaseHolder:
    """The holder of lease `number`. Times are on this machine's clock.

    `machine`: the holder's machine and boot. `started`: the start time of its process.
    """

    number: int
    owner: str
    purpose: str
    pid: int
    since: datetime
    until: datetime
    machine: str
    started: str

    def __str__(self) -> str:
        return (
            f"{self.owner} ({self.purpose}, process {self.pid}) since {self.since:%H:%M:%S}, "
            f"until {self.until:%H:%M:%S} unless it is renewed"
        )

    @property
    def has_died(self) -> bool:
        """Whether it was a process of this machine that has ended."""
        return self.machine == this_machine() and self.started != start_of(self.pid)


class Lease:
    """A lease of ours until `release`; a thread renews it.

    `root`: the folder of all leases. `cleaned_up`: what the takeover ended, "" for nothing.
    """

    def __init__(self, device: Device, number: int, root: str, cleaned_up: str) -> None:
        self._device = device
        self.root, self.number, self.cleaned_up = root, number, cleaned_up
        self._failure: DeviceError | None = None
        self._renewed_at = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    @property
    def folder(self) -> str:
        """The lease's own folder on the device."""
        return posixpath.join(self.root, str(self.number))

    def check(self) -> None:
        """Raises an error if the lease is gone, as far as this machine knows.

        `DeviceBusyError` if another holder has it, `DeviceUnreachableError` if it could not be
        renewed in time.
        """
        if (
            self._failure is None
            and time.monotonic() - self._renewed_at > self._device.limits.lease_s
        ):
            self._failure = self._ran_out()
        if self._failure is not None:
            raise self._failure

    def confirm(self) -> None:
        """Renews and checks the lease. Without it a launch may have had company on the device.

        Raises as `check`, and `DeviceRebootedError`.
        """
        try:
            self._renew(self._device)
        except DeviceRebootedError:
            raise
        except DeviceError:
            pass  # the link may come back in time
        self.check()

    def release(self) -> None:
        """Ends the lease. Raises what the transport raises."""
        self._stop.set()
        self._thread.join(self._device.limits.renew_s)
        text = script(self._device, self.root, "release", self.number)
        self._device.shell(text, "release the lease", limit_bytes=_MOST_BYTES)

    def note(self, lines: Sequence[str]) -> None:
        """Stores how a watchdog or the next holder reverts what this one changes (lease.sh)."""
        text = script(self._device, self.root, "note", self.number, *lines)
        self._device.shell(text, "store how to restore the governor", limit_bytes=_MOST_BYTES)

    def _keep(self) -> None:
        """Renews over a separate connection.

        Some servers (dropbear) mix up two commands of a connection that begin or end together.
        """
        pause_s = self._device.limits.renew_s
        while not self._stop.wait(pause_s) and not self._failure:
            with suppress(DeviceError), self._device.clone() as own:  # `check` decides
                self._renew(own)
                while not self._stop.wait(pause_s) and not self._failure:
                    self._renew(own)

    def _renew(self, device: Device) -> None:
        now = time.monotonic()
        text = script(device, self.root, "renew", self.number, device.limits.lease_s)
        lines = device.shell(text, "renew the lease", limit_bytes=_MOST_BYTES).splitlines()
        if lines == ["renewed"]:
            self._renewed_at = now
        elif lines == ["free"]:
            self._failure = self._ran_out()
        else:
            holder = holder_of(lines)
            self._failure = DeviceBusyError(
                f"the lease of the device is lost: taken {f'by {holder}' if holder else 'away'}",
                where=self._device.name,
                hint=f"measure again; `{PROGRAM} device {self._device.name} --watch` shows who",
            )

    def _ran_out(self) -> DeviceError:
        return DeviceUnreachableError(
            "the lease of the device is lost: it could not be renewed for "
            f"{self._device.limits.lease_s} s",
            where=self._device.name,
            hint="measure again; was this machine asleep, or the link down?",
        )


def acquire(device: Device, purpose: str, *, wait_s: float, note: Callable[[str], None]) -> Lease:
    """Acquires the lease of a device, and waits up to `wait_s` for its holder.

    Stale runners of earlier runs are ended; the lease's `cleaned_up` names them. Raises a
    `DeviceBusyError` that names the holder.
    """
    deadline, force, is_noted, races = time.monotonic() + wait_s, -1, False, 0
    while True:
        lines = _claim(device, purpose, force)
        if claimed := _taken(lines[-1]):
            return Lease(device, *claimed, "; ".join(lines[:-1]))
        holder = holder_of(lines)
        if holder is None:  # somebody else was faster: ask again for the holder
            races += 1
            if races > _MOST_RACES:
                raise DeviceError(
                    f"the lease cannot be taken: the device answers {lines[-1][:80]!r}",
                    where=device.name,
                    hint="look into the folder of the leases there (docs/devices.md); whoever owns "
                    "it, or root, can remove it",
                )
            time.sleep(device.limits.race_s)
            continue
        if holder.has_died:
            force = holder.number
            continue
        if time.monotonic() >= deadline:
            raise _busy(device, holder)
        if not is_noted:
            note(f"{device.name} is leased by {holder}: waiting for it")
            is_noted = True
        time.sleep(_ASK_S)


def look(device: Device) -> LeaseHolder | None:
    """The present holder of the lease; None if the device is free."""
    text = script(device, device.lease_folder, "look")
    return holder_of(device.shell(text, "read the lease", limit_bytes=_MOST_BYTES).splitlines())


def check_free(device: Device) -> None:
    """Raises the `DeviceBusyError` of `acquire` for a device that a live holder has now."""
    holder = look(device)
    if holder and not holder.has_died:
        raise _busy(device, holder)


def _busy(device: Device, holder: LeaseHolder) -> DeviceBusyError:
    return DeviceBusyError(
        f"the device is leased by {holder}",
        where=device.name,
        hint=f"wait for it with --wait; if nobody needs it: "
        f"{PROGRAM} device.unlock {device.name} --force",
    )


def unlock(device: Device, *, force: bool) -> str:
    """Removes the lease of a holder; returns what was done.

    Without `force` only the stale lease of a process of this machine that has ended:
    `DeviceBusyError` for any other. A live holder notices at its next renewal; its runner is ended.
    """
    holder = look(device)
    if holder is None:
        return "the device is free"
    if not force and not holder.has_died:
        raise DeviceBusyError(
            f"the device is leased by {holder}",
            where=device.name,
            hint=f"remove the lease all the same: {PROGRAM} device.unlock {device.name} --force",
        )
    lines = _claim(device, "unlock", holder.number)
    claimed = _taken(lines[-1])
    if claimed is None:
        raise DeviceBusyError(
            f"somebody else was faster: {holder_of(lines) or 'try again'}", where=device.name
        )
    Lease(device, *claimed, "").release()
    return "; ".join([f"removed the lease of {holder}", *lines[:-1]])


def _claim(device: Device, purpose: str, force: int) -> list[str]:
    """The output of `lease.sh claim`: notes, then "taken", "again", or the holder."""
    facts = {
        "owner": f"{getpass.getuser()}@{socket.gethostname()}",
        "purpose": purpose,
        "pid": str(os.getpid()),
        "machine": this_machine(),
        "started": start_of(os.getpid()),
    }
    owner = (f"{key}={' '.join(value.split())}" for key, value in facts.items())
    text = script(
        device, device.lease_folder, "claim", force, device.limits.lease_s, NO_ROOM, *owner
    )
    printed_text = device.shell(text, "acquire the lease", limit_bytes=_MOST_BYTES)
    return printed_text.splitlines() or ["again"]


def script(device: Device, folder: str, command: str, *arguments: object) -> str:
    """A command of lease.sh on the leases in `folder`; "" is the device's default folder."""
    return scripts.script("lease", device.sysfs, folder, command, *map(str, arguments))


def _taken(line: str) -> tuple[int, str] | None:
    """The number and the folder of "taken NUMBER FOLDER"; None for another line."""
    match = re.fullmatch(r"taken ([0-9]{1,9}) (/[^\0]{0,4000})", line)
    return (int(match[1]), match[2]) if match else None


def holder_of(lines: Sequence[str]) -> LeaseHolder | None:
    """Parses "held NUMBER NOW UNTIL" and the lines of `owner`; None if there is no such line.

    Every user of the device can write these lines: unknown ones are left out, and numbers that are
    none count as 0.
    """
    for i, line in enumerate(lines):
        if match := re.fullmatch(r"held ([0-9]{1,9}) ([0-9]{1,9}) ([0-9]{1,9})", line):
            facts = printed.facts([*lines[i + 1 :]], _OWNER)
            number, up, until = map(int, match.groups())
            now = datetime.now().astimezone()
            since = min(printed.number(facts.get("since", ""), 0) or 0, _MOST_SECONDS)
            return LeaseHolder(
                number=number,
                owner=facts.get("owner", "somebody"),
                purpose=facts.get("purpose", ""),
                pid=printed.number(facts.get("pid", ""), 0) or 0,
                since=now + timedelta(seconds=since - up),
                until=now + timedelta(seconds=until - up),
                machine=facts.get("machine", ""),
                started=facts.get("started", ""),
            )
    return None


def this_machine() -> str:
    """This machine in this boot, which gives process numbers a meaning."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = str(time.time_ns())  # unknown: never the same
    return f"{socket.gethostname()} {boot}"


def start_of(pid: int) -> str:
    """The start time of a process (proc(5), field 22); "" if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]
