"""Small networks for tuning, built without the engine."""

from __future__ import annotations

from collections.abc import Sequence

from tests.planner.test_planner import WINDOW, constant
from trimtab.planner import planner
from trimtab.planner.alternatives import DecidedPlan
from trimtab.planner.plan_file import Plan
from trimtab.program import Op, Program, Var
from trimtab.target import Target

HASWELL = Target.of("x86_64", "haswell")


def convolutions(*layers: tuple[int, int, int], size: int = 28) -> Program:
    """A sequence of convolutions (channels in, channels out, window); in and out are equal for a
    depthwise one, whose window is negative.
    """
    program = Program("net")
    program.add_input("x0", (1, layers[0][0], size, size))
    for i, (c_in, c_out, window) in enumerate(layers):
        group, k = (c_in, -window) if window < 0 else (1, window)
        inputs = [
            f"x{i}",
            constant(program, f"w{i}", c_out, c_in // group, k, k),
            constant(program, f"bias{i}", c_out),
        ]
        program.vars[f"x{i + 1}"] = Var(f"x{i + 1}", (1, c_out, size, size), layout="nhwc")
        pads = (k // 2,) * 4
        attributes = {**WINDOW, "group": group, "pads": pads}
        program.ops.append(Op("conv", inputs, [f"x{i + 1}"], attributes, f"conv{i}"))
    program.outputs = [f"x{len(layers)}"]
    return program


def by_rule(program: Program, target: Target = HASWELL, plan: Plan | None = None) -> DecidedPlan:
    """The plan of the rules, by default with algorithms of any rounding error."""
    plan = plan or Plan(accuracy="fast")
    return DecidedPlan(program, target, plan, planner.plan(program, target, plan))


def algorithms_of(plan: DecidedPlan) -> Sequence[str]:
    """The algorithm of each operator that the plan computes, in order."""
    return [
        plan.choices[op.outputs[0]].algorithm
        for op in plan.planned.steps
        if op.outputs[0] in plan.choices
    ]
