"""Calibration options: the samples, method and ranges that a network is quantized with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from trimtab import files, quantization, zoo
from trimtab.accuracy import parse_budget
from trimtab.camera import Camera
from trimtab.errors import UsageError
from trimtab.heads import HeadRequest
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantization import weights_search
from trimtab.quantization.methods import DEFAULT
from trimtab.quantization.weights_search import StoredWeights
from trimtab.target import Target


@dataclass(frozen=True)
class Calibration:
    """How to quantize a network; "" takes a default. `samples`: an .npz file or a folder of
    pictures; `method`: a module of `trimtab.quantization.methods`, default: the best of several;
    `ranges`: a file of ranges, read if it exists and written otherwise; `budget`: the accuracy that
    mixed precision must keep; `head`: of a detector, whose boxes are counted; `noise`: seeded noise
    may replace missing samples; `cast`: arrays of other element types than the inputs have are
    converted; `views`: the camera in front of an input by its name, or by "" if that is the only
    one, whose steps pictures take.
    """

    samples: str = ""
    method: str = ""
    ranges: str = ""
    budget: str = ""
    noise: bool = False
    cast: bool = False
    head: HeadRequest | None = None
    views: Mapping[str, Camera] = field(default_factory=dict)

    def for_model(self, model: str) -> Calibration:
        """Allows noise for networks of the zoo: their weights are seeded, so no data fits them."""
        return replace(self, noise=model in zoo.names())

    def choose_weights(
        self, program: Program, plan: Plan, progress: Progress = SILENT
    ) -> StoredWeights:
        """The stored forms of the weights of a float program, computed by `plan`, that meet the
        budget, or the standard one; errors of `read`.
        """
        bounds = parse_budget(self.budget or quantization.standard_budget(program, self.head))
        samples = self.read(program, progress)
        return weights_search.search(program, plan, samples, bounds, progress, self.head)

    def for_plan(self, plan: Plan) -> Calibration:
        """The part that a network of this plan uses; the rest is "". Samples also measure the
        accuracy of f16, and of smaller weights.
        """
        if plan.precision in ("f32", "f16"):
            is_exact = plan.precision == plan.weights_type == "f32"
            return replace(
                self,
                samples="" if is_exact else self.samples,
                method="",
                ranges="",
                budget=self.budget if plan.chooses_weights else "",
                views={} if is_exact else self.views,
            )
        return self if plan.precision in ("mixed", "auto") else replace(self, budget="")

    def __bool__(self) -> bool:
        return bool(self.samples or self.method or self.ranges or self.budget)

    def check_values(self) -> None:
        """UsageError for a malformed budget; CalibrationError for samples that do not exist."""
        if self.budget:
            parse_budget(self.budget)
        if self.samples:
            quantization.samples.check_exists(Path(self.samples))

    def with_views(self, views: Mapping[str, Camera]) -> Calibration:
        """The same calibration with these steps from pictures to inputs; UsageError if there are no
        pictures.
        """
        if views and not Path(self.samples or "-").is_dir():
            raise UsageError(
                "steps from a picture to an input are for pictures, and there are none",
                hint="--calibration FOLDER of pictures, or --input NAME=1,3,224,224 for a shape",
            )
        return replace(self, views=views)

    def check(self) -> None:
        """UsageError without samples, and the errors of `check_values`; FileAccessError if the
        ranges cannot be written.
        """
        self.check_values()
        if not (self.samples or self.noise):
            raise UsageError(
                "samples are missing",
                hint="--calibration FILE.npz or FOLDER: real data; a part of it measures accuracy",
            )
        if self.ranges and not Path(self.ranges).exists():
            files.check_writable(Path(self.ranges))

    def read(self, program: Program, progress: Progress = SILENT) -> quantization.Samples:
        """Reads the samples for the inputs of `program`."""
        self.check()
        if self.samples:
            samples = quantization.read_samples(
                self.samples, program, cast=self.cast, views=self.views
            )
            if samples.origin:
                progress.note(f"pictures of {self.samples} become inputs {samples.origin}")
            return samples
        progress.note("no samples: seeded noise replaces them and says little about accuracy")
        return quantization.noise(program)

    def quantize(
        self,
        program: Program,
        types: Mapping[str, str] | None = None,
        target: Target | None = None,
        progress: Progress = SILENT,
    ) -> quantization.Quantized:
        """Quantizes a float32 program to int8, except the operators that `types` gives another
        type, or that a search for `target` keeps in one to meet the budget.

        UsageError if samples are missing, or the ranges are from another method; CalibrationError
        if samples or ranges do not fit.
        """
        self.check()
        path = Path(self.ranges) if self.ranges else None
        ranges = quantization.Ranges.read(path) if path and path.exists() else None
        if ranges and self.method not in ("", DEFAULT, ranges.method):
            raise UsageError(
                f"the ranges in {self.ranges} are from the method {ranges.method}",
                hint="leave out --method, or name another file of ranges",
            )
        quantized = quantization.quantize(
            program,
            self.read(program, progress),
            method=self.method or DEFAULT,
            ranges=ranges,
            budget=self.budget,
            target=target,
            types=types,
            head=self.head,
            progress=progress,
        )
        if path and not ranges:
            quantized.ranges.write(path)
        return quantized
