"""The log of the plug-in that simulates caches (runtime/tools/cache_plugin.c): what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.errors import EmulatorError


@dataclass(frozen=True)
class CpuCounts:
    """What one virtual CPU did."""

    instructions: int
    l1_misses: int


@dataclass(frozen=True)
class LevelCounts:
    """Lines of one level from L2 on: `misses` were read from below, `writes` written to it."""

    misses: int
    writes: int


@dataclass(frozen=True)
class CacheInterval:
    """What was executed between one of the runner's markers and the one before.

    `phase`, `index`: of the marker at its end. `levels`: L2 and, where there is one, L3. `ran`: by
    the number of a block of machine code, how often it was executed.
    """

    phase: int
    index: int
    cpus: tuple[CpuCounts, ...]
    levels: tuple[LevelCounts, ...]
    ran: Mapping[int, int]


@dataclass(frozen=True)
class CacheLog:
    """A run: intervals in order of execution, the last one ends with phase 0 when the process ended
    by itself; the machine code of each block, by its number.
    """

    intervals: tuple[CacheInterval, ...]
    blocks: Mapping[int, bytes]


def parse(text: str) -> CacheLog:
    """Reads the plug-in's log. EmulatorError for any line that it does not write: QEMU complains
    into the same file.
    """
    blocks: dict[int, bytes] = {}
    marks: list[tuple[int, int]] = []
    parts: list[tuple[list[CpuCounts], list[LevelCounts], dict[int, int]]] = []
    for line in text.splitlines():
        kind, *words = line.split()
        try:
            if kind == "block":
                blocks[int(words[0])] = bytes.fromhex(words[1])
                continue
            numbers = tuple(map(int, words))
            if kind == "mark":
                phase, index = numbers
                marks.append((phase, index))
                parts.append(([], [], {}))
            elif kind == "cpu":
                parts[-1][0].append(CpuCounts(*numbers[1:]))
            elif kind == "level":
                parts[-1][1].append(LevelCounts(*numbers[1:]))
            elif kind == "ran":
                parts[-1][2][numbers[0]] = numbers[1]
            else:
                raise ValueError
        except (ValueError, TypeError, IndexError):
            raise EmulatorError(
                f"the cache plug-in's log has an unexpected line: {line[:200]}"
            ) from None
    return CacheLog(
        tuple(
            CacheInterval(phase, index, tuple(cpus), tuple(levels), ran)
            for (phase, index), (cpus, levels, ran) in zip(marks, parts, strict=True)
        ),
        blocks,
    )
