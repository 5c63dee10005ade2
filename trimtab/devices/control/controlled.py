"""A device under control during a measurement: leased, pinned, clocked, cool, and watched.

    with controlled(device, Control(cores="big"), threads=4, purpose="bench") as session:
        command = [program, "--cores", session.cores] if session.cores else [program]
        with session.launch() as launch:
            device.run(command, timeout_s=60)
        print(session.to_json(), launch.to_json())

Run all launches of a measurement inside one `with`. Every change of the device is reverted in any
case: by this process; by the watchdog on the device, if the process is killed or the link breaks;
or else by the next measurement on the device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from trimtab.devices.control import governor, sysfs, thermal, topology, watchdog
from trimtab.devices.control.governor import GovernorChange
from trimtab.devices.control.lease import Lease, acquire
from trimtab.devices.control.thermal import ThermalState
from trimtab.devices.protocol import Device
from trimtab.errors import DeviceError, UsageError

KEEP = "keep"


@dataclass(frozen=True)
class Control:
    """The requested conditions.

    `cores`: a cluster's name, a list such as "0-3", "all", or "" for the fastest cluster that has
    enough cores. `governor`: "keep" leaves it. `max_celsius`: launches begin below it; None for the
    device's own limit. `wait_s`: the time to wait for the lease's holder.
    """

    cores: str = ""
    governor: str = "performance"
    max_celsius: float | None = None
    wait_s: float = 0.0

    def __post_init__(self) -> None:
        """Raises UsageError for impossible values."""
        if self.max_celsius is not None and not 0 < self.max_celsius < math.inf:
            raise UsageError(f"max-celsius is {self.max_celsius}: it must be above 0 and finite")
        if not self.wait_s >= 0:
            raise UsageError(f"wait is {self.wait_s}: it must be at least 0")
        if not self.governor.replace("_", "").isalnum():
            raise UsageError(
                f"{self.governor!r} is not a governor", hint="--governor performance, or keep"
            )


@dataclass
class LaunchConditions:
    """The device before and after one launch.

    `throttled`: the reasons why the launch counts as throttled, empty if it does not. `hot`: a
    complaint if the device was too hot at its beginning.
    """

    before: ThermalState | None = None
    after: ThermalState | None = None
    throttled: list[str] = field(default_factory=list)
    hot: str = ""

    def to_json(self) -> dict[str, Any]:
        """The conditions for a run record."""
        return asdict(self)


class Controlled:
    """A leased device. `cores` is the list for the runner's `--cores`, None to pass none.

    `launches`: the launches so far. `uncontrolled`: the conditions that could not be established.
    `cleaned_up`: the remains of an earlier run.
    """

    def __init__(self, device: Device, lease: Lease, request: Control) -> None:
        self._device, self._lease, self._request = device, lease, request
        self.cores: str | None = None
        self.cluster: str | None = None
        self.governor: str | None = None
        self.limit_celsius: float | None = None
        self.uncontrolled: list[str] = []
        self.cleaned_up: list[str] = [lease.cleaned_up] if lease.cleaned_up else []
        self.launches: list[LaunchConditions] = []
        self._driver: str | None = None
        self._reference: ThermalState | None = None
        self._note: Callable[[str], None] = lambda _: None

    @property
    def throttled(self) -> list[str]:
        """The reasons why launches so far count as throttled, each once."""
        return list(dict.fromkeys(why for launch in self.launches for why in launch.throttled))

    @contextmanager
    def launch(self) -> Iterator[LaunchConditions]:
        """Surrounds one measured launch: waits at the thermal gate, samples before and after.

        Raises `DeviceBusyError` or `DeviceUnreachableError` if the lease was lost in the meantime:
        the launch may have shared the device.
        """
        launch = LaunchConditions()
        self._lease.check()
        if self.limit_celsius is not None:
            launch.before, launch.hot = thermal.wait_until_cool(
                self._device, self.measured_cores, self.limit_celsius, self._note
            )
            self._reference = self._reference or launch.before
        yield launch
        self._lease.confirm()
        if launch.before is not None and self._reference is not None:
            launch.after = thermal.sample(self._device, self.measured_cores)
            launch.throttled = thermal.slowdowns(
                self._reference,
                launch.before,
                launch.after,
                governor=self.governor,
                driver=self._driver,
            )
        self.launches.append(launch)

    def confirm(self) -> None:
        """Raises `DeviceBusyError` or `DeviceUnreachableError` if the lease is gone.

        That explains a runner that was ended from outside.
        """
        self._lease.confirm()

    def check_affinity(self, cores: str | None, affinity: str | None) -> None:
        """Raises `DeviceError` if a runner that was pinned to `cores` runs elsewhere."""
        if cores is not None and affinity != cores:
            raise DeviceError(
                f"the runner was pinned to the cores {cores} and runs on {affinity or '?'}",
                where=self._device.name,
                hint="choose cores with --cores; another program may reserve them",
            )

    def to_json(self) -> dict[str, Any]:
        """The conditions at the beginning, for the header of a run record."""
        return {
            "cluster": self.cluster,
            "governor": self.governor,
            "max_celsius": self.limit_celsius,
            "uncontrolled": list(self.uncontrolled),
            "found": list(self.cleaned_up),
        }

    @property
    def measured_cores(self) -> frozenset[int]:
        """The measured cores; all if they are unknown."""
        return sysfs.cores_of(self.cores or f"0-{sysfs.MAX_CORE}")

    def _pin(self, threads: int, tree: sysfs.SysfsTree) -> None:
        clusters = topology.parse(tree)
        if not clusters.clusters:
            self.uncontrolled.append("cores: the device does not report them")
            return
        cores = clusters.choose(self._request.cores, threads)
        self.cores = sysfs.list_of(cores)
        self.cluster = "+".join(c.name for c in clusters.clusters if set(c.cores) & set(cores))

    def _clock(self, tree: sysfs.SysfsTree, journal: Path, on_exit: ExitStack) -> None:
        cores = self.measured_cores
        present = {text for core, text in tree.find(governor.GOVERNOR) if core in cores}
        drivers = {text for core, text in tree.find(governor.DRIVER) if core in cores}
        self._driver = "+".join(sorted(drivers)) or None
        self.governor = "+".join(sorted(present)) or None
        if not present:
            self.uncontrolled.append("governor: the device reports none")
            return
        if self._request.governor == KEEP:
            self.uncontrolled.append(f"governor: kept at {self.governor}, as requested")
            return
        changes = governor.plan(cores, self._request.governor, tree)
        if changes:
            on_exit.callback(self._restore, changes, journal)
        if refused := governor.apply(self._device, changes, journal, self._lease.note):
            self.uncontrolled.append(refused)
        else:
            self.governor = self._request.governor

    def _restore(self, changes: Sequence[GovernorChange], journal: Path) -> None:
        try:
            governor.restore(self._device, changes, journal)
        except DeviceError as error:
            self._note(f"{error}\n  (the watchdog there tries again)")

    def _cool(self, tree: sysfs.SysfsTree) -> None:
        self.limit_celsius = self._request.max_celsius or thermal.limit_of(tree)
        if thermal.temperature(tree) is None:
            self.uncontrolled.append("temperature: the device reports none")


@contextmanager
def controlled(
    device: Device,
    request: Control,
    *,
    threads: int = 1,
    purpose: str = "bench",
    note: Callable[[str], None] = lambda _: None,
) -> Iterator[Controlled]:
    """Leases a device for a measurement, and makes its clocks steady.

    `uncontrolled` lists the conditions that cannot be established. An emulator is only leased, and
    pinned on demand, because nothing is timed there. Raises `DeviceBusyError` if the lease has
    another holder, `UsageError` for unknown cores, and what the transport raises.
    """
    with ExitStack() as on_exit:
        lease = acquire(device, purpose, wait_s=request.wait_s, note=note)
        on_exit.callback(_release, lease)
        session = Controlled(device, lease, request)
        session._note = note
        info = device.describe()
        journal = governor.journal_of(device.name, info.boot_id)
        if restored := governor.restore_journal(device, journal):
            session.cleaned_up.append(restored)
        for remains in session.cleaned_up:
            note(f"{device.name}: {remains}")
        device.tidy()
        watchdog.start(device, lease.root, lease.number)
        device.set_launch_note(watchdog.launch_note(lease.folder))
        on_exit.callback(device.set_launch_note, "")
        patterns = (*sysfs.TOPOLOGY, *sysfs.GOVERNORS, *sysfs.TEMPERATURES, *sysfs.TRIP_POINTS)
        tree = sysfs.read(device, *patterns)
        if request.cores or not info.is_emulated:
            session._pin(threads, tree)
        if not info.is_emulated:
            session._clock(tree, journal, on_exit)
            session._cool(tree)
        yield session


def _release(lease: Lease) -> None:
    """Ends the lease. Without an answer of the device it runs out by itself."""
    with suppress(DeviceError):
        lease.release()
