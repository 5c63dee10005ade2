"""Quantizes a float32 model into an int8 .ttm file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from trimtab import files, quantization
from trimtab.errors import ProgramError, UsageError
from trimtab.pipeline.loaded import load
from trimtab.pipeline.recipe import Recipe
from trimtab.planner.plan_file import Plan
from trimtab.progress import SILENT, Progress
from trimtab.session import optimize
from trimtab.tables import Column, Table, number

_SUFFIX = ".ttm"


@dataclass(frozen=True)
class QuantizedFile:
    """The written file and the accuracy of its network."""

    path: Path
    file_bytes: int
    quantized: quantization.Quantized

    @property
    def operators(self) -> tuple[int, int]:
        """How many operators compute in int8 when planned for this machine, and how many exist."""
        planned = optimize(self.quantized.program)
        int8 = [op for op in planned.steps if planned.dtype(op) in ("i8", "u8")]
        return len(int8), len(planned.steps)

    def table(self) -> Table:
        """The figures, one per row."""
        accuracy, (int8, operators) = self.quantized.accuracy, self.operators
        rows: list[tuple[str, str]] = [
            ("int8 operators", f"{int8} of {operators}"),
            ("calibration samples", str(self.quantized.ranges.samples)),
            ("method", self.quantized.ranges.method),
        ]
        return Table([Column("int8"), number("")], [*rows, *accuracy.rows()[1:]])

    def to_json(self) -> dict[str, Any]:
        """The figures for JSON."""
        int8, operators = self.operators
        return {
            "file": str(self.path),
            "file_bytes": self.file_bytes,
            "integer_operators": int8,
            "operators": operators,
            "method": self.quantized.ranges.method,
            "samples": self.quantized.ranges.samples,
            "accuracy": asdict(self.quantized.accuracy),
            "verdict": self.quantized.verdict,
        }


def quantize(recipe: Recipe, output: Path, progress: Progress = SILENT) -> QuantizedFile:
    """Writes the int8 network of a recipe, or a mixed one with a budget, into the .ttm file
    `output`, not planned yet.

    UsageError if `output` has another suffix, ProgramError if the model is not in float32; errors
    of `Calibration.quantize`.
    """
    check_output(output)
    recipe.calibrating.check()
    precision = "mixed" if recipe.calibration.budget else "int8"
    loaded = load(replace(recipe, plan=Plan(precision=precision)), progress)
    quantized = loaded.network.quantized
    if quantized is None:
        raise ProgramError(
            "the network is already quantized or planned",
            where=loaded.source.name,
            hint="give the float32 network; build, bench and convert take this one as it is",
        )
    quantized.program.save(output, names=True)
    return QuantizedFile(output, output.stat().st_size, quantized)


def check_output(output: Path) -> None:
    """UsageError if the file has not the suffix of a quantized network, FileAccessError if it
    cannot be written.
    """
    if output.suffix != _SUFFIX:
        raise UsageError(
            f"the quantized network is a {_SUFFIX} file, and the output has another suffix",
            where=str(output),
            hint=f"name it {output.with_suffix(_SUFFIX) if output.name else 'net.ttm'}",
        )
    files.check_writable(output)
