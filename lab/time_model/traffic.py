"""Costs of operators: counted instructions, modeled cycles, simulated misses and memory traffic.

The source is the log of the plug-in that simulates caches (docs/model.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from lab.time_model import throughput
from trimtab.cores import Core
from trimtab.devices.cache_log import CacheInterval, CacheLog
from trimtab.errors import EmulatorError
from trimtab.progress import SILENT, Progress

_OP_END = 6  # the runner's marker after an operator


@dataclass(frozen=True)
class Traffic:
    """Costs of an operator or a network, summed over all threads except `cycles`.

    `cycles`: modeled, without memory stalls, of the busiest thread; `l1_misses`, `l2_misses`:
    cache lines; `read_bytes`, `written_bytes`: memory traffic in whole lines.
    """

    instructions: int = 0
    cycles: float = 0.0
    l1_misses: int = 0
    l2_misses: int = 0
    read_bytes: int = 0
    written_bytes: int = 0

    @property
    def bytes(self) -> int:
        """All memory traffic."""
        return self.read_bytes + self.written_bytes


def total(parts: Iterable[Traffic]) -> Traffic:
    """The sum of costs."""
    rows = [[getattr(part, f.name) for f in fields(Traffic)] for part in parts]
    return Traffic(*map(sum, zip(*rows, strict=True))) if rows else Traffic()


def of_operators(log: CacheLog, core: Core, progress: Progress = SILENT) -> dict[int, Traffic]:
    """Costs of the last run of each operator in the log, by operator index.

    Code between operators, such as printing, is not included. EmulatorError when the log has no
    operators; UsageError for a core without an LLVM model.
    """
    runs = {one.index: one for one in log.intervals if one.phase == _OP_END}
    if not runs:
        raise EmulatorError(
            "the log of the emulator has no operators",
            hint="runner and trimtab differ in version: build again",
        )
    executed = sorted({n for one in runs.values() for cpu in one.cpus for n in cpu.ran})
    cycles = throughput.cycles({number: log.blocks[number] for number in executed}, core, progress)
    return {
        index: _of(interval, cycles, core.l1d.line_bytes)
        for index, interval in sorted(runs.items())
    }


def _of(interval: CacheInterval, cycles: Mapping[int, float], line: int) -> Traffic:
    cpus = interval.cpus
    modeled = (sum(cycles.get(n, 0.0) * times for n, times in cpu.ran.items()) for cpu in cpus)
    last = interval.levels[-1] if interval.levels else None
    return Traffic(
        instructions=sum(cpu.instructions for cpu in cpus),
        cycles=max(modeled, default=0.0),
        l1_misses=sum(cpu.l1_misses for cpu in cpus),
        l2_misses=interval.levels[0].misses if interval.levels else 0,
        read_bytes=last.misses * line if last else 0,
        written_bytes=last.writes * line if last else 0,
    )
