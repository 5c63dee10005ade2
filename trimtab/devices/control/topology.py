"""Clusters of equal cores, and the choice of cores for a measurement.

Cores are equal if the kernel gives them the same `cpu_capacity`. If it gives none, or the same to
all (a device tree may lack it), they are equal if their maximum frequencies are about the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab import cores as core_files
from trimtab.devices.control import sysfs
from trimtab.devices.control.sysfs import SysfsTree
from trimtab.errors import UsageError

_CPU = "devices/system/cpu/cpu#/"
_SAME_CLOCK = 0.95  # cores of one cluster may differ in boost clocks
_NAMES = {1: ("all",), 2: ("little", "big"), 3: ("little", "mid", "big")}


@dataclass(frozen=True)
class CoreCluster:
    """A cluster of equal cores.

    `speed`: `cpu_capacity`, or the maximum frequency in kHz. `core`: the core's name, if the kernel
    reports its id.
    """

    name: str
    cores: tuple[int, ...]
    speed: int | None
    core: str | None = None


@dataclass(frozen=True)
class Topology:
    """The clusters of a device, slowest first, with the cores that our processes may use."""

    clusters: tuple[CoreCluster, ...]

    @property
    def cores(self) -> tuple[int, ...]:
        """The numbers of all cores."""
        return tuple(sorted(core for cluster in self.clusters for core in cluster.cores))

    def choose(self, request: str, threads: int) -> tuple[int, ...]:
        """The requested cores: the name of a cluster or of its core, "all", or "0-3,6".

        "" is the fastest cluster, and as many of the next ones as `threads` need. Raises a
        `UsageError` that lists the clusters if there are no such cores.
        """
        if not request:
            return self._fastest(threads)
        if request == "all":
            return self.cores
        named = [c for c in self.clusters if request in (c.name, c.core)]
        if len(self.clusters) == 1 and request in _NAMES[3]:
            named = list(self.clusters)  # the only cluster is little and big at once
        if named:
            return tuple(sorted(core for cluster in named for core in cluster.cores))
        try:
            cores = sysfs.cores_of(request)
        except ValueError:
            cores = frozenset()
        if not cores or not cores <= set(self.cores):
            raise UsageError(
                f"there are no cores {request!r}",
                hint=f"there are {self}; or a list such as {sysfs.list_of(self.cores[:2])}",
            )
        return tuple(sorted(cores))

    def _fastest(self, threads: int) -> tuple[int, ...]:
        chosen: list[int] = []
        for cluster in reversed(self.clusters):
            if len(chosen) < max(threads, 1):
                chosen += cluster.cores
        return tuple(sorted(chosen))

    def __str__(self) -> str:
        """The clusters in a message: "little (0-3), big (4-7, cortex-a76)"."""
        return ", ".join(
            f"{c.name} ({', '.join(filter(None, (sysfs.list_of(c.cores), c.core)))})"
            for c in self.clusters
        )


def parse(tree: SysfsTree) -> Topology:
    """The clusters according to the files of `sysfs.TOPOLOGY`; empty if these list no core."""
    speeds = tree.numbers(_CPU + "cpu_capacity")
    is_capacity = len(set(speeds.values())) > 1
    if not is_capacity:
        speeds = tree.numbers(_CPU + "cpufreq/cpuinfo_max_freq") or speeds
    usable = _usable(tree, set(speeds))
    groups: list[list[int]] = []
    for core in sorted(usable, key=lambda core: (speeds.get(core, 0), core)):
        speed, last = speeds.get(core, 0), groups[-1][-1] if groups else None
        lower = speed if is_capacity else speed * _SAME_CLOCK
        if last is not None and speeds.get(last, 0) >= lower:
            groups[-1].append(core)
        else:
            groups.append([core])
    names = _names(len(groups))
    midr = dict(tree.find(_CPU + "regs/identification/midr_el1"))
    return Topology(
        tuple(
            CoreCluster(
                name, tuple(sorted(group)), speeds.get(group[-1]), _core(midr.get(group[0]))
            )
            for name, group in zip(names, groups, strict=True)
        )
    )


def _usable(tree: SysfsTree, listed: set[int]) -> set[int]:
    """The cores that are online and that our processes may use."""
    online, allowed = (
        _cores(text) for text in (tree.files.get("devices/system/cpu/online", ""), tree.allowed)
    )
    cores = online or listed or allowed
    return cores & allowed if allowed and cores & allowed else cores


def _cores(text: str) -> set[int]:
    """The cores of a list of the kernel; none if it is no such list."""
    try:
        return set(sysfs.cores_of(text))
    except ValueError:
        return set()


def _names(count: int) -> Sequence[str]:
    if count in _NAMES or count == 0:
        return _NAMES.get(count, ())
    return ("little", *(f"mid{i}" for i in range(1, count - 1)), "big")


def _core(midr: str | None) -> str | None:
    """The name of a core by implementer and part in MIDR_EL1 (Arm ARM)."""
    try:
        value = int(midr or "", 16)
    except ValueError:
        return None
    core = core_files.by_midr(value >> 24 & 0xFF, value >> 4 & 0xFFF)
    return core.name if core else None
