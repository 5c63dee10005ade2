"""The log of the plug-in that simulates caches (runtime/tools/cache_plugin.c)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trimtab.errors import EmulatorError


@dataclass(frozen=True)
class CpuCounts:
    """The counts of one virtual CPU. `ran`: the number of executions of each block of machine code,
    by its number.
    """

    instructions: int
    l1_misses: int
    ran: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class LevelCounts:
    """Cache lines of one level from L2 on: `misses` read from the level below, `writes` to it."""

    misses: int
    writes: int


@dataclass(frozen=True)
class CacheInterval:
    """The execution between two markers of the runner.

    `phase`, `index`: those of the marker at its end. `levels`: L2, and L3 if there is one.
    """

    phase: int
    index: int
    cpus: tuple[CpuCounts, ...]
    levels: tuple[LevelCounts, ...]


@dataclass(frozen=True)
class CacheLog:
    """The log of one run.

    `intervals` are in order of execution; the last one ends with phase 0 if the process ended by
    itself. `blocks`: the machine code of each block, by its number.
    """

    intervals: tuple[CacheInterval, ...]
    blocks: Mapping[int, bytes]


def parse(text: str) -> CacheLog:
    """Parses the log. Raises EmulatorError for other lines: QEMU complains into the same file."""
    blocks: dict[int, bytes] = {}
    marks: list[tuple[int, int]] = []
    parts: list[tuple[list[CpuCounts], list[LevelCounts]]] = []
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
                parts.append(([], []))
            elif kind == "cpu":
                _, instructions, l1_misses = numbers
                parts[-1][0].append(CpuCounts(instructions, l1_misses))
            elif kind == "level":
                parts[-1][1].append(LevelCounts(*numbers[1:]))
            elif kind == "ran":
                parts[-1][0][-1].ran[numbers[0]] = numbers[1]
            else:
                raise ValueError
        except (ValueError, TypeError, IndexError):
            raise EmulatorError(
                f"the cache plug-in's log has an unexpected line: {line[:200]}"
            ) from None
    return CacheLog(
        tuple(
            CacheInterval(phase, index, tuple(cpus), tuple(levels))
            for (phase, index), (cpus, levels) in zip(marks, parts, strict=True)
        ),
        blocks,
    )
