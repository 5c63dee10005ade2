"""A device under control while it measures: taken, pinned, clocked, cool, and watched.

    with controlled(device, Control(cores="big"), threads=4, purpose="bench", note=print) as held:
        command = [program, "--cores", held.cores] if held.cores else [program]
        with held.launch() as launch:
            device.run(command, timeout_s=60)
        print(held.to_json(), launch.to_json())

All launches of a measurement belong into one such `with`. Whatever ends it, the device gets back
what was changed: by this process; or, when it is killed or the link breaks, by the watchdog on the
device; or, at last, by whoever measures there next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from trimtab.devices.control import governor, sysfs, thermal, topology, watchdog
from trimtab.devices.control.governor import Change
from trimtab.devices.control.lease import Lease, acquire
from trimtab.devices.control.thermal import Sample
from trimtab.devices.protocol import Device
from trimtab.errors import DeviceError, UsageError

KEEP = "keep"


@dataclass(frozen=True)
class Control:
    """What is asked for.

    `cores`: a cluster's name, a list such as "0-3", "all", or "" for the fastest cluster that has
    enough cores. `governor`: "keep" leaves it. `max_celsius`: launches begin below it; None for
    what suits the device. `wait_s`: how long to wait for who has the device.
    """

    cores: str = ""
    governor: str = "performance"
    max_celsius: float | None = None
    wait_s: float = 0.0

    def __post_init__(self) -> None:
        """Raises UsageError for what cannot be meant."""
        if self.max_celsius is not None and not 0 < self.max_celsius < math.inf:
            raise UsageError(f"max-celsius is {self.max_celsius}, it must be over 0, and finite")
        if not self.wait_s >= 0:
            raise UsageError(f"wait is {self.wait_s}, it must be at least 0")
        if not self.governor.replace("_", "").isalnum():
            raise UsageError(
                f"{self.governor!r} is no governor", hint="--governor performance, or keep"
            )


@dataclass
class Launch:
    """The device before and after one launch, and why it counts as throttled: empty when it does
    not. `hot`: what to say when it did not become cool enough before.
    """

    before: Sample | None = None
    after: Sample | None = None
    throttled: list[str] = field(default_factory=list)
    hot: str = ""

    def to_json(self) -> dict[str, Any]:
        """For a record."""
        return asdict(self)


class Controlled:
    """A device that is held. `cores` is the list for the runner's `--cores`, None to leave it be.

    `launches` are those so far; `uncontrolled` says what could not be had from the beginning;
    `found` what an earlier run had left.
    """

    def __init__(self, device: Device, lease: Lease, wanted: Control) -> None:
        """Made by `controlled`."""
        self._device, self._lease, self._wanted = device, lease, wanted
        self.cores: str | None = None
        self.cluster: str | None = None
        self.governor: str | None = None
        self.limit_celsius: float | None = None
        self.uncontrolled: list[str] = []
        self.found: list[str] = [lease.found] if lease.found else []
        self.launches: list[Launch] = []
        self._driver: str | None = None
        self._reference: Sample | None = None
        self._note: Callable[[str], None] = lambda _: None

    @property
    def throttled(self) -> list[str]:
        """Why launches so far count as throttled, each reason once."""
        return list(dict.fromkeys(why for launch in self.launches for why in launch.throttled))

    @contextmanager
    def launch(self) -> Iterator[Launch]:
        """Around one launch that is measured: waits until the device is cool, and samples its state
        before and after.

        Raises `DeviceBusyError` or `DeviceUnreachableError` when the lease was lost meanwhile:
        nobody knows what the launch shared the device with.
        """
        launch = Launch()
        self._lease.check()
        if self.limit_celsius is not None:
            launch.before, launch.hot = thermal.wait_until_cool(
                self._device, self._cores, self.limit_celsius, self._note
            )
            self._reference = self._reference or launch.before
        yield launch
        self._lease.confirm()
        if launch.before is not None and self._reference is not None:
            launch.after = thermal.sample(self._device, self._cores)
            launch.throttled = thermal.slowdowns(
                self._reference,
                launch.before,
                launch.after,
                governor=self.governor,
                driver=self._driver,
            )
        self.launches.append(launch)

    def confirm(self) -> None:
        """Raises `DeviceBusyError` or `DeviceUnreachableError` when the device is not ours any
        more: for a runner that was ended, by whom nobody else knows.
        """
        self._lease.confirm()

    def check_affinity(self, cores: str | None, affinity: str | None) -> None:
        """Raises `DeviceError` when a runner that was pinned to `cores` runs elsewhere."""
        if cores is not None and affinity != cores:
            raise DeviceError(
                f"the runner was pinned to the cores {cores}, and runs on {affinity or '?'}",
                where=self._device.name,
                hint="choose cores with --cores; another program may keep processes from them",
            )

    def to_json(self) -> dict[str, Any]:
        """For the header of a record: what was had when the launches began."""
        return {
            "cluster": self.cluster,
            "governor": self.governor,
            "max_celsius": self.limit_celsius,
            "uncontrolled": list(self.uncontrolled),
            "found": list(self.found),
        }

    @property
    def _cores(self) -> frozenset[int]:
        """The measured cores; all where they are not known."""
        return sysfs.cores_of(self.cores or f"0-{sysfs.MAX_CORE}")

    def _pin(self, threads: int, tree: sysfs.Tree) -> None:
        clusters = topology.parse(tree)
        if not clusters.clusters:
            self.uncontrolled.append("cores: the device does not tell which it has")
            return
        cores = clusters.choose(self._wanted.cores, threads)
        self.cores = sysfs.list_of(cores)
        self.cluster = "+".join(c.name for c in clusters.clusters if set(c.cores) & set(cores))

    def _clock(self, tree: sysfs.Tree, journal: Path, on_exit: ExitStack) -> None:
        cores = self._cores
        told = {text for core, text in tree.find(governor.GOVERNOR) if core in cores}
        drivers = {text for core, text in tree.find(governor.DRIVER) if core in cores}
        self._driver = "+".join(sorted(drivers)) or None
        self.governor = "+".join(sorted(told)) or None
        if not told:
            self.uncontrolled.append("governor: the device tells none")
            return
        if self._wanted.governor == KEEP:
            self.uncontrolled.append(f"governor: kept at {self.governor}, as asked")
            return
        changes = governor.planned(cores, self._wanted.governor, tree)
        if changes:
            on_exit.callback(self._put_back, changes, journal)
        if refused := governor.apply(self._device, changes, journal, f"{self._lease.folder}/undo"):
            self.uncontrolled.append(refused)
        else:
            self.governor = self._wanted.governor

    def _put_back(self, changes: Sequence[Change], journal: Path) -> None:
        try:
            governor.put_back(self._device, changes, journal)
        except DeviceError as error:
            self._note(f"{error}\n  (the device tries, too, when the lease runs out)")

    def _cool(self, tree: sysfs.Tree) -> None:
        self.limit_celsius = self._wanted.max_celsius or thermal.limit_of(tree)
        if thermal.temperature(tree) is None:
            self.uncontrolled.append("temperature: the device tells none")


@contextmanager
def controlled(
    device: Device,
    wanted: Control,
    *,
    threads: int = 1,
    purpose: str = "bench",
    note: Callable[[str], None] = lambda _: None,
) -> Iterator[Controlled]:
    """Takes a device for a measurement, and makes its clocks steady.

    What cannot be had is said in `uncontrolled`; of an emulator nothing is, as nothing is timed
    there, and it is pinned on demand alone. Raises `DeviceBusyError` when another has the device,
    `UsageError` for cores that there are not, and what the transport raises.
    """
    with ExitStack() as on_exit:
        lease = acquire(device, purpose, wait_s=wanted.wait_s, note=note)
        on_exit.callback(_release, lease)
        held = Controlled(device, lease, wanted)
        held._note = note
        info = device.describe()
        journal = governor.journal_of(device.name, info.boot_id)
        if undone := governor.undo_journal(device, journal):
            held.found.append(undone)
        for what in held.found:
            note(f"{device.name}: {what}")
        device.tidy()
        watchdog.start(device, lease.root, lease.number)
        device.supervise(watchdog.launch_note(lease.folder))
        on_exit.callback(device.supervise, "")
        patterns = (*sysfs.TOPOLOGY, *sysfs.GOVERNORS, *sysfs.TEMPERATURES, *sysfs.TRIP_POINTS)
        tree = sysfs.read(device, *patterns)
        if wanted.cores or not info.is_emulated:
            held._pin(threads, tree)
        if not info.is_emulated:
            held._clock(tree, journal, on_exit)
            held._cool(tree)
        yield held


def _release(lease: Lease) -> None:
    """A device that does not answer gives itself back when the lease runs out."""
    with suppress(DeviceError):
        lease.release()
