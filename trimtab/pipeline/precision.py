"""Converts a network to the precision of its plan, chooses how its weights are stored, and measures
its accuracy beside float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trimtab.accuracy import Accuracy, AccuracyBound, Search
from trimtab.errors import PlanError, TrimtabError, UsageError
from trimtab.pipeline import float16
from trimtab.pipeline.calibration import Calibration
from trimtab.planner.plan_file import WEIGHTS_AUTO, WEIGHTS_TYPES, Plan
from trimtab.planner.precision import AUTO, is_quantized
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantization import Quantized, compare, noise, standard_budget, stored_rounding
from trimtab.quantization.weights_search import StoredWeights
from trimtab.target import Target

_SEEDED_SAMPLES = 2  # which measure stored weights if there are no others


@dataclass(frozen=True)
class ConvertedNetwork:
    """A network in its plan's precision. `program` is not optimized yet, and quantized if the plan
    says so; `plan` has the precisions that were searched; `accuracy` is relative to float32, None
    if it is unknown; `search` is the search of precisions that met the budget.
    `quantized`: the result of quantization, if it happened here: then no model file holds this
    network. `stored`: the search of stored forms of weights that met the budget.
    """

    program: Program
    plan: Plan
    accuracy: Accuracy | None = None
    search: Search | None = None
    quantized: Quantized | None = None
    stored: StoredWeights | None = None

    @property
    def bounds(self) -> Sequence[AccuracyBound]:
        """The accuracy budget that a search of precisions or of stored weights met."""
        search = self.search or self.stored
        return search.bounds if search else ()

    def comments(self) -> list[str]:
        """The accuracy and the search as lines for comments, without characters that end a line."""
        search = self.search or self.stored
        rows = self.accuracy.rows(self.bounds) if self.accuracy else []
        lines = [f"{what}: {figure}" for what, figure in rows]
        lines += search.lines() if search else []
        return ["".join(c if c.isprintable() else " " for c in line) for line in lines]

    def with_precisions(self, plan: Plan) -> Plan:
        """`plan` with the precisions that were chosen for the network here."""
        if self.stored:
            plan = replace(plan, weights_type=WEIGHTS_AUTO, stored=self.stored.forms)
        if self.quantized is None and not self.plan.precisions:
            return plan
        return replace(plan, precision=self.plan.precision, precisions=self.plan.precisions)


def check(program: Program, plan: Plan, calibration: Calibration) -> None:
    """UsageError if `program` cannot be converted to the precision of `plan` with `calibration`,
    because samples or a budget are missing or not needed.
    """
    if not _is_final(program):
        check_float(plan, calibration, program.name)
    elif plan.chooses_weights:
        raise _no_choice_of_weights(_state(program), program.name)
    elif calibration.budget or (plan.precision == "mixed" and not plan.precisions):
        raise UsageError(
            f"the model is already {_state(program)}, so no precisions can be searched: their "
            "loss is measured beside the float32 network",
            where=program.name,
            hint="give the float32 model, or leave out --budget and --precision mixed to use "
            "this one as it is",
        )


def check_float(plan: Plan, calibration: Calibration, name: str) -> None:
    """The errors of `check` for any float network, of this name."""
    precision, is_searched = plan.precision, bool(plan.precisions)
    if plan.chooses_weights and precision not in ("f32", "f16"):
        raise _no_choice_of_weights(f"to compute in {precision}", name)
    if plan.chooses_weights or precision == AUTO:
        calibration.check()
    elif precision == plan.weights_type == "f32":
        _check_unused(calibration)
    elif precision == "f32" or _is_half(plan, calibration):
        _check_samples_only(calibration)
    elif precision == "mixed" and not (calibration.budget or is_searched):
        raise UsageError(
            "mixed precision needs a budget",
            hint='--budget "top1 >= 99 %", "error <= 0.02", "cosine >= 0.999" or '
            '"noise <= 0.01 %", or a plan with [precisions]',
        )
    elif precision == "int8" and calibration.budget:
        raise UsageError("int8 has no budget", hint="--precision mixed takes one")
    else:
        calibration.check()


def _is_final(program: Program) -> bool:
    """Whether the precision of `program` cannot be changed any more."""
    return is_quantized(program) or program.planned


def _state(program: Program) -> str:
    return "planned" if program.planned else "quantized"


def convert(
    program: Program,
    plan: Plan,
    calibration: Calibration,
    target: Target,
    progress: Progress = SILENT,
) -> ConvertedNetwork:
    """Converts `program` to the precision of `plan` for `target`.

    UsageError if samples are missing or not needed; CalibrationError if they do not fit; PlanError
    if values exceed the range of f16.
    """
    check(program, plan, calibration)
    if plan.chooses_weights:
        samples = replace(calibration, budget="") if plan.precision == "f16" else Calibration()
        fixed = replace(plan, weights_type=WEIGHTS_TYPES[0])
        network = convert(program, fixed, samples, target, progress)
        stored = calibration.choose_weights(program, network.plan, progress)
        for line in stored.lines():
            progress.note(line)
        plan = replace(network.plan, weights_type=WEIGHTS_AUTO, stored=stored.forms)
        program = stored_rounding.with_weights(network.program, stored.rounded)
        return replace(network, program=program, plan=plan, accuracy=stored.accuracy, stored=stored)
    if plan.precision == AUTO:
        final = _is_final(program)
        plan = replace(plan, precision="f32" if final else "mixed", precisions={})
        if not (final or calibration.budget):
            calibration = replace(calibration, budget=standard_budget(program, calibration.head))
    precision = plan.precision
    if _is_final(program):
        if calibration:
            progress.note(
                f"{program.name} is already {_state(program)} and used as it is: samples are not "
                "needed"
            )
        return ConvertedNetwork(program, plan)
    if precision == "f32":
        return _stored(program, plan, calibration, progress)
    types = plan.precisions
    if _is_half(plan, calibration):
        checked = float16.check(program, plan, calibration, target, progress)
        return ConvertedNetwork(program, checked.plan, checked.accuracy)
    quantized = calibration.quantize(program, types, target, progress)
    if quantized.search:
        for line in quantized.search.lines():
            progress.note(line)
    plan = replace(plan, precisions=quantized.plan.precisions)
    return ConvertedNetwork(
        quantized.program, plan, quantized.accuracy, quantized.search, quantized
    )


def _stored(
    program: Program, plan: Plan, calibration: Calibration, progress: Progress
) -> ConvertedNetwork:
    """A float32 network with the stored weights of `plan`, which samples round if they are int8;
    its accuracy, on held-out samples or on seeded noise, is unknown if they keep their values, or
    this machine cannot compute it.
    """
    if plan.weights_type == WEIGHTS_TYPES[0] or plan.prefer == "load":
        return ConvertedNetwork(program, plan)
    data = calibration.read(program, progress) if calibration else None
    try:
        if data and {*stored_rounding.FORMS} & {plan.weights_type, *plan.stored.values()}:
            rounded, accuracy = stored_rounding.with_rounded_weights(
                program, plan, data, progress, calibration.head
            )
            return ConvertedNetwork(rounded, plan, accuracy)
        samples = data.held_out if data else noise(program, _SEEDED_SAMPLES)
        accuracy = compare(program, program, samples, progress, plan.numbers, calibration.head)
        return ConvertedNetwork(program, plan, accuracy)
    except PlanError:
        raise  # weights do not fit
    except TrimtabError as error:
        progress.note(f"the accuracy of these weights is unknown: {error.what}")
        return ConvertedNetwork(program, plan)


def _no_choice_of_weights(state: str, name: str) -> UsageError:
    """The error of a network whose stored forms of weights cannot be searched."""
    return UsageError(
        f"--weights auto is for float networks, and this one is {state}",
        where=name,
        hint="give the float32 model and --precision f32 or f16, or name one form of weights",
    )


def _is_half(plan: Plan, calibration: Calibration) -> bool:
    """Whether all operators of a float32 network compute in f16, or in f32 as the plan says."""
    types = plan.precisions.values()
    return plan.precision == "f16" or (bool(types) and "int8" not in types and not calibration)


def _check_unused(calibration: Calibration) -> None:
    """UsageError for options that have no effect on a float32 network."""
    if calibration.budget:
        raise UsageError(
            "a budget is for mixed precision, and this is f32",
            hint="--precision mixed --calibration FILE.npz or FOLDER, or leave out --budget",
        )
    if calibration:
        what = "samples are" if calibration.samples else "a method and ranges are"
        raise UsageError(
            f"{what} for a precision below f32",
            hint="--precision int8, or leave out --calibration, --method and --ranges; samples "
            "also measure smaller --weights",
        )


def _check_samples_only(calibration: Calibration) -> None:
    """UsageError for options that have no effect on an f16 network, or on smaller weights."""
    if calibration.method or calibration.ranges or calibration.budget:
        raise UsageError(
            "f16 and stored weights have neither ranges nor a budget",
            hint="leave out --method, --ranges and --budget, or use --precision mixed or --weights "
            "auto",
        )
