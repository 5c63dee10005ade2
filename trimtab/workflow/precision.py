"""A network in the precision that its plan asks for, and how near to float32 that is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trimtab import passes, quantise
from trimtab.accuracy import Accuracy, Search
from trimtab.errors import PlanError, UsageError
from trimtab.planner.choices import Plan
from trimtab.planner.precision import is_quantised
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.target import Target
from trimtab.workflow.quantise import Calibration


@dataclass(frozen=True)
class Precise:
    """`program`: not optimised yet, on integers where it is to be; `plan`: what else is decided for
    it; `accuracy`: beside the float32 program, None where no samples tell; `search`: what was
    tried to keep a budget; `is_own`: it was quantised here, so that no model file holds it.
    """

    program: Program
    plan: Plan | None
    accuracy: Accuracy | None = None
    search: Search | None = None
    is_own: bool = False

    def kept(self, plan: Plan) -> Plan:
        """`plan` with the precisions that were decided here."""
        if self.plan is None or not self.is_own:
            return plan
        return replace(plan, precision=self.plan.precision, precisions=self.plan.precisions)


def with_precision(
    program: Program,
    plan: Plan | None,
    calibration: Calibration,
    target: Target,
    progress: Progress = SILENT,
) -> Precise:
    """`program` with the precision of `plan` for `target`.

    UsageError where samples are missing, or not needed; CalibrationError where they do not fit.
    """
    precision = plan.precision if plan else "f32"
    if is_quantised(program) or program.planned:
        if calibration.budget or (plan and precision == "mixed" and not plan.precisions):
            raise UsageError(
                f"it is {_state(program)} already, so no precisions can be searched: what they "
                "lose is told beside the float32 network",
                where=program.name,
                hint="give the float32 model; or take this one as it is, without --budget and "
                "--precision mixed",
            )
        if calibration:
            progress.note(
                f"{program.name} is {_state(program)} already, and taken as it is: samples are not "
                "needed"
            )
        return Precise(program, plan)
    if plan is None or precision == "f32":
        _check_idle(calibration)
        return Precise(program, plan)
    if precision == "f16":
        return Precise(program, plan, _accuracy_of_half(program, plan, calibration, progress))
    types = plan.precisions
    if precision == "mixed" and not (calibration.budget or types):
        raise UsageError(
            "mixed precision needs a budget",
            hint='--budget "top1 >= 99 %", "error <= 0.02", "cosine >= 0.999" or '
            '"noise <= 0.01 %", or a plan with [precisions]',
        )
    if precision == "int8" and calibration.budget:
        raise UsageError("int8 has no budget", hint="--precision mixed keeps one")
    made = calibration.quantised(program, types, target, progress)
    if made.search:
        for line in made.search.lines():
            progress.note(line)
    plan = replace(plan, precision=made.plan.precision, precisions=made.plan.precisions)
    return Precise(made.program, plan, made.accuracy, made.search, is_own=True)


def _check_idle(calibration: Calibration) -> None:
    """UsageError for what f32 has no use for."""
    if calibration.budget:
        raise UsageError(
            "a budget is for mixed precision, and this is f32",
            hint="--precision mixed --calibration FILE.npz or FOLDER, or without --budget",
        )
    if calibration:
        what = "samples are" if calibration.samples else "a method and ranges are"
        raise UsageError(
            f"{what} for a precision below f32",
            hint="--precision int8, or none of --calibration, --method and --ranges",
        )


def _state(program: Program) -> str:
    return "planned" if program.planned else "quantised"


def _accuracy_of_half(
    program: Program, plan: Plan, calibration: Calibration, progress: Progress
) -> Accuracy | None:
    """That of f16, where there are samples, and this machine can compute in it."""
    if not calibration:
        return None
    if calibration.method or calibration.ranges or calibration.budget:
        raise UsageError(
            "f16 has neither ranges nor a budget",
            hint="leave out --method, --ranges and --budget, or --precision mixed",
        )
    held_out = calibration.read(program, progress).held_out
    half = Plan(precision=plan.precision)
    try:
        return quantise.compare(program, passes.optimize(program), held_out, progress, half)
    except PlanError as error:
        progress.note(f"the accuracy of f16 is not known: {error}")
        return None
