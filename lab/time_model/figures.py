"""A model of time: what counted instructions, modeled cycles and simulated misses add up to.

    time = STALLS x cycles / clock + (bytes read + bytes written) / bandwidth

A model, not a latency: docs/model.md has what it was held against, and where it fails.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from lab.committed import Baseline, Results
from lab.time_model.traffic import Traffic, total
from trimtab import __version__
from trimtab.cores import Core, Memory
from trimtab.errors import UsageError
from trimtab.planner.cost import STALLS
from trimtab.tables import Column, Table, number

BASELINE = Baseline("time_model", ("model", "cpu", "threads"), ("modeled_ms",))
_MEGA = 1e6


@dataclass(frozen=True)
class Modeled:
    """A network on a core. `core`: whose row was modeled, with the bandwidths that hold."""

    model: str
    core: Core
    threads: int
    operators: tuple[tuple[str, Traffic], ...]
    versions: Mapping[str, str]

    @property
    def total(self) -> Traffic:
        """All operators."""
        return total(traffic for _, traffic in self.operators)

    def seconds(self, traffic: Traffic) -> float:
        """The modeled time of what costs `traffic`."""
        return seconds(traffic, memory_of(self.core))

    def to_json(self) -> str:
        """An object: the memory of the row, the total, and the operators, with `modeled_ms`."""
        whole = self._row(self.total)
        operators = [{"label": label, **self._row(part)} for label, part in self.operators]
        facts = {"model": self.model, "cpu": self.core.name, "threads": self.threads}
        memory = asdict(memory_of(self.core))
        shown = {**facts, "memory": memory, "total": whole, "operators": operators}
        return json.dumps({**shown, "versions": self.versions}, indent=1)

    def record(self) -> dict[str, object]:
        """The row that is committed."""
        facts = {"model": self.model, "cpu": self.core.name, "threads": self.threads}
        return {**facts, **self._row(self.total)}

    def table(self) -> Table:
        """A row per operator, and the total first."""
        columns = [
            Column(f"{self.model}, {self.core.name}, {self.threads} threads"),
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

    def _row(self, traffic: Traffic) -> dict[str, object]:
        modeled = round(self.seconds(traffic) * 1e3, 4)
        return {**asdict(replace(traffic, cycles=round(traffic.cycles))), "modeled_ms": modeled}


def seconds(traffic: Traffic, memory: Memory) -> float:
    """The modeled time of what costs `traffic`."""
    computing = STALLS * traffic.cycles / (memory.clock_ghz * 1e9)
    return computing + traffic.bytes / (memory.gb_per_s * 1e9)


def memory_of(core: Core) -> Memory:
    """What the core's row says of clock and memory; UsageError when it says nothing."""
    if core.memory is None:
        raise UsageError(
            f"the row of {core.name} tells neither clock nor bandwidth",
            hint="give it a table [memory] (docs/cores.md)",
        )
    return core.memory


def with_board(core: Core, l2_bytes: int | None, gb_per_s: float | None) -> Core:
    """The core on a board with another L2 or another bandwidth.

    UsageError for an L2 that its ways and lines do not divide.
    """
    if l2_bytes is not None:
        per_set = core.l2.ways * core.l2.line_bytes
        if l2_bytes < per_set or l2_bytes % per_set:
            raise UsageError(
                f"an L2 of {l2_bytes} bytes cannot be",
                where=f"core {core.name}",
                hint=f"its {core.l2.ways} ways of {core.l2.line_bytes} byte lines take multiples "
                f"of {per_set} bytes",
            )
        core = replace(core, l2=replace(core.l2, bytes=l2_bytes))
    if gb_per_s is not None:
        if not 0 < gb_per_s < 10_000:
            raise UsageError(f"a bandwidth of {gb_per_s} GB/s cannot be", hint="e.g. --dram 2.5")
        core = replace(core, memory=replace(memory_of(core), gb_per_s=gb_per_s))
    return core


def totals(found: Sequence[Modeled]) -> Table:
    """A row per network."""
    columns = [
        *(Column("model"), Column("cpu"), number("threads"), number("instructions", ",")),
        *(number("MB read", ".1f"), number("MB written", ".1f"), number("modeled ms", ".1f")),
    ]
    rows = [
        (
            *(one.model, one.core.name, one.threads, one.total.instructions),
            *(one.total.read_bytes / _MEGA, one.total.written_bytes / _MEGA),
            one.seconds(one.total) * 1e3,
        )
        for one in found
    ]
    return Table(columns, rows)


def to_results(found: Sequence[Modeled], command: str) -> Results:
    """What is committed."""
    versions = {name: version for one in found for name, version in one.versions.items()}
    notes = ["Modeled times, not measured ones."]
    rows = [one.record() for one in found]
    return Results(
        command=command, versions={"trimtab": __version__, **versions}, notes=notes, rows=rows
    )
