"""Checks that a network can compute in f16: its values fit, and how far its results are off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from trimtab import passes, quantization
from trimtab.accuracy import Accuracy
from trimtab.errors import PlanError, TrimtabError
from trimtab.pipeline.calibration import Calibration
from trimtab.planner import precision
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantization import float16_range
from trimtab.quantization.float16_range import Overflow
from trimtab.quantization.input_ranges import InputRange, input_ranges
from trimtab.quantization.samples import Samples
from trimtab.target import Target

_LISTED = 5  # operators that a message names
_SEEDED_SAMPLES = 2  # of which a white picture is one: without samples all figures are rough


@dataclass(frozen=True)
class _Data:
    """The samples for a network. `to_fit`: all whose values must fit in f16, `to_compare`: those
    that measure accuracy; `ranges`: those of the inputs, if the samples are seeded.
    """

    to_fit: Samples
    to_compare: Samples
    ranges: Mapping[str, InputRange]

    @property
    def is_assumed(self) -> bool:
        """Whether nothing tells how large the inputs are."""
        return any(not one.source for one in self.ranges.values())

    @property
    def words(self) -> str:
        """The samples, for messages."""
        if not self.to_fit.is_seeded:
            return f"({self.to_fit.count} samples)"
        listed = ", ".join(f"{name} from {one}" for name, one in self.ranges.items())
        return f"(seeded inputs, {listed})" if listed else "(seeded inputs)"


@dataclass(frozen=True)
class Checked:
    """The `plan` that a network can compute in f16 with, and its accuracy; None if this machine
    cannot compute it.
    """

    plan: Plan
    accuracy: Accuracy | None


def check(
    program: Program,
    plan: Plan,
    calibration: Calibration,
    target: Target,
    progress: Progress = SILENT,
) -> Checked:
    """Checks that the values of a float32 program fit in f16, and measures its accuracy: on samples
    and on held-out ones, or on seeded inputs of the range that the network tells.

    PlanError if they do not fit, or if the target has no f16 arithmetic. Pictures of which the
    network tells nothing may be from 0 to 255: operators whose values would not fit then stay in
    float32.
    """
    precision.check_target(target)
    if plan.precision == "mixed":
        plan = _keeping(program, plan)
    data = _data(program, calibration, progress)
    # Without samples the figure is a bonus: whatever prevents it does not stop the build.
    expected_errors = PlanError if calibration else TrimtabError
    beyond: Sequence[Overflow] = ()
    accuracy = None
    try:
        beyond = _overflows(program, plan, data.to_fit, target, progress)
        if beyond and data.is_assumed:
            plan = _keeping(program, plan, beyond)
            progress.note(_kept(beyond, data))
            beyond = ()
        if not beyond:
            optimized = passes.optimize(program)
            accuracy = quantization.compare(
                program, optimized, data.to_compare, progress, plan, calibration.head
            )
    except expected_errors as error:
        progress.note(f"the accuracy of f16 is unknown: {error.what}")
    if beyond:
        raise _too_large(beyond, data, plan)
    if accuracy and accuracy.not_finite:
        raise _not_finite(program, plan, data.to_compare, accuracy)
    return Checked(plan, accuracy)


def _keeping(program: Program, plan: Plan, beyond: Sequence[Overflow] = ()) -> Plan:
    """The plan with a line for each operator: f16 where it has none, f32 for what overflows."""
    floats = float16_range.involved(beyond)
    simple = passes.simplify(program, before="fuse_residual")
    types = {op.name: "f16" for op in simple.ops} | dict(plan.precisions)
    return replace(plan, precision="mixed", precisions=types | dict.fromkeys(floats, "f32"))


def _kept(beyond: Sequence[Overflow], data: _Data) -> str:
    first, more = _largest(beyond)
    return (
        f"the network does not tell the range of its inputs: {first} {data.words}, and f16 ends at "
        f"{float16_range.LIMIT:,.0f}{more}. These stay in float32; --calibration with real inputs "
        "shows whether they have to"
    )


def _largest(beyond: Sequence[Overflow]) -> tuple[Overflow, str]:
    """The largest overflow, and the others in words."""
    first = max(beyond, key=lambda one: one.largest)
    more = [repr(one.operator) for one in beyond if one is not first]
    listed = ", ".join(more[:_LISTED])
    rest = f" and {len(more) - _LISTED} others" if more[_LISTED:] else ""
    return first, f"; too large are also {listed}{rest}" if more else ""


def _overflows(
    program: Program, plan: Plan, samples: Samples, target: Target, progress: Progress
) -> list[Overflow]:
    """The operators that the plan computes in f16, and whose values do not fit."""
    planned = precision.assign(passes.optimize(program), target, plan.precision, plan.precisions)
    half = {op.name for op in planned.ops if "f16" in {planned.vars[n].dtype for n in op.outputs}}
    simple = passes.simplify(program, before="fuse_residual")
    beyond = float16_range.overflows(simple, samples, progress) if half else []
    return [one for one in beyond if one.involved & half]


def _too_large(beyond: Sequence[Overflow], data: _Data, plan: Plan) -> PlanError:
    first, more = _largest(beyond)
    return PlanError(
        f"f16 ends at {float16_range.LIMIT:,.0f}, and {first} {data.words}{more}",
        where=f"precision {plan.precision}",
        hint='--precision mixed --calibration FILE.npz --budget "error <= 0.02" keeps such '
        "operators in float32, or a plan with [precisions] does (docs/precision.md)",
    )


def _not_finite(program: Program, plan: Plan, samples: Samples, accuracy: Accuracy) -> PlanError:
    simple = passes.simplify(program, before="fuse_residual")
    culprit = float16_range.first_not_finite(simple, samples, plan) or "an operator"
    return PlanError(
        f"{culprit} computes NaN or infinity in f16, and float32 does not: "
        f"{accuracy.not_finite:,} of {accuracy.elements:,} values of the outputs",
        where=f"precision {plan.precision}",
        hint='keep this operator in float32: a plan with precision = "mixed" and a line for it in '
        "[precisions]",
    )


def _data(program: Program, calibration: Calibration, progress: Progress) -> _Data:
    if calibration:
        samples = calibration.read(program, progress)
        return _Data(samples, samples.held_out, {})
    if calibration.noise:  # seeded weights
        samples = quantization.noise(program, _SEEDED_SAMPLES)
        return _Data(samples, samples, {})
    ranges = input_ranges(program)
    sure = {name: one for name, one in ranges.items() if one.source}
    return _Data(
        quantization.pictures(program, ranges, _SEEDED_SAMPLES),
        quantization.pictures(program, sure, _SEEDED_SAMPLES)
        if sure
        else quantization.noise(program, _SEEDED_SAMPLES),
        ranges,
    )
