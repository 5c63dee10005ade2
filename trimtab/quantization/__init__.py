"""int8 networks from float32 ones: what was seen of samples decides what integers stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trimtab import passes
from trimtab.accuracy import Accuracy, Search, parse_budget
from trimtab.errors import PlanError, ProgramError, UsageError
from trimtab.planner.plan_file import Plan
from trimtab.planner.precision import is_quantized
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantization import insert_qdq, samples
from trimtab.quantization.accuracy import compare
from trimtab.quantization.calibration import calibrate, check, rounding_of
from trimtab.quantization.methods import DEFAULT
from trimtab.quantization.observer import Array, Range
from trimtab.quantization.precision_search import search
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
    "quantize",
    "read_samples",
]


_BOXES = "noise <= 0.01 %"  # two of three small detectors keep theirs with it


@dataclass(frozen=True)
class Quantized:
    """A program on integers, the ranges that it has, and how well it does on the samples that these
    were not taken of. `plan`: the precision that it is to be planned with; `search`: what was tried
    to keep a budget, if there was one.
    """

    program: Program
    ranges: Ranges
    accuracy: Accuracy
    plan: Plan
    search: Search | None = None


def inputs_of(program: Program) -> Inputs:
    """Shape and element type by input, as samples have to have them."""
    found = {name: program.vars[name] for name in program.inputs}
    kinds = {"f32": "float32", "f16": "float16", "bool": "bool"}
    words = {"i": "int", "u": "uint"}
    return {
        name: (var.shape, kinds.get(var.dtype) or f"{words[var.dtype[0]]}{var.dtype[1:]}")
        for name, var in found.items()
    }


def read_samples(path: str | Path, program: Program) -> Samples:
    """The samples in an .npz file or a folder of pictures, for the inputs of `program`."""
    return samples.read(Path(path), inputs_of(program))


def noise(program: Program, count: int = 20) -> Samples:
    """Seeded smooth noise in their place, for networks whose weights are seeded, too."""
    return samples.noise(inputs_of(program), count)


def quantize(
    program: Program,
    given: Samples | Mapping[str, Array] | str | Path,
    *,
    method: str = DEFAULT,
    ranges: Ranges | None = None,
    budget: str = "",
    target: Target | None = None,
    types: Mapping[str, str] | None = None,
    progress: Progress = SILENT,
) -> Quantized:
    """The int8 twin of a float32 `program`, which is one before optimization; with a `budget` or
    `types` only some of its operators are on integers.

    `given`: samples of real data, as arrays by input [n, ...], the path of an .npz file or a folder
    of pictures; of five, four are calibrated with, by `method`, a module of
    `trimtab.quantization.methods` or the best of several, and one tells the accuracy. `ranges`:
    those of an earlier calibration, in its place. `budget`: what accuracy shall be, such as
    "top1 >= 99 %": the cheapest precisions for `target` (default: this machine) that keep it are
    searched. `types`: those of operators by name ("f32", "f16" or "int8"), as a search found them.
    ProgramError for an optimized or quantized program, CalibrationError for samples that do not
    fit, PlanError for types of what the network has not, UsageError for a budget that cannot be
    read, and for what are no samples or ranges.
    """
    if program.passes or program.planned:
        raise ProgramError(
            "it is optimized already", where=program.name, hint="quantize what load() gave"
        )
    if is_quantized(program):
        raise ProgramError(
            "it is quantized already",
            where=program.name,
            hint="give the float32 network; build, bench and convert take this one as it is",
        )
    asked = parse_budget(budget) if budget else ()
    _check_kinds(given, ranges)
    if isinstance(given, str | Path):
        given = read_samples(given, program)
    elif not isinstance(given, Samples):
        given = samples.of_arrays(given, inputs_of(program))
    simple = passes.simplify(program, before="fuse_residual")
    _check_types(simple, types or {})
    if ranges:
        check(simple, ranges)
        found, weights = ranges, rounding_of(simple, ranges, given.calibrating, progress)
    else:
        found, weights = calibrate(simple, given.calibrating, method, progress)
    searched = None
    if asked:
        made = search(simple, found, weights, given, asked, target or Target.host(), progress)
        types, searched = made.types, made.search
    plan = Plan(precision="mixed", precisions=types) if types else Plan(precision="int8")
    kept = [n for n, kind in plan.precisions.items() if kind != "int8"]
    twin = insert_qdq.quantized(simple, found, kept, weights)
    if searched:
        accuracy = searched.candidates[searched.chosen].accuracy
    else:
        accuracy = compare(simple, twin, given.held_out, progress, plan if types else None)
        keeps = all(demand.holds(accuracy) for demand in parse_budget(_BOXES))
        if not types and accuracy.top1 is None and not keeps:
            progress.note(
                "int8 may move boxes, if these are what the network finds: count them, or let "
                f'--precision mixed --budget "{_BOXES}" search'
            )
    return Quantized(twin, found, accuracy, plan, searched)


def _check_kinds(given: object, ranges: object) -> None:
    """UsageError for what a caller passes by mistake, which types would tell."""
    arrays = given if isinstance(given, Mapping) else {}
    if not isinstance(given, Samples | Mapping | str | Path):
        raise UsageError(
            f"samples are {_kind(given)}",
            hint="pass {INPUT: array}, or the path of an .npz file or of a folder of pictures",
        )
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise UsageError(
                f"the samples of {name!r} are {_kind(array)}, not a numpy array",
                hint="numpy.asarray(...), with samples along the first axis",
            )
    if ranges is not None and not isinstance(ranges, Ranges):
        raise UsageError(
            f"ranges are {_kind(ranges)}", hint="trimtab.quantization.ranges.Ranges.read(PATH)"
        )


def _kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def _check_types(simple: Program, types: Mapping[str, str]) -> None:
    if unknown := sorted(set(types) - {op.name for op in simple.ops}):
        raise PlanError(
            f"precisions of operators that the network does not have: {', '.join(unknown[:3])}",
            where=simple.name,
            hint="search again: --precision mixed --budget ..., without the plan",
        )
