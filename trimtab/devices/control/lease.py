"""A device belongs to one measurement at a time: the lease, which lies on the device itself.

It is a folder `N`, made by `mkdir`, which is atomic; the highest N counts, and the next one takes
over by making N + 1. A folder says who made it, in which boot, and until when it holds, in seconds
of the device's uptime: a clock that nobody sets. Who holds it renews it; one that ran out, or is of
another boot, is free. What such a run left behind, a runner or a changed governor, ends with the
takeover. Anybody who can log in takes part, as the folder lies where all may write.
"""

from __future__ import annotations

import getpass
import os
import posixpath
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from trimtab.devices import scripts
from trimtab.devices.protocol import NO_ROOM, Device
from trimtab.errors import (
    DeviceBusyError,
    DeviceError,
    DeviceRebootedError,
    DeviceUnreachableError,
)

LEASE_S = 30  # after the last renewal; a board that swaps may take seconds to answer
_RENEW_S = 8.0
_ASK_S = 1.0
_RACE_S = 0.05


@dataclass(frozen=True)
class Holder:
    """Who holds a device: `number` of the lease, and times on this machine's clock."""

    number: int
    owner: str
    purpose: str
    pid: int
    since: datetime
    until: datetime
    machine: str  # of the owner, with its boot
    started: str

    def __str__(self) -> str:
        return (
            f"{self.owner} ({self.purpose}, process {self.pid}) since {self.since:%H:%M:%S}, "
            f"until {self.until:%H:%M:%S} unless it is renewed"
        )

    @property
    def is_gone(self) -> bool:
        """True when it was a process of this machine that has ended."""
        return self.machine == _machine() and self.started != _started(self.pid)


class Lease:
    """A device that is ours, until `release`; renewed by a thread."""

    def __init__(self, device: Device, number: int, root: str, found: str) -> None:
        """`root`: the folder of all leases; `found`: what an earlier run had left behind."""
        self._device = device
        self.root, self.number, self.found = root, number, found
        self._lost: DeviceError | None = None
        self._held_at = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    @property
    def folder(self) -> str:
        """The lease's own folder on the device."""
        return posixpath.join(self.root, str(self.number))

    def check(self) -> None:
        """Raises `DeviceBusyError` when another has taken the device, as far as it said, and
        `DeviceUnreachableError` when the lease ran out since it could not be renewed.
        """
        if self._lost is None and time.monotonic() - self._held_at > LEASE_S:
            self._lost = self._ran_out()
        if self._lost is not None:
            raise self._lost

    def confirm(self) -> None:
        """Renews the lease, and checks it: a launch that ran under a lost one may have had company,
        or was ended by the watchdog. Raises as `check`, and `DeviceRebootedError`.
        """
        try:
            self._renew(self._device)
        except DeviceRebootedError:
            raise
        except DeviceError:
            pass  # the link may come back in time
        self.check()

    def release(self) -> None:
        """Gives the device back. Raises what the transport raises."""
        self._stop.set()
        self._thread.join(_RENEW_S)
        self._device.shell(_script(self.root, "release", self.number), "release the lease")

    def _keep(self) -> None:
        """Renews over a connection of its own: some servers (dropbear) mix up two commands of one
        connection that begin or end at the same moment.
        """
        while not self._stop.wait(_RENEW_S) and not self._lost:
            with suppress(DeviceError), self._device.beside() as own:  # `check` judges
                self._renew(own)
                while not self._stop.wait(_RENEW_S) and not self._lost:
                    self._renew(own)

    def _renew(self, device: Device) -> None:
        asked = time.monotonic()
        text = _script(self.root, "renew", self.number, LEASE_S)
        said = device.shell(text, "renew the lease").splitlines()
        if said == ["renewed"]:
            self._held_at = asked
        elif said == ["free"]:
            self._lost = self._ran_out()
        else:
            holder = _holder(said)
            self._lost = DeviceBusyError(
                f"the lease of the device is lost: taken {f'by {holder}' if holder else 'away'}",
                where=self._device.name,
                hint=f"measure again; `./inv device {self._device.name}` shows who has it",
            )

    def _ran_out(self) -> DeviceError:
        return DeviceUnreachableError(
            f"the lease of the device is lost: it could not be renewed for {LEASE_S} s",
            where=self._device.name,
            hint="measure again; was this machine asleep, or the link down?",
        )


