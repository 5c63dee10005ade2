"""The planner's estimates of its plans, beside the plans of a fixed rule.

`before.json` holds the algorithms of the fixed rule, which chose by shape alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from lab import committed
from lab.committed import Baseline, Results
from trimtab import __version__, passes
from trimtab.pipeline.resolve import load_program
from trimtab.planner import planner
from trimtab.planner.plan_file import Choice, Plan, operator_keys
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.tables import Column, Table, number
from trimtab.target import Target

BASELINE = Baseline("plans", ("network", "cpu", "threads"), ("mcycles",))
CPUS = ("cortex-a53", "cortex-a55", "cortex-a72", "cortex-a76")
THREADS = (1, 4)

_MILLION = 1e6


@dataclass(frozen=True)
class Estimate:
    """Cost of the operators with a choice of algorithms, by the cost model.

    Millions of cycles and megabytes of memory traffic: of the planner's plan, and, `was_...`, of
    the plan of the fixed rule.
    """

    network: str
    cpu: str
    threads: int
    mcycles: float
    was_mcycles: float
    mbytes: float
    was_mbytes: float


def estimate_zoo(networks: Sequence[str], progress: Progress = SILENT) -> list[Estimate]:
    """Estimates each network of the zoo for every target."""
    estimates = []
    with progress.step("plan the networks", "networks") as step:
        for done, name in enumerate(networks):
            step.update(done, len(networks), name)
            program = passes.optimize(load_program(name, progress=progress))
            for target in targets():
                estimates.append(estimate(name, program, target, fixed_rule(name, target)))
        step.update(len(networks), len(networks))
    return estimates


def estimate(network: str, program: Program, target: Target, before: Mapping[str, str]) -> Estimate:
    """Estimates an optimized `program`. `before`: algorithms of the fixed rule, by operator."""
    fixed = {key: Choice(before[key]) for key in operator_keys(program) if key in before}
    figures = []
    # The fixed choices are of any rounding error, so the rule's may be, too.
    for plan in (Plan(accuracy="fast"), Plan(operators=fixed)):
        parts = planner.operator_costs(planner.decide(program, target, plan), target)
        figures += [sum(part.cycles for part in parts), sum(part.bytes for part in parts)]
    cycles, traffic, was_cycles, was_traffic = (round(figure / _MILLION, 3) for figure in figures)
    cpu = target.core.name
    return Estimate(network, cpu, target.threads, cycles, was_cycles, traffic, was_traffic)


def fixed_rule(network: str, target: Target) -> dict[str, str]:
    """The algorithms that the fixed rule chose for a zoo network, by operator."""
    key = (network, target.core.name, target.threads)
    rows = committed.read("plans/before").rows
    own = [row for row in rows if (row["network"], row["cpu"], row["threads"]) == key]
    return {name: row["algorithm"] for row in own for name in row["operators"]}


def targets() -> list[Target]:
    """The targets of the committed estimates."""
    cores = [Target.of("aarch64", cpu) for cpu in CPUS]
    return [replace(core, threads=threads) for core in cores for threads in THREADS]


def table(estimates: Sequence[Estimate]) -> Table:
    """One row per network, core and number of threads."""
    columns = [Column("network"), Column("core", key="cpu"), number("threads")]
    columns += [number(head, ".3f", key=key) for head, key in _FIGURES.items()]
    return Table(columns, [tuple(asdict(one).values()) for one in estimates])


_FIGURES = {
    "Mcycles": "mcycles",
    "Mcycles before": "was_mcycles",
    "MB of memory": "mbytes",
    "MB before": "was_mbytes",
}


def to_results(estimates: Sequence[Estimate], command: str) -> Results:
    """The content of the result file."""
    notes = ["Estimates by the cost model, not measurements."]
    rows = table(estimates).records()
    return Results(command=command, versions={"trimtab": __version__}, notes=notes, rows=rows)
