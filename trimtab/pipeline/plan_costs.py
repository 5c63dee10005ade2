"""What each algorithm and kernel of a model's plan is worth: bytes of code and of weights, and the
time that they save.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import trimtab
from trimtab import cores, passes
from trimtab.build.toolchain import find_toolchain
from trimtab.errors import UsageError
from trimtab.pipeline.build import Recipe
from trimtab.pipeline.resolve import model_path, target_of
from trimtab.planner import code_bytes, code_selection, planner
from trimtab.planner.code_selection import Constraints
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.tables import Column, Table, number
from trimtab.target import Target

# Toolchains whose code sizes are known, the preferred one first.
_TOOLCHAINS = ("aarch64-linux-musl", "armv7-linux-musleabihf", "x86_64-linux-musl")


@dataclass(frozen=True)
class Worth:
    """Of one part of a plan. `code_bytes`, `model_bytes`: what a binary and a model have less
    without it; `time`: of the plan without it, relative to the plan with it, by the planner's
    measure. None: there is no plan without it.
    """

    part: str
    code_bytes: int
    model_bytes: int | None
    time: float | None


def worth(recipe: Recipe, progress: Progress = SILENT) -> list[Worth]:
    """Of every algorithm and kernel of the plan that `recipe` has for its model.

    UsageError where the bytes of code of its architecture are not known.
    """
    toolchain = recipe.toolchain or _toolchain(recipe.cpu)
    target = target_of(toolchain, recipe.cpu, recipe.threads, recipe.profile)
    code = code_bytes.code_sizes(target.arch)
    if code is None:
        raise UsageError(
            f"bytes of code are not known for {target.arch}",
            hint="./inv size FOLDER takes a build apart",
        )
    path = model_path(recipe.model, progress=progress)
    source = passes.optimize(trimtab.load(path, inputs=dict(recipe.shapes)))
    given = recipe.plan or Plan()
    planned = planner.plan(source, target, given)
    within = Constraints(target, given)
    whole, weights = code_selection.code_cost(planned, within, code), _weights(planned)
    found, needed = [], code_bytes.called_kernels(*planned.ops)
    for part, fewer in code_selection.omissions(planned, within):
        with progress.step(f"plan without {part}"):
            twin = code_selection.attempt(lambda t, g: planner.plan(source, t, g), fewer)
        if twin:
            needed &= code_bytes.called_kernels(*twin.ops)
            cost = code_selection.code_cost(twin, fewer, code)
            found.append(
                Worth(
                    part,
                    whole.bytes - cost.bytes,
                    weights - _weights(twin),
                    cost.time / whole.time if whole.time else 1.0,
                )
            )
    sizes = {name: code.kernels.get(name, 0) for name in needed}
    needed_first = sorted(needed, key=lambda name: (-sizes[name], name))
    return [*found, *(Worth(name, sizes[name], None, None) for name in needed_first)]


def _toolchain(cpu: str) -> str:
    """The one that sizes are kept of, for a core or for this machine."""
    runs = cores.find(cpu).features if cpu else {Target.host().arch}
    return next((name for name in _TOOLCHAINS if find_toolchain(name).arch in runs), "host")


def table(found: Sequence[Worth]) -> Table:
    """A row for each part."""
    columns = [
        Column("algorithm or kernel"),
        number("bytes of code", ",", key="code_bytes"),
        number("bytes of model", ",", absent="", key="model_bytes"),
        number("time without it", ".3f", absent="needed", key="time"),
    ]
    rows = [(one.part, one.code_bytes, one.model_bytes, one.time) for one in found]
    return Table(columns, rows)


def _weights(program: Program) -> int:
    return sum(var.data.nbytes for var in program.vars.values() if var.data is not None)
