"""Makes an int8 network of a float32 one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import trimtab
from trimtab import files, quantise
from trimtab.errors import UsageError
from trimtab.progress import SILENT, Progress
from trimtab.quantise.methods import DEFAULT
from trimtab.tables import Column, Table, number
from trimtab.workflow.models import load


@dataclass(frozen=True)
class Made:
    """What was written, and how well it does."""

    path: Path
    file_bytes: int
    made: quantise.Quantised

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
        if found:
            rows += [
                ("samples compared with float32", str(found.samples)),
                ("largest error, of the largest output", f"{found.max_error:.2%}"),
                ("mean error", f"{found.mean_error:.3%}"),
                ("cosine", f"{found.cosine:.6f}"),
            ]
            if found.top1 is not None:
                rows.append(("same largest output", f"{found.top1:.0%}"))
        return Table([Column("int8"), number("")], rows)

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
            "accuracy": asdict(self.made.accuracy) if self.made.accuracy else None,
        }


def quantize(
    model: str,
    output: Path,
    shapes: Mapping[str, tuple[int, ...]],
    calibration: str,
    method: str = "",
    ranges: str = "",
    progress: Progress = SILENT,
) -> Made:
    """Writes the int8 network of `model` as the .ttm file `output`, not planned yet.

    `calibration`: samples, an .npz file or a folder of pictures. `ranges`: a file of ranges, which
    is read where there is one, and written else.
    """
    if not calibration:
        raise UsageError(
            "samples are missing",
            hint="--calibration FILE.npz or FOLDER: real data, some of it tells the accuracy",
        )
    files.check_writable(output)
    kept = Path(ranges) if ranges else None
    known = quantise.Ranges.read(kept) if kept and kept.exists() else None
    if known and method not in ("", known.method):
        raise UsageError(
            f"the ranges in {ranges} are by the method {known.method}",
            hint="leave out --method, or name another file of ranges",
        )
    if kept and not known:
        files.check_writable(kept)
    program = load(model, shapes, progress=progress)
    made = quantise.quantize(
        program, calibration, method=method or DEFAULT, ranges=known, progress=progress
    )
    if kept and not known:
        made.ranges.write(kept)
    made.program.save(output, names=True)
    return Made(output, output.stat().st_size, made)
