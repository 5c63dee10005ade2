"""A model of inference time from modeled cycles and simulated memory traffic.

    time = STALLS x cycles / clock + (bytes read + bytes written) / bandwidth

It is no latency: docs/model.md has its validation and its limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from lab.committed import Baseline, Results
from lab.time_model.traffic import Traffic, total
from trimtab import __version__, strict_json
from trimtab.cores import Core, Memory
from trimtab.errors import UsageError
from trimtab.planner.cost import STALLS
from trimtab.tables import Column, Table, number

BASELINE = Baseline("time_model", ("model", "cpu", "precision", "threads"), ("modeled_ms",))
_MEGA = 1e6


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

    def to_json(self) -> str:
        """A JSON object of the memory, the total and the operators, each with `modeled_ms`."""
        whole = self._row(self.total)
        operators = [{"label": label, **self._row(part)} for label, part in self.operators]
        facts = self._facts()
        memory = asdict(memory_of(self.core))
        values = {**facts, "memory": memory, "total": whole, "operators": operators}
        return strict_json.dumps({**values, "versions": self.versions}, indent=1)

    def record(self) -> dict[str, object]:
        """The committed row."""
        return {**self._facts(), **self._row(self.total)}

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

    def _facts(self) -> dict[str, object]:
        facts = {"model": self.model, "cpu": self.core.name, "precision": self.precision}
        return {**facts, "threads": self.threads}

    def _row(self, traffic: Traffic) -> dict[str, object]:
        modeled = round(self.seconds(traffic) * 1e3, 4)
        return {**asdict(replace(traffic, cycles=round(traffic.cycles))), "modeled_ms": modeled}


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


def totals(inferences: Sequence[ModeledInference]) -> Table:
    """One row per network."""
    columns = [
        *(Column("model"), Column("cpu"), Column("precision"), number("threads")),
        number("instructions", ","),
        *(number("MB read", ".1f"), number("MB written", ".1f"), number("modeled ms", ".1f")),
    ]
    rows = [
        (
            *(one.model, one.core.name, one.precision, one.threads, one.total.instructions),
            *(one.total.read_bytes / _MEGA, one.total.written_bytes / _MEGA),
            one.seconds(one.total) * 1e3,
        )
        for one in inferences
    ]
    return Table(columns, rows)


def to_results(inferences: Sequence[ModeledInference], command: str) -> Results:
    """The content of the result file."""
    versions = {name: version for one in inferences for name, version in one.versions.items()}
    notes = ["Modeled times, not measured ones."]
    rows = [one.record() for one in inferences]
    return Results(
        command=command, versions={"trimtab": __version__, **versions}, notes=notes, rows=rows
    )
