"""What the planner estimates of its plans, beside those of a rule before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from trimtab import __version__
from trimtab.instruments import committed
from trimtab.instruments.committed import Baseline, Results
from trimtab.planner import planner
from trimtab.planner.plan_file import Choice, Plan, operator_keys
from trimtab.program import Program
from trimtab.tables import Column, Table, number
from trimtab.target import Target

BASELINE = Baseline("plans", ("network", "cpu", "threads"), ("mcycles",))
CPUS = ("cortex-a53", "cortex-a55", "cortex-a72", "cortex-a76")
THREADS = (1, 4)

_BEFORE = "plans-before"
_MILLION = 1e6


@dataclass(frozen=True)
class Estimated:
    """Operators of a network of which there is a choice of algorithms, on so many threads of a
    core: millions of cycles and megabytes of memory traffic by the planner's measure, of its plan
    and, `was_...`, of the plan of before.
    """

    network: str
    cpu: str
    threads: int
    mcycles: float
    was_mcycles: float
    mbytes: float
    was_mbytes: float


def estimate(
    network: str, program: Program, target: Target, before: Mapping[str, str]
) -> Estimated:
    """`program`: optimized, not planned. `before`: the algorithms that it had, by operator."""
    old = {key: Choice(before[key]) for key in operator_keys(program) if key in before}
    figures = []
    for given in (Plan(), Plan(operators=old)):
        parts = planner.operator_costs(planner.decide(program, target, given), target)
        figures += [sum(part.cycles for part in parts), sum(part.bytes for part in parts)]
    cycles, traffic, was_cycles, was_traffic = (round(figure / _MILLION, 3) for figure in figures)
    cpu = target.core.name
    return Estimated(network, cpu, target.threads, cycles, was_cycles, traffic, was_traffic)


def before(network: str, target: Target) -> dict[str, str]:
    """The algorithms that the operators of a zoo network had, by name."""
    wanted = (network, target.core.name, target.threads)
    rows = committed.read(_BEFORE).rows
    own = [row for row in rows if (row["network"], row["cpu"], row["threads"]) == wanted]
    return {name: row["algorithm"] for row in own for name in row["operators"]}


def targets() -> list[Target]:
    """The machines that estimates are kept for."""
    cores = [Target.of("aarch64", cpu) for cpu in CPUS]
    return [replace(core, threads=threads) for core in cores for threads in THREADS]


def table(found: Sequence[Estimated]) -> Table:
    """A row per network, core and number of threads."""
    columns = [Column("network"), Column("core", key="cpu"), number("threads")]
    columns += [number(head, ".3f", key=key) for head, key in _FIGURES.items()]
    return Table(columns, [tuple(asdict(one).values()) for one in found])


_FIGURES = {
    "Mcycles": "mcycles",
    "Mcycles before": "was_mcycles",
    "MB of memory": "mbytes",
    "MB before": "was_mbytes",
}


def to_results(found: Sequence[Estimated], command: str) -> Results:
    """What is committed."""
    notes = ["Estimates by the planner's measure, not measurements."]
    rows = table(found).records()
    return Results(command=command, versions={"trimtab": __version__}, notes=notes, rows=rows)
