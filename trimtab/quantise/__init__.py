"""int8 networks from float32 ones: what was seen of samples decides what integers stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trimtab import passes
from trimtab.errors import CalibrationError, ProgramError
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantise import rewrite, samples
from trimtab.quantise.accuracy import Accuracy, compare
from trimtab.quantise.calibrate import calibrate
from trimtab.quantise.methods import DEFAULT
from trimtab.quantise.ranges import Ranges
from trimtab.quantise.samples import Inputs, Samples
from trimtab.quantise.seen import Array, Range

__all__ = ["Accuracy", "Quantised", "Range", "Ranges", "Samples", "quantize", "read_samples"]


@dataclass(frozen=True)
class Quantised:
    """A program on integers, the ranges that it has, and how well it does on the samples that these
    were not taken of (None: nothing was compared).
    """

    program: Program
    ranges: Ranges
    accuracy: Accuracy | None


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


def quantize(
    program: Program,
    given: Samples | Mapping[str, Array] | str | Path,
    *,
    method: str = DEFAULT,
    ranges: Ranges | None = None,
    progress: Progress = SILENT,
) -> Quantised:
    """The int8 twin of a float32 `program`, which is one before optimisation.

    `given`: samples of real data, as arrays by input [n, ...], the path of an .npz file or a folder
    of pictures; of five, four are calibrated with, by `method`, a module of
    `trimtab.quantise.methods`, and one tells the accuracy. `ranges`: those of an earlier
    calibration, in its place.
    ProgramError for an optimised program, CalibrationError for samples that do not fit.
    """
    if program.passes or program.planned:
        raise ProgramError(
            "it is optimised already", where=program.name, hint="quantise what load() gave"
        )
    if isinstance(given, str | Path):
        given = read_samples(given, program)
    elif not isinstance(given, Samples):
        given = samples.of_arrays(given, inputs_of(program))
    simple = passes.simplify(program, before="fuse_residual")
    found = ranges or calibrate(simple, given.calibrating, method, progress)
    if unknown := sorted(set(found.ranges) - set(simple.vars)):
        raise CalibrationError(
            f"ranges of tensors that the network does not have: {unknown[0]}",
            where=found.network,
            hint="calibrate this network",
        )
    twin = rewrite.quantised(simple, found)
    return Quantised(twin, found, compare(simple, twin, given.held_out, progress))