def acquire(device: Device, purpose: str, *, wait_s: float, note: Callable[[str], None]) -> Lease:
    """Takes the device, waiting up to `wait_s` for who has it.

    What a run left that did not end by itself is ended, and in the lease's `found`. Raises
    `DeviceBusyError`, which names who has it.
    """
    deadline, force, is_told = time.monotonic() + wait_s, -1, False
    while True:
        said = _claim(device, purpose, force)
        if said[-1].startswith("taken "):
            _, number, folder = said[-1].split(" ", 2)
            return Lease(device, int(number), folder, "; ".join(said[:-1]))
        holder = _holder(said)
        if holder is None:  # another was quicker: ask again who
            time.sleep(_RACE_S)
            continue
        if holder.is_gone:
            force = holder.number
            continue
        if time.monotonic() >= deadline:
            raise DeviceBusyError(
                f"the device is taken by {holder}",
                where=device.name,
                hint=f"wait for it with --wait; if nobody needs it any more: "
                f"./inv device.unlock {device.name} --force",
            )
        if not is_told:
            note(f"{device.name} is taken by {holder}: waits for it")
            is_told = True
        time.sleep(_ASK_S)


def look(device: Device) -> Holder | None:
    """Who holds the device now."""
    text = _script(device.lease_folder, "look")
    return _holder(device.shell(text, "read the lease").splitlines())


def unlock(device: Device, *, force: bool) -> str:
    """Takes the lease away from who has it; gives what was done.

    Without `force` only from a process of this machine that has ended: `DeviceBusyError` for any
    other. Whoever had it notices at its next renewal, and its runner is ended.
    """
    holder = look(device)
    if holder is None:
        return "nobody has it"
    if not force and not holder.is_gone:
        raise DeviceBusyError(
            f"the device is taken by {holder}",
            where=device.name,
            hint=f"take it away all the same: ./inv device.unlock {device.name} --force",
        )
    said = _claim(device, "unlock", holder.number)
    if not said[-1].startswith("taken "):
        raise DeviceBusyError(
            f"another was quicker: {_holder(said) or 'try again'}", where=device.name
        )
    _, number, folder = said[-1].split(" ", 2)
    Lease(device, int(number), folder, "").release()
    return "; ".join([f"taken away from {holder}", *said[:-1]])


def _claim(device: Device, purpose: str, force: int) -> list[str]:
    """What the script says: notes, then "taken", "again" or who has it."""
    facts = {
        "owner": f"{getpass.getuser()}@{socket.gethostname()}",
        "purpose": purpose,
        "pid": str(os.getpid()),
        "machine": _machine(),
        "started": _started(os.getpid()),
    }
    owner = (f"{key}={' '.join(value.split())}" for key, value in facts.items())
    text = _script(device.lease_folder, "claim", force, LEASE_S, NO_ROOM, *owner)
    return device.shell(text, "take the lease").splitlines() or ["again"]


def _script(folder: str, command: str, *arguments: object) -> str:
    """The script of a command on the leases in `folder`; "" is the device's default folder."""
    return scripts.script("lease", folder, command, *map(str, arguments))


def _holder(said: list[str]) -> Holder | None:
    """Reads "held NUMBER NOW UNTIL" and the lines of `owner`; None for anything else."""
    for i, line in enumerate(said):
        if line.startswith("held "):
            lines = (rest.partition("=") for rest in said[i + 1 :])
            facts = {key: value for key, _, value in lines}
            number, up, until = map(int, line.split()[1:])
            now = datetime.now().astimezone()
            since = int(facts.get("since", "0"))
            return Holder(
                number=number,
                owner=facts.get("owner", "somebody"),
                purpose=facts.get("purpose", ""),
                pid=int(facts.get("pid", "0")),
                since=now + timedelta(seconds=since - up),
                until=now + timedelta(seconds=until - up),
                machine=facts.get("machine", ""),
                started=facts.get("started", ""),
            )
    return None


def _machine() -> str:
    """This machine in this boot: what makes the number of a process mean something."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = str(time.time_ns())  # nobody knows: never the same
    return f"{socket.gethostname()} {boot}"


def _started(pid: int) -> str:
    """When a process started, as /proc tells it (proc(5), field 22); "" for one that has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]
