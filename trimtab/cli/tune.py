"""Tunes a network on a device: measures which plan is the fastest there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trimtab.cli._command import command, group, option
from trimtab.cli._options import (
    RESULTS_HELP,
    TRUST_HELP,
    ControlOptions,
    PlanOptions,
    PrecisionOptions,
    RecipeOptions,
)
from trimtab.paths import PROGRAM

if TYPE_CHECKING:
    from trimtab.tuning.tuned import TuneRequest

GROUP = "Measure"


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """Options of `tune`."""

    network: RecipeOptions = group(RecipeOptions)
    device: str = option(f"device to measure on ({PROGRAM} device)", "local")
    minutes: float = option("limit of builds, search and final comparison together", 5.0)
    output: str = option("plan file to write; default: NET-DEVICE.plan.toml")
    timings: str = option(
        "file of timings, read and extended; default: timings.jsonl in the folder of results"
    )
    report: str = option("also write the report to this .html or .md file")
    launches: int = option(
        "launches of each plan in the final comparison, if the time suffices", 20
    )
    timeout: float = option("seconds for one launch of the runner", 600.0)
    find_threads: bool = option(
        "measure which number of threads, on which cores, is the fastest, and tune for it", False
    )
    trust_new: bool = option(TRUST_HELP, False)
    results: str = option(RESULTS_HELP)
    json: bool = option("print JSON", False)
    plan: PlanOptions = group(PlanOptions)
    control: ControlOptions = group(ControlOptions)
    precision: PrecisionOptions = group(PrecisionOptions)

    def validate(self) -> None:
        """Errors of `resolve.check`; FileAccessError for a file that cannot be written."""
        from dataclasses import replace
        from pathlib import Path

        from trimtab import files
        from trimtab.pipeline import resolve
        from trimtab.pipeline.recipe import MeasurementRequest
        from trimtab.tuning import report

        request = self.request()
        measured = MeasurementRequest(self.device)
        resolve.check(replace(request.recipe, measurement=measured))
        if self.report:
            report.check_format(self.report)
        for path in filter(None, (self.output, self.report)):
            files.check_writable(Path(path))

    def request(self) -> TuneRequest:
        """The request of these options; UsageError for invalid values."""
        from pathlib import Path

        from trimtab.bench.jobs import Settings
        from trimtab.errors import UsageError
        from trimtab.results.folder import results_folder
        from trimtab.tuning.tuned import TIMINGS, TuneRequest

        if not self.network.model:
            raise UsageError(
                "which model?", hint=f"--model FILE, or --model NAME ({PROGRAM} inspect lists them)"
            )
        if not 0 < self.minutes < 24 * 60:
            raise UsageError(f"--minutes is {self.minutes:g}, it must be above 0 and below a day")
        return TuneRequest(
            recipe=self.network.read(self.plan.read(), self.precision.read()),
            device=self.device,
            minutes=self.minutes,
            timings=Path(self.timings or results_folder(self.results) / TIMINGS),
            launches=self.launches,
            settings=Settings(timeout_s=self.timeout, control=self.control.read()),
            trust_new=self.trust_new,
            find_threads=self.find_threads,
        )


@command(TuneOptions, engine=True, short_options=False, continues=True)
def tune(options: TuneOptions) -> None:
    """Measure which algorithms, kernels and blocks a network runs fastest with; write a plan."""
    from pathlib import Path

    from trimtab import files, tables
    from trimtab.cli._progress import shown
    from trimtab.results.folder import results_folder
    from trimtab.strict_json import dumps
    from trimtab.tuning import report
    from trimtab.tuning.tuned import tune as run

    request, progress = options.request(), shown(quiet=options.json)
    tuned = run(request, results_folder(options.results), progress)
    output = Path(options.output or f"{tuned.network}-{tuned.device}.plan.toml")
    files.write_text(output, tuned.plan.to_toml(tuned.title()))
    if options.report:
        files.write_text(Path(options.report), report.rendered(tuned, options.report))
    if options.json:
        print(dumps({**tuned.to_json(), "plan": str(output)}, indent=1))
    else:
        print(tables.text(report.page(tuned)))
        print(f"\nplan: {output}")
