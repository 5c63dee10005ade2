"""Options that several tasks have: what their words mean, and how they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trimtab.planner.choices import Plan

PLAN_HELP = "TOML file with choices of algorithms and kernels (./inv inspect --plan)"
INPUT_HELP = "shape of a free input: NAME=1,3,224,224 (repeatable)"
RESULTS_HELP = "folder of the runs (default: results/)"


def parse_inputs(given: list[str]) -> dict[str, tuple[int, ...]]:
    """["data=1,3,224,224"] -> {"data": (1, 3, 224, 224)}; UsageError for anything else."""
    from trimtab.errors import UsageError

    shapes = {}
    for text in given:
        name, _, dims = text.rpartition("=")
        try:
            shapes[name] = tuple(int(d) for d in dims.split(","))
        except ValueError:
            shapes[name] = ()
        if not name or not shapes[name] or min(shapes[name]) < 1:
            raise UsageError(
                f"cannot read the input shape {text!r}", hint="write it as NAME=1,3,224,224"
            )
    return shapes


def read_plan(path: str) -> Plan | None:
    """The plan in a TOML file; None for "", which leaves everything to the planner's rules."""
    from trimtab.planner.choices import Plan

    return Plan.read(path) if path else None
