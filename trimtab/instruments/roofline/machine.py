"""The limits of this machine: multiply-adds per instruction set, and bytes per level of memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trimtab.planner.layers import Layer

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
# Where the system does not tell: the caches of a small ARM core.
_USUAL = {"L1": 32 << 10, "L2": 512 << 10}
_UNITS = {"K": 10, "M": 20, "G": 30}


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

    def limit(self, layer: Layer, isa: str) -> tuple[float, str]:
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


def cache_sizes(folder: Path = _CACHES) -> dict[str, int]:
    """Bytes of the data caches of one core, smallest first, as Linux tells them."""
    found = {}
    for index in sorted(folder.glob("index*")):
        try:
            kind, level, size = (
                (index / name).read_text(encoding="ascii").strip()
                for name in ("type", "level", "size")
            )
            if kind != "Instruction":
                found[f"L{level}"] = int(size[:-1]) << _UNITS[size[-1]]
        except (OSError, ValueError, KeyError, IndexError):
            continue
    return dict(sorted((found or _USUAL).items()))


def working_sets(caches: dict[str, int]) -> dict[str, int]:
    """Bytes that are moved to time each level: half of a cache; for the memory four times all."""
    return {name: size // 2 for name, size in caches.items()} | {"memory": 4 * max(caches.values())}
