"""The cost and benefit of each algorithm and kernel of a plan: bytes of code and weights, and the
time that they save.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab import cores
from trimtab.build.toolchain import find_toolchain
from trimtab.errors import UsageError
from trimtab.paths import PROGRAM
from trimtab.pipeline.planned import Planned
from trimtab.planner import code_bytes, code_selection, planner
from trimtab.planner.code_selection import Constraints
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.tables import Column, Table, number
from trimtab.target import Target

# Toolchains whose code sizes are known, the preferred one first.
_TOOLCHAINS = ("aarch64-linux-musl", "armv7-linux-musleabihf", "x86_64-linux-musl")


@dataclass(frozen=True)
class PlanCost:
    """An algorithm or kernel of a plan. `code_bytes`, `model_bytes`: how much smaller the binary
    and the model are without it; `time`: the estimated time of the plan without it, relative to the
    plan with it. None: the network cannot be planned without it.
    """

    part: str
    code_bytes: int
    model_bytes: int | None
    time: float | None


def plan_costs(planned: Planned, progress: Progress = SILENT) -> list[PlanCost]:
    """The cost of every algorithm and kernel of a plan, by planning the network without it.

    UsageError if no code sizes are known for the architecture.
    """
    target, source, program = planned.loaded.target, planned.optimized, planned.program
    code = code_bytes.code_sizes(target.arch)
    if code is None:
        raise UsageError(
            f"code sizes are not known for {target.arch}",
            hint=f"{PROGRAM} size FOLDER shows the sizes in a build",
        )
    constraints = Constraints(target, planned.plan)
    cost, weights = code_selection.code_cost(program, constraints, code), _weight_bytes(program)
    costs, needed = [], code_bytes.called_kernels(*program.ops)
    for part, without in code_selection.omissions(program, constraints):
        with progress.step(f"plan without {part}"):
            other = code_selection.attempt(lambda t, p: planner.plan(source, t, p), without)
        if other:
            needed &= code_bytes.called_kernels(*other.ops)
            other_cost = code_selection.code_cost(other, without, code)
            costs.append(
                PlanCost(
                    part,
                    cost.bytes - other_cost.bytes,
                    weights - _weight_bytes(other),
                    other_cost.time / cost.time if cost.time else 1.0,
                )
            )
    sizes = {name: code.kernels.get(name, 0) for name in needed}
    largest_first = sorted(needed, key=lambda name: (-sizes[name], name))
    return [*costs, *(PlanCost(name, sizes[name], None, None) for name in largest_first)]


def toolchain_with_code_sizes(cpu: str) -> str:
    """The toolchain for a core, or for this machine's architecture, whose code sizes are known;
    "host" if there is none.
    """
    architectures = cores.find(cpu).features if cpu else {Target.host().arch}
    matches = (name for name in _TOOLCHAINS if find_toolchain(name).arch in architectures)
    return next(matches, "host")


def table(costs: Sequence[PlanCost]) -> Table:
    """One row per algorithm or kernel."""
    columns = [
        Column("algorithm or kernel"),
        number("bytes of code", ",", key="code_bytes"),
        number("bytes of model", ",", absent="", key="model_bytes"),
        number("time without it", ".3f", absent="needed", key="time"),
    ]
    rows = [(cost.part, cost.code_bytes, cost.model_bytes, cost.time) for cost in costs]
    return Table(columns, rows)


def _weight_bytes(program: Program) -> int:
    return sum(var.data.nbytes for var in program.vars.values() if var.data is not None)
