"""A model of inference time from modeled cycles and simulated memory traffic.

    time = STALLS x cycles / clock + (bytes read + bytes written) / bandwidth

It is no latency: docs/model.md has its validation and its limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from lab.committed import Baseline
from lab.experiment import Experiment, FigureRow, computed, figure, figure_row, text
from lab.time_model.traffic import Traffic, total
from trimtab.cores import Core, Memory
from trimtab.errors import UsageError
from trimtab.planner.cost import STALLS
from trimtab.tables import Column, Table, number

_MEGA = 1e6


@figure_row
class TimeModelRow(FigureRow):
    """The modeled inference of a network; the counts are those of `Traffic`."""

    model: str = text("network")
    cpu: str = text("core")
    precision: str = text("precision")
    threads: int = figure("threads")
    instructions: int = figure()
    millions: float = computed(
        "million instructions", ".1f", of=lambda row: row.instructions / _MEGA
    )
    cycles: int = figure()
    l1_misses: int = figure()
    l2_misses: int = figure()
    read_bytes: int = figure()
    written_bytes: int = figure()
    read_mb: float = computed("MB read", ".1f", of=lambda row: row.read_bytes / _MEGA)
    written_mb: float = computed("MB written", ".1f", of=lambda row: row.written_bytes / _MEGA)
    modeled_ms: float = figure("modeled ms", ".1f")


TIME_MODEL = Experiment(
    "bench.model",
    "time_model",
    TimeModelRow,
    selection=("model",),
    baseline=Baseline("time_model", ("model", "cpu", "precision", "threads"), ("modeled_ms",)),
)
NOTE = "Modeled times, not measured ones."


@dataclass(frozen=True)
class ModeledInference:
    """An inference of a network on a modeled core. `core`: with the bandwidth of the board."""

    model: str
    core: Core
    precision: str
    threads: int
    operators: tuple[tuple[str, Traffic], ...]
    versions: Mapping[str, str]

    @property
    def total(self) -> Traffic:
        """The sum of all operators."""
        return total(traffic for _, traffic in self.operators)

    def seconds(self, traffic: Traffic) -> float:
        """The modeled time of `traffic`."""
        return seconds(traffic, memory_of(self.core))

    def row(self) -> TimeModelRow:
        """The row of the result file."""
        return TimeModelRow(**self._key(), **self._costs(self.total))

    def facts(self) -> dict[str, Any]:
        """The memory, the total and the operators, each with `modeled_ms`, for JSON."""
        operators = [{"label": label, **self._costs(part)} for label, part in self.operators]
        costs = {"total": self._costs(self.total), "operators": operators}
        memory = asdict(memory_of(self.core))
        return {**self._key(), "memory": memory, **costs, "versions": self.versions}

    def _key(self) -> dict[str, Any]:
        key = {"model": self.model, "cpu": self.core.name, "precision": self.precision}
        return {**key, "threads": self.threads}

    def _costs(self, traffic: Traffic) -> dict[str, Any]:
        modeled = round(self.seconds(traffic) * 1e3, 4)
        return {**asdict(replace(traffic, cycles=round(traffic.cycles))), "modeled_ms": modeled}

    def table(self) -> Table:
        """The total, then one row per operator."""
        columns = [
            Column(f"{self.model}, {self.core.name}, {self.precision}, {self.threads} threads"),
            *(number("instructions", ","), number("cycles", ",.0f")),
            *(number("L1 misses", ","), number("L2 misses", ",")),
            *(number("MB read", ".2f"), number("MB written", ".2f")),
            number("modeled ms", ".3f"),
        ]
        parts = [("inference", self.total), *((f"  {name}", part) for name, part in self.operators)]
        rows = [
            (
                *(label, part.instructions, part.cycles, part.l1_misses, part.l2_misses),
                *(part.read_bytes / _MEGA, part.written_bytes / _MEGA),
                self.seconds(part) * 1e3,
            )
            for label, part in parts
        ]
        return Table(columns, rows)


def seconds(traffic: Traffic, memory: Memory) -> float:
    """The modeled time of `traffic`."""
    computing = STALLS * traffic.cycles / (memory.clock_ghz * 1e9)
    return computing + traffic.bytes / (memory.gb_per_s * 1e9)


def memory_of(core: Core) -> Memory:
    """Clock and bandwidth from the core's file; UsageError without them."""
    if core.memory is None:
        raise UsageError(
            f"the file of {core.name} has neither clock nor bandwidth",
            hint="add a table [memory] (docs/cores.md)",
        )
    return core.memory


def with_board(core: Core, l2_bytes: int | None, gb_per_s: float | None) -> Core:
    """The core with another L2 size or another bandwidth.

    UsageError for an L2 size that is not a multiple of ways times line size.
    """
    if l2_bytes is not None:
        per_set = core.l2.ways * core.l2.line_bytes
        if l2_bytes < per_set or l2_bytes % per_set:
            raise UsageError(
                f"invalid L2 size of {l2_bytes} bytes",
                where=f"core {core.name}",
                hint=f"its {core.l2.ways} ways of {core.l2.line_bytes}-byte lines need a multiple "
                f"of {per_set} bytes",
            )
        core = replace(core, l2=replace(core.l2, bytes=l2_bytes))
    if gb_per_s is not None:
        if not 0 < gb_per_s < 10_000:
            raise UsageError(f"invalid bandwidth of {gb_per_s} GB/s", hint="e.g. --dram 2.5")
        core = replace(core, memory=replace(memory_of(core), gb_per_s=gb_per_s))
    return core
