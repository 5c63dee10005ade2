"""Makes an int8 network of a float32 one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import trimtab
from trimtab import files, quantization, zoo
from trimtab.accuracy import demands
from trimtab.errors import UsageError
from trimtab.pipeline.resolve import load
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantization.methods import DEFAULT
from trimtab.tables import Column, Table, number
from trimtab.target import Target

_SUFFIX = ".ttm"


@dataclass(frozen=True)
class Calibration:
    """What a network is quantized with. `samples`: an .npz file or a folder of pictures; `method`:
    one of `trimtab.quantization.methods`, or the best of several; `ranges`: a file of ranges, which
    is read where there is one, and written else. `budget`: what the accuracy of mixed precision
    shall be. "" is none, or the default. `noise` does where no samples are named.
    """

    samples: str = ""
    method: str = ""
    ranges: str = ""
    budget: str = ""
    noise: bool = False

    def of(self, model: str) -> Calibration:
        """With noise for networks of the zoo: their weights are seeded, no data are theirs."""
        return replace(self, noise=model in zoo.names())

    def __bool__(self) -> bool:
        return bool(self.samples or self.method or self.ranges or self.budget)

    def check(self) -> None:
        """UsageError without samples, and for a budget that cannot be read; FileAccessError where
        ranges cannot be written.
        """
        if self.budget:
            demands(self.budget)
        if not (self.samples or self.noise):
            raise UsageError(
                "samples are missing",
                hint="--calibration FILE.npz or FOLDER: real data, some of it tells the accuracy",
            )
        if self.ranges and not Path(self.ranges).exists():
            files.check_writable(Path(self.ranges))

    def read(self, program: Program, progress: Progress = SILENT) -> quantization.Samples:
        """The samples, for the inputs of `program`."""
        self.check()
        if self.samples:
            return quantization.read_samples(self.samples, program)
        progress.note("no samples are named: noise takes their place, and tells little of accuracy")
        return quantization.noise(program)

    def quantized(
        self,
        program: Program,
        types: Mapping[str, str] | None = None,
        target: Target | None = None,
        progress: Progress = SILENT,
    ) -> quantization.Quantized:
        """The int8 twin of a float32 program, but for operators with other `types`, or those that a
        search for `target` gives up to keep the budget.

        UsageError when samples are missing, or the ranges are by another method; CalibrationError
        for samples and ranges that do not fit.
        """
        self.check()
        kept = Path(self.ranges) if self.ranges else None
        known = quantization.Ranges.read(kept) if kept and kept.exists() else None
        if known and self.method not in ("", DEFAULT, known.method):
            raise UsageError(
                f"the ranges in {self.ranges} are by the method {known.method}",
                hint="leave out --method, or name another file of ranges",
            )
        made = quantization.quantize(
            program,
            self.read(program, progress),
            method=self.method or DEFAULT,
            ranges=known,
            budget=self.budget,
            target=target,
            types=types,
            progress=progress,
        )
        if kept and not known:
            made.ranges.write(kept)
        return made


@dataclass(frozen=True)
class Made:
    """What was written, and how well it does."""

    path: Path
    file_bytes: int
    made: quantization.Quantized

    @property
    def operators(self) -> tuple[int, int]:
        """How many operators compute on integers, planned for this machine, and how many there
        are.
        """
        planned = trimtab.optimize(self.made.program)
        on_integers = [op for op in planned.steps if planned.dtype(op) in ("i8", "u8")]
        return len(on_integers), len(planned.steps)

    def table(self) -> Table:
        """The figures, a row each."""
        found, (integers, ops) = self.made.accuracy, self.operators
        rows: list[tuple[str, str]] = [
            ("operators on integers", f"{integers} of {ops}"),
            ("samples that ranges are of", str(self.made.ranges.samples)),
            ("method", self.made.ranges.method),
        ]
        return Table([Column("int8"), number("")], [*rows, *found.rows()])

    def to_json(self) -> dict[str, Any]:
        """The same for programs."""
        integers, ops = self.operators
        return {
            "file": str(self.path),
            "file_bytes": self.file_bytes,
            "integer_operators": integers,
            "operators": ops,
            "method": self.made.ranges.method,
            "samples": self.made.ranges.samples,
            "accuracy": asdict(self.made.accuracy),
        }


def quantize(
    model: str,
    output: Path,
    shapes: Mapping[str, tuple[int, ...]],
    calibration: Calibration,
    progress: Progress = SILENT,
) -> Made:
    """Writes the int8 network of `model` as the .ttm file `output`, not planned yet; UsageError
    for a file of another suffix.
    """
    if output.suffix != _SUFFIX:
        raise UsageError(
            f"the network is written as a {_SUFFIX} file, which that is not called",
            where=str(output),
            hint=f"name it {output.with_suffix(_SUFFIX) if output.name else 'net.ttm'}",
        )
    calibration = calibration.of(model)
    calibration.check()
    files.check_writable(output)
    program = load(model, shapes, progress=progress)
    made = calibration.quantized(program, progress=progress)
    made.program.save(output, names=True)
    return Made(output, output.stat().st_size, made)
