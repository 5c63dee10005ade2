"""The limits of this machine: multiply-adds per instruction set, and bytes per level of memory."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cores import Core
from trimtab.planner.kernel_calls import KernelCall


@dataclass(frozen=True)
class Level:
    """A level of the memory. `bytes`: what fits; `rate`: bytes per nanosecond (GB/s), read or
    copied, whichever is faster.
    """

    name: str
    bytes: float
    rate: float


@dataclass(frozen=True)
class Machine:
    """The limits that were measured. `peaks`: operations per nanosecond (GFLOP/s) by instruction
    set; `levels`: smallest first, the last one holds everything.
    """

    peaks: dict[str, float]
    levels: tuple[Level, ...]

    def limit(self, layer: KernelCall, isa: str) -> tuple[float, str]:
        """The least nanoseconds that a layer can take, and what allows no less: "FMA" or a level of
        the memory.
        """
        by_memory, name = self.moving(layer.bytes)
        by_products = layer.operations / self.peaks[isa]
        return (by_products, "FMA") if by_products > by_memory else (by_memory, name)

    def moving(self, bytes: int) -> tuple[float, str]:
        """The least nanoseconds for moving data of `bytes` once, and the level that they reach: of
        what is larger than a cache, the cache can still hold a part.
        """
        ns, held = 0.0, 0.0
        for level in self.levels:
            ns += (min(bytes, level.bytes) - held) / level.rate
            held = level.bytes
            if bytes <= held:
                break
        return ns, level.name


def data_caches(core: Core) -> dict[str, int]:
    """Bytes of a core's data caches, smallest first."""
    caches = {"L1": core.l1d, "L2": core.l2, "L3": core.l3}
    return {name: cache.bytes for name, cache in caches.items() if cache}


def working_sets(caches: dict[str, int]) -> dict[str, int]:
    """Bytes that are moved to time each level: half of a cache; for the memory four times all."""
    return {name: size // 2 for name, size in caches.items()} | {"memory": 4 * max(caches.values())}
