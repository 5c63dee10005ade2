"""A network in the precision that its plan asks for, and how near to float32 that is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trimtab import passes, quantization
from trimtab.accuracy import Accuracy, Search
from trimtab.errors import PlanError, TrimtabError, UsageError
from trimtab.pipeline.quantize import Calibration
from trimtab.planner.plan_file import Plan
from trimtab.planner.precision import is_quantized
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.target import Target

_SEEDED = (
    2  # inputs that tell the accuracy of f16 where no samples are named: few, they tell little
)


@dataclass(frozen=True)
class Precise:
    """`program`: not optimized yet, on integers where it is to be; `plan`: what else is decided for
    it; `accuracy`: beside the float32 program, None where nothing tells; `search`: what was
    tried to keep a budget; `is_own`: it was quantized here, so that no model file holds it.
    """

    program: Program
    plan: Plan | None
    accuracy: Accuracy | None = None
    search: Search | None = None
    is_own: bool = False

    def lines(self) -> list[str]:
        """The accuracy, and what was chosen and why, for comments: names in it may hold anything,
        so that none ends its line.
        """
        rows = self.accuracy.rows() if self.accuracy else []
        told = [f"{what}: {figure}" for what, figure in rows]
        told += self.search.lines() if self.search else []
        return ["".join(c if c.isprintable() else " " for c in line) for line in told]

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
    if is_quantized(program) or program.planned:
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
    made = calibration.quantized(program, types, target, progress)
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
    return "planned" if program.planned else "quantized"


def _accuracy_of_half(
    program: Program, plan: Plan, calibration: Calibration, progress: Progress
) -> Accuracy | None:
    """That of f16 on the samples held out, or where there are none on seeded noise; None where
    this machine cannot compute it.
    """
    if calibration.method or calibration.ranges or calibration.budget:
        raise UsageError(
            "f16 has neither ranges nor a budget",
            hint="leave out --method, --ranges and --budget, or --precision mixed",
        )
    half = Plan(precision=plan.precision)
    if calibration:
        held_out = calibration.read(program, progress).held_out
    else:
        held_out = quantization.noise(program, _SEEDED)
    # Nobody asked for the figure of noise: a network that does not bear it is built all the same.
    unknown = PlanError if calibration else TrimtabError
    try:
        return quantization.compare(program, passes.optimize(program), held_out, progress, half)
    except unknown as error:
        progress.note(f"the accuracy of f16 is not known: {error}")
        return None
