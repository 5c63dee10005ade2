"""What operators move: counted instructions, simulated misses, bytes of memory, modeled cycles.

From the log of the plug-in that simulates caches (docs/model.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from lab.time_model import throughput
from trimtab.cores import Core
from trimtab.devices.cache_log import CacheLog, Interval
from trimtab.errors import EmulatorError
from trimtab.progress import SILENT, Progress

_OP_END = 6  # the runner's marker behind an operator


@dataclass(frozen=True)
class Traffic:
    """What an operator or a network costs; sums over all threads, but for `cycles`.

    `cycles`: modeled, without waiting for memory, of the thread that executes most. `l1_misses`,
    `l2_misses`: lines. `read_bytes`, `written_bytes`: of memory, in whole lines.
    """

    instructions: int = 0
    cycles: float = 0.0
    l1_misses: int = 0
    l2_misses: int = 0
    read_bytes: int = 0
    written_bytes: int = 0

    @property
    def bytes(self) -> int:
        """All that crosses the bus."""
        return self.read_bytes + self.written_bytes


def total(parts: Iterable[Traffic]) -> Traffic:
    """The sum."""
    rows = [[getattr(part, f.name) for f in fields(Traffic)] for part in parts]
    return Traffic(*map(sum, zip(*rows, strict=True))) if rows else Traffic()


def of_operators(log: CacheLog, core: Core, progress: Progress = SILENT) -> dict[int, Traffic]:
    """The last turn of each operator in the log, by its index. What happens between operators, such
    as printing, is not in it. EmulatorError when the log has none; UsageError for a core that LLVM
    has no model of.
    """
    turns = {one.index: one for one in log.intervals if one.phase == _OP_END}
    if not turns:
        raise EmulatorError(
            "the emulator saw no operators",
            hint="the runner and trimtab are of different versions: build again",
        )
    executed = sorted({number for interval in turns.values() for number in interval.ran})
    cycles = throughput.cycles({number: log.blocks[number] for number in executed}, core, progress)
    return {
        index: _of(interval, cycles, core.l1d.line_bytes)
        for index, interval in sorted(turns.items())
    }


def _of(interval: Interval, cycles: Mapping[int, float], line: int) -> Traffic:
    counts = [cpu.instructions for cpu in interval.cpus]
    instructions = sum(counts)
    modeled = sum(cycles.get(number, 0.0) * times for number, times in interval.ran.items())
    busiest = max(counts, default=0) / max(instructions, 1)
    last = interval.levels[-1] if interval.levels else None
    return Traffic(
        instructions=instructions,
        cycles=modeled * busiest,
        l1_misses=sum(cpu.l1_misses for cpu in interval.cpus),
        l2_misses=interval.levels[0].misses if interval.levels else 0,
        read_bytes=last.misses * line if last else 0,
        written_bytes=last.writes * line if last else 0,
    )
