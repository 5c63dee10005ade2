"""Clusters of cores, and which of them a measurement runs on.

Cores are alike when the kernel gives them the same `cpu_capacity`, or, where it gives none or the
same to all (a device tree may lack them), about the same maximum frequency.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab import cores as known_cores
from trimtab.devices.control import sysfs
from trimtab.devices.control.sysfs import Tree
from trimtab.errors import UsageError

_CPU = "devices/system/cpu/cpu#/"
_SAME_CLOCK = 0.95  # one cluster's cores may differ by what some of them may boost
_NAMES = {1: ("all",), 2: ("little", "big"), 3: ("little", "mid", "big")}


@dataclass(frozen=True)
class Cluster:
    """Cores that are alike: their numbers, the kernel's measure of their speed (`cpu_capacity`, or
    the maximum frequency in kHz), and the core's own name where the kernel tells which it is.
    """

    name: str
    cores: tuple[int, ...]
    speed: int | None
    core: str | None = None


@dataclass(frozen=True)
class Topology:
    """The clusters of a device, slowest first, of the cores that processes of ours may use."""

    clusters: tuple[Cluster, ...]

    @property
    def cores(self) -> tuple[int, ...]:
        """All cores."""
        return tuple(sorted(core for cluster in self.clusters for core in cluster.cores))

    def choose(self, wanted: str, threads: int) -> tuple[int, ...]:
        """The cores that are `wanted`: the name of a cluster or of its core, "all", or a list such
        as "0-3,6". "": the fastest cluster, and as many of the next ones as `threads` need.

        Raises `UsageError` for cores that there are not, naming those that there are.
        """
        if not wanted:
            return self._fastest(threads)
        if wanted == "all":
            return self.cores
        named = [c for c in self.clusters if wanted in (c.name, c.core)]
        if len(self.clusters) == 1 and wanted in _NAMES[3]:
            named = list(self.clusters)  # what is alike is little and big at once
        if named:
            return tuple(sorted(core for cluster in named for core in cluster.cores))
        try:
            cores = sysfs.cores_of(wanted)
        except ValueError:
            cores = frozenset()
        if not cores or not cores <= set(self.cores):
            raise UsageError(
                f"there are no cores {wanted!r}",
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
        """For messages: "little (0-3), big (4-7, cortex-a76)"."""
        return ", ".join(
            f"{c.name} ({', '.join(filter(None, (sysfs.list_of(c.cores), c.core)))})"
            for c in self.clusters
        )


def parse(tree: Tree) -> Topology:
    """The clusters that the files of `sysfs.TOPOLOGY` tell of; none where they tell of no core."""
    speeds = tree.numbers(_CPU + "cpu_capacity")
    is_capacity = len(set(speeds.values())) > 1
    if not is_capacity:
        speeds = tree.numbers(_CPU + "cpufreq/cpuinfo_max_freq") or speeds
    usable = _usable(tree, set(speeds))
    groups: list[list[int]] = []
    for core in sorted(usable, key=lambda core: (speeds.get(core, 0), core)):
        speed, last = speeds.get(core, 0), groups[-1][-1] if groups else None
        least = speed if is_capacity else speed * _SAME_CLOCK
        if last is not None and speeds.get(last, 0) >= least:
            groups[-1].append(core)
        else:
            groups.append([core])
    names = _names(len(groups))
    midr = dict(tree.find(_CPU + "regs/identification/midr_el1"))
    return Topology(
        tuple(
            Cluster(name, tuple(sorted(group)), speeds.get(group[-1]), _core(midr.get(group[0])))
            for name, group in zip(names, groups, strict=True)
        )
    )


def _usable(tree: Tree, told: set[int]) -> set[int]:
    """The cores that are on and that our processes may run on."""
    online, allowed = (
        set(sysfs.cores_of(text)) if text else set()
        for text in (tree.files.get("devices/system/cpu/online", ""), tree.allowed)
    )
    cores = online or told or allowed
    return cores & allowed if allowed and cores & allowed else cores


def _names(count: int) -> Sequence[str]:
    if count in _NAMES or count == 0:
        return _NAMES.get(count, ())
    return ("little", *(f"mid{i}" for i in range(1, count - 1)), "big")


def _core(midr: str | None) -> str | None:
    """The name of a core by its main ID register (Arm ARM, MIDR_EL1): implementer and part."""
    try:
        value = int(midr or "", 16)
    except ValueError:
        return None
    core = known_cores.by_midr(value >> 24 & 0xFF, value >> 4 & 0xFFF)
    return core.name if core else None
