"""The limits of this machine: multiply-adds per instruction set, bandwidth per memory level."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cores import Core
from trimtab.planner.kernel_calls import KernelCall


@dataclass(frozen=True)
class Level:
    """A memory level. `bytes`: its size; `rate`: bytes per nanosecond (GB/s), read or copied,
    whichever is faster.
    """

    name: str
    bytes: float
    rate: float


@dataclass(frozen=True)
class Machine:
    """The measured limits. `peaks`: operations per nanosecond (GFLOP/s) by instruction set;
    `levels`: smallest first, the last one is unlimited.
    """

    peaks: dict[str, float]
    levels: tuple[Level, ...]

    def limit(self, layer: KernelCall, isa: str) -> tuple[float, str]:
        """The minimum nanoseconds of a layer, and its limit: "FMA" or a memory level."""
        by_memory, name = self.moving(layer.bytes)
        by_compute = layer.operations / self.peaks[isa]
        return (by_compute, "FMA") if by_compute > by_memory else (by_memory, name)

    def moving(self, bytes: int) -> tuple[float, str]:
        """The minimum nanoseconds of moving `bytes` once, and the level that holds them.

        A cache still holds a part of data that is larger than it.
        """
        ns, cached = 0.0, 0.0
        for level in self.levels:
            ns += (min(bytes, level.bytes) - cached) / level.rate
            cached = level.bytes
            if bytes <= cached:
                break
        return ns, level.name


def data_caches(core: Core) -> dict[str, int]:
    """Sizes of a core's data caches in bytes, smallest first."""
    caches = {"L1": core.l1d, "L2": core.l2, "L3": core.l3}
    return {name: cache.bytes for name, cache in caches.items() if cache}


def working_sets(caches: dict[str, int]) -> dict[str, int]:
    """Bytes to move per level: half of a cache; for memory, four times the largest cache."""
    return {name: size // 2 for name, size in caches.items()} | {"memory": 4 * max(caches.values())}
