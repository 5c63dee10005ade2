"""Builds a model for a device, measures it there and records the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trimtab.cli._command import command, group, option
from trimtab.cli._options import (
    RESULTS_HELP,
    TRUST_HELP,
    BudgetOptions,
    ControlOptions,
    PlanOptions,
    PrecisionOptions,
    format_of,
)
from trimtab.cli._options import RecipeOptions as RecipeOptions  # noqa: PLC0414
from trimtab.paths import PROGRAM

if TYPE_CHECKING:
    from trimtab.bench.pace import Pace
    from trimtab.pipeline.recipe import Recipe

GROUP = "Measure"
NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """Options of `bench`."""

    network: RecipeOptions = group(RecipeOptions)
    device: str = option(f"device to measure on ({PROGRAM} device)", "local")
    plan: PlanOptions = group(PlanOptions)
    limits: BudgetOptions = group(BudgetOptions)
    embed_model: bool = option("link the model into the binary", False)
    launches: int | None = option("launches of the runner; default 10, emulated 1", None)
    runs: int | None = option(
        "minimum of steady-state runs in all launches; default 30, emulated 2", None
    )
    warmup: int | None = option("warm-up runs of each launch; default 3, emulated 0", None)
    min_time_ms: int | None = option(
        "minimum duration of the steady state in all launches; default 5000, emulated 0", None
    )
    fps: float = option(
        "frames a second, as of a camera: deadlines missed, latency from frame to result, clock, "
        "temperature and energy per frame over --seconds",
        0.0,
    )
    seconds: float = option("duration of the frames of --fps; default 60", 0.0)
    timeout: float = option("seconds for one launch of the runner", 600.0)
    per_op: bool = option("also measure each operator", False)
    counters: bool = option(
        "count cycles, cache misses, stalls, ... if the device's kernel allows it", False
    )
    energy: bool = option(
        "joules per inference, if the device measures power (takes 20 s more)", False
    )
    accept_wrong: bool = option(
        "measure a float32 binary although its outputs are wrong or not finite; the run is marked",
        False,
    )
    trust_new: bool = option(TRUST_HELP, False)
    results: str = option(RESULTS_HELP)
    output: str = option("also write the report to this file")
    format: str = option(
        "format of that file: markdown, html, or another of docs/bench.md#formats; default: by its "
        "suffix"
    )
    json: bool = option("print the report as JSON", False)
    control: ControlOptions = group(ControlOptions)
    precision: PrecisionOptions = group(PrecisionOptions)

    def validate(self) -> None:
        """Errors of `resolve.check`, and of the report's format and file."""
        from trimtab.pipeline import resolve
        from trimtab.reports.rendering import check_output

        self.report_format()
        check_output(self.output)
        resolve.check(self.recipe())

    def report_format(self) -> str:
        """The format of the report's file; UsageError for one that does not exist."""
        from trimtab import reports

        format = format_of(self.format, self.output, reports.by_suffix(), "markdown")
        reports.find(format)
        return format

    def recipe(self) -> Recipe:
        """The recipe of these options; UsageError for invalid values."""
        from dataclasses import replace

        from trimtab.bench.jobs import Settings
        from trimtab.pipeline.recipe import MeasurementRequest
        from trimtab.results.folder import results_folder

        settings = Settings(
            launches=self.launches,
            runs=self.runs,
            warmup=self.warmup,
            min_time_ms=self.min_time_ms,
            timeout_s=self.timeout,
            per_op=self.per_op,
            counters=self.counters,
            energy=self.energy,
            accept_wrong=self.accept_wrong,
            pace=self._pace(),
            control=self.control.read(),
        )
        return replace(
            self.network.read(self.plan.read(), self.precision.read()),
            budget=self.limits.read(self.plan.choices.prefer),
            embed_model=self.embed_model,
            measurement=MeasurementRequest(
                self.device, settings, results_folder(self.results), self.trust_new
            ),
        )

    def _pace(self) -> Pace | None:
        """The pace of the frames, if any; UsageError for what --fps or --seconds excludes."""
        from trimtab.bench.pace import DEFAULT_S, Pace
        from trimtab.errors import UsageError

        if not self.fps:
            if self.seconds:
                raise UsageError("--seconds is the duration of --fps", hint="--fps 30 --seconds 60")
            return None
        others = ("launches", "runs", "min_time_ms", "per_op", "energy")
        if excluded := next((name for name in others if getattr(self, name)), ""):
            raise UsageError(
                f"--fps excludes --{excluded.replace('_', '-')}",
                hint="it has one launch of --seconds, and samples energy itself",
            )
        return Pace(self.fps, self.seconds or DEFAULT_S)


@command(BenchOptions, engine=True, default=True, short_options=False)
def run(options: BenchOptions) -> None:
    """Build a model's binary, measure it on a device and record the run."""
    from trimtab.cli._progress import shown
    from trimtab.cli.report import show
    from trimtab.errors import WrongOutputError
    from trimtab.pipeline.measured import bench
    from trimtab.reports.rendering import render_run

    progress = shown(quiet=options.json)
    outcome = bench(options.recipe(), progress).outcome
    if outcome.error is not None:
        progress.note(f"recorded: {outcome.path}")
        raise outcome.error
    record, folder = str(outcome.path), outcome.path.parent
    show(render_run(record, folder, "json" if options.json else "terminal"), "")
    if options.output:
        show(render_run(record, folder, options.report_format()), options.output)
    if outcome.wrong and not options.accept_wrong:
        raise WrongOutputError(
            f"measured, and recorded as INACCURATE: {outcome.wrong}",
            hint="--precision mixed with samples and a budget, or --accept-wrong if the accuracy "
            "in the report is enough (docs/bench.md)",
        )
