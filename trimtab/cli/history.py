"""The figures of sweeps over commits."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option
from trimtab.cli._options import RESULTS_HELP, format_of
from trimtab.paths import PROGRAM

GROUP = "Compare and report"


@dataclass(frozen=True, kw_only=True)
class HistoryOptions:
    """Options of `history`."""

    sweep: str = option("only cells of the sweep with this name")
    of: str = option(
        "commits of which repository: project (the one of the sweep's file), or trimtab", "project"
    )
    check: bool = option(
        "fail if the newest commit is worse than the one before: by exact counts, or measured in "
        "interleaved rounds",
        False,
    )
    baseline: str = option("check against this commit instead (its first digits)")
    tolerance: float = option("share by which the newest may be worse, such as 0.01", 0.0)
    launches: int = option("launches of each arm that --check measures; default 20", 20)
    format: str = option(
        "form of --check: terminal, markdown, junit, or github, which appends Markdown to the "
        "summary of the job; default: by the suffix of --output"
    )
    output: str = option("file for that form; the terminal's is printed then")
    results: str = option(RESULTS_HELP)
    json: bool = option("print JSON", False)

    def validate(self) -> None:
        """UsageError for invalid values; ResultError for a file that cannot be written."""
        from trimtab.errors import UsageError
        from trimtab.reports.rendering import check_output
        from trimtab.sweep import check_report
        from trimtab.sweep import history as histories

        if self.of not in histories.REPOSITORIES:
            raise UsageError(f"--of {self.of!r} is neither project nor trimtab")
        if self.tolerance < 0:
            raise UsageError(f"tolerance is {self.tolerance}, it must be at least 0")
        if not self.check and (self.format or self.output):
            raise UsageError("--format and --output require --check", hint="add --check")
        check_report.check_format(self.report_format())
        check_output(self.output)

    def report_format(self) -> str:
        """The form of --check."""
        suffixes = {".txt": "terminal", ".md": "markdown", ".xml": "junit"}
        return format_of(self.format, self.output, suffixes, "terminal")


@command(HistoryOptions, engine=True, short_options=False)
def history(options: HistoryOptions) -> None:
    """Show the cells of sweeps over commits, with the steps in their figures."""
    from trimtab.cli._progress import shown
    from trimtab.errors import RegressionError, ResultError, UsageError
    from trimtab.results import index
    from trimtab.results.folder import results_folder
    from trimtab.strict_json import dumps
    from trimtab.sweep import cell_log, check_report, regressions
    from trimtab.sweep import history as histories

    of, sweep = options.of, options.sweep
    folder = results_folder(options.results)
    series = histories.series(index.entries(folder), cell_log.read_all(folder), of, sweep)
    if not series:
        raise UsageError(
            f"no sweep{f' {sweep!r}' * bool(sweep)} recorded its commit of the {of}",
            where=str(folder),
            hint=f"{PROGRAM} sweep FILE, where FILE lies in a Git repository",
        )
    checks = []
    if options.check:
        checks = regressions.check(
            series,
            folder,
            baseline=options.baseline,
            tolerance=options.tolerance,
            launches=options.launches,
            progress=shown(quiet=options.json),
        )
    if options.json:
        verdicts = regressions.table(checks).records()
        print(dumps({"series": histories.to_json(series), "check": verdicts}, indent=1))
    elif not options.check:
        print(histories.table(series).text())
    else:
        form = options.report_format()
        print(check_report.publish(form, options.output, series, checks), end="")
    if worse := [one for one in checks if one.is_worse]:
        raise RegressionError(
            f"{len(worse)} of {len(checks)} figures are worse; the first: "
            f"{worse[0].series.figure} of {worse[0].series.name}, {worse[0].ratio:.4f}x",
            hint="allow it with --tolerance, or start anew with --baseline COMMIT",
        )
    if unknown := [one for one in checks if one.ratio is None]:
        raise ResultError(
            f"{len(unknown)} of {len(checks)} figures could not be checked: {unknown[0].note}",
            hint="keep the cache between jobs (docs/ci.md), or compare counts under an emulator",
        )
