"""Quantization: int8 networks from float32 networks and calibration samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from trimtab import camera, passes
from trimtab.accuracy import STANDARD, Accuracy, Search, parse_budget
from trimtab.camera import Camera
from trimtab.errors import PlanError, ProgramError, UsageError
from trimtab.heads import HeadRequest
from trimtab.planner.plan_file import Plan
from trimtab.planner.precision import can_compute_f16, has_f16_kernels, is_quantized
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantization import float16_range, input_ranges, insert_qdq, picture_samples, samples
from trimtab.quantization.accuracy import compare, is_row
from trimtab.quantization.boxes import has_boxes
from trimtab.quantization.calibration import calibrate, check, rounding_of
from trimtab.quantization.diagnosis import preprocessing_warning, worst_layer
from trimtab.quantization.equalization import equalized
from trimtab.quantization.methods import DEFAULT
from trimtab.quantization.observer import Array, Range
from trimtab.quantization.precision_search import modeled_cycles, search
from trimtab.quantization.ranges import Ranges
from trimtab.quantization.samples import Inputs, Samples
from trimtab.target import Target

__all__ = [
    "Accuracy",
    "Quantized",
    "Range",
    "Ranges",
    "Samples",
    "compare",
    "noise",
    "pictures",
    "quantize",
    "read_samples",
    "standard_budget",
]


_BOXES = "noise <= 0.01 %"  # with this budget, two of three small detectors keep their boxes


@dataclass(frozen=True)
class Quantized:
    """A quantized program, its ranges, and its accuracy on held-out samples.

    `plan`: the precisions to plan it with. `search`: the log of the search for a budget, if any.
    `warning`: what hints at wrong preprocessing of the samples, "" if nothing does.
    `relative_cycles`: the modeled cycles of int8 on its target relative to float32, None if
    unknown.
    """

    program: Program
    ranges: Ranges = field(repr=False)
    accuracy: Accuracy
    plan: Plan
    search: Search | None = None
    warning: str = ""
    relative_cycles: float | None = None

    @property
    def verdict(self) -> str:
        """Whether to ship the program (`Accuracy.verdict`), or why nobody knows; and whether int8
        costs more than it saves.
        """
        budget = self.search.bounds if self.search else ()
        precision = "int8" if not self.search else self.search.candidates[self.search.chosen].label
        words = f"{precision} {self.accuracy.verdict(budget)}"
        if self.warning:
            words = f"no verdict: {self.warning}"
        return "; ".join(filter(None, (words, self.slowness)))

    @property
    def slowness(self) -> str:
        """How much slower than float32 int8 is on its target, in words; "" if it is not."""
        if self.relative_cycles is None or self.relative_cycles <= 1:
            return ""
        return (
            f"int8 takes {self.relative_cycles:.2f} times the modeled cycles of float32 on this "
            "core, so only its size pays: --precision auto picks by time"
        )


def inputs_of(program: Program) -> Inputs:
    """Shape and numpy dtype name of each graph input."""
    inputs = {name: program.vars[name] for name in program.inputs}
    names = {"f32": "float32", "f16": "float16", "bool": "bool"}
    prefixes = {"i": "int", "u": "uint"}
    return {
        name: (var.shape, names.get(var.dtype) or f"{prefixes[var.dtype[0]]}{var.dtype[1:]}")
        for name, var in inputs.items()
    }


def read_samples(
    path: str | Path,
    program: Program,
    *,
    cast: bool = False,
    views: Mapping[str, Camera] | None = None,
) -> Samples:
    """Reads an .npz file or a folder of pictures as samples for the inputs of `program`.

    `cast` converts arrays of other element types. `views`: the camera in front of an input by name,
    or of the only one by ""; else pictures.toml or the model's file say the steps of pictures.
    CalibrationError names the file and the requirements of the network.
    """
    own = {n: camera.with_steps_of(program, view) for n, view in (views or {}).items()}
    steps = program.hints.camera
    return picture_samples.read(Path(path), inputs_of(program), cast=cast, views=own, steps=steps)


def noise(program: Program, count: int = 20) -> Samples:
    """Seeded smooth noise as samples, for networks with seeded weights."""
    return samples.noise(inputs_of(program), count)


def pictures(
    program: Program, ranges: Mapping[str, input_ranges.InputRange], count: int = 2
) -> Samples:
    """Seeded samples that fill these ranges of the inputs of `program`."""
    return input_ranges.pictures(inputs_of(program), ranges, count)


def quantize(
    program: Program,
    data: Samples | Mapping[str, Array] | Array | str | Path,
    *,
    method: str = DEFAULT,
    ranges: Ranges | None = None,
    budget: str = "",
    target: Target | None = None,
    types: Mapping[str, str] | None = None,
    cast: bool = False,
    input: str = "",
    head: HeadRequest | None = None,
    progress: Progress = SILENT,
) -> Quantized:
    """The int8 twin of an unoptimized float32 `program`.

    `data`: samples of real data, as arrays [n, ...] by input, as just the array if there is one
    input, or the path of an .npz file or a folder of pictures. Four of five samples calibrate, the
    fifth measures accuracy.
    Arrays have the element types of the inputs; `cast` converts others, with unchanged values.
    `input`: the steps from a picture to the input, as `--input` has them: "yolo".
    `method`: a module of `trimtab.quantization.methods`, or "best".
    `ranges`: the ranges of an earlier calibration, used instead of a new one.
    `budget`: the required accuracy, such as "top1 >= 99 %". Operators then stay in floating point
    where necessary, as cheaply as possible on `target` (default: this machine).
    `target`: if it has f16 arithmetic, operators that cannot compute on int8 values compute in f16,
    unless their values are too large for it on the samples.
    `types`: the precision of operators by name ("f32", "f16" or "int8"), from an earlier result.
    `head`: the head of a detector whose raw outputs the program has; its boxes are counted then, as
    for the budget "boxes >= 95 %".

    ProgramError: the program is optimized or quantized. CalibrationError: samples or ranges do not
    fit. PlanError: `types` names unknown operators. UsageError: an argument has a wrong type, or
    the budget cannot be parsed.
    """
    if program.passes or program.planned:
        raise ProgramError(
            "the program is already optimized",
            where=program.name,
            hint="quantize the program that load() returns",
        )
    if is_quantized(program):
        raise ProgramError(
            "the program is already quantized",
            where=program.name,
            hint="quantize the float32 network; build, bench and convert accept this one as it is",
        )
    bounds = parse_budget(budget) if budget else ()
    if any(bound.figure == "boxes" for bound in bounds) and not (head or has_boxes(program)):
        raise UsageError(
            "a budget of boxes needs to know which outputs are boxes",
            where=f"budget {budget}",
            hint="--head NAME of the detector (docs/boxes.md)",
        )
    if isinstance(data, np.ndarray):
        data = dict.fromkeys(program.inputs[:1], data)
    _check_arguments(data, ranges)
    if isinstance(data, str | Path):
        views = dict([camera.parse_view(input)]) if input else None
        data = read_samples(data, program, cast=cast, views=views)
    elif not isinstance(data, Samples):
        data = samples.of_arrays(data, inputs_of(program), cast=cast)
    simple = passes.simplify(program, before="fuse_residual")
    _check_types(simple, types or {})
    warning = preprocessing_warning(simple, data, head)
    if warning:
        progress.note(f"warning: {warning}")
    # Further BLAS threads would take the cores from the inference.
    with threadpool_limits(1, user_api="blas"):
        if ranges:
            check(simple, ranges)
            rounding = rounding_of(simple, ranges, data.calibrating, progress)
        else:
            ranges, rounding = calibrate(simple, data.calibrating, method, progress)
        log = None
        if bounds:
            mixed = search(
                simple, ranges, rounding, data, bounds, target or Target.host(), progress, head
            )
            types, log = mixed.types, mixed.search
        if types:
            plan = Plan(precision="mixed", precisions=types)
        else:
            plan = Plan(
                precision="int8", precisions=_halves(simple, ranges, data, target, progress)
            )
        keep = [name for name, type in plan.precisions.items() if type != "int8"]
        twin = insert_qdq.quantized(simple, ranges, keep, rounding)
        if log:
            accuracy = log.candidates[log.chosen].accuracy
        else:
            by_plan = plan if plan.precisions else None
            accuracy = compare(simple, twin, data.held_out, progress, by_plan, head)
            meets = all(bound.holds(accuracy) for bound in parse_budget(_BOXES))
            if not (types or head or meets) and accuracy.top1 is None and accuracy.boxes is None:
                progress.note(
                    "if the outputs are boxes, int8 may move them: count them with --head NAME, "
                    f'and let --precision mixed --budget "boxes >= 95 %" or "{_BOXES}" search'
                )
        same = equalized(simple, ranges.factors)  # channels of tensors have other scales there
        accuracy = replace(accuracy, worst_layer=worst_layer(same, twin, data.held_out))
        relative = None
        if target and not log and not types:
            relative = modeled_cycles(twin, plan, target) / modeled_cycles(simple, Plan(), target)
        result = Quantized(twin, ranges, accuracy, plan, log, warning, relative)
        if result.slowness:
            progress.note(result.slowness)
        return result


def standard_budget(program: Program, head: HeadRequest | None) -> str:
    """The budget of a float32 network if nobody names one: of boxes, of top-1 or of the cosine."""
    boxes, top1, cosine = map(str.strip, STANDARD.split(","))
    if head or has_boxes(program):
        return boxes
    return top1 if is_row(program.vars[program.outputs[0]].shape) else cosine


def _halves(
    simple: Program, ranges: Ranges, data: Samples, target: Target | None, progress: Progress
) -> dict[str, str]:
    """The precisions of an int8 network: f16 for operators that cannot compute on int8 values, but
    f32 or int8 for those whose values f16 cannot hold. {} where nothing would be f16.
    """
    if target is None or not (has_f16_kernels(target) and can_compute_f16(Target.host())):
        return {}
    integers = insert_qdq.quantizable(simple, ranges)
    if all(op.name in integers for op in simple.ops):
        return {}
    beyond = float16_range.involved(float16_range.overflows(simple, data, progress))
    floats = {op.name: "f16" for op in simple.ops if op.name not in integers}
    return floats | {name: "int8" if name in integers else "f32" for name in beyond}


def _check_arguments(data: object, ranges: object) -> None:
    """UsageError if an argument has a wrong type."""
    arrays = data if isinstance(data, Mapping) else {}
    if not isinstance(data, Samples | Mapping | str | Path):
        raise UsageError(
            f"the samples are {_type_name(data)}",
            hint="pass {INPUT: array}, or the path of an .npz file or of a folder of pictures",
        )
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise UsageError(
                f"the samples of {name!r} are {_type_name(array)}, not a numpy array",
                hint="numpy.asarray(...), with samples along the first axis",
            )
    if ranges is not None and not isinstance(ranges, Ranges):
        raise UsageError(
            f"ranges are {_type_name(ranges)}",
            hint="pass trimtab.quantization.ranges.Ranges.read(PATH)",
        )


def _type_name(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def _check_types(simple: Program, types: Mapping[str, str]) -> None:
    if unknown := sorted(set(types) - {op.name for op in simple.ops}):
        raise PlanError(
            f"the plan has precisions of unknown operators: {', '.join(unknown[:3])}",
            where=simple.name,
            hint="search again without the plan: --precision mixed --budget ...",
        )
