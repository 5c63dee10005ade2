"""Reports of runs: one run, several side by side, or the list of all."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option
from trimtab.cli._options import RESULTS_HELP, format_of
from trimtab.paths import PROGRAM

GROUP = "Compare and report"


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Options of `report`."""

    run: tuple[str, ...] = option("a file, a run id or `last` (repeatable)", ())
    format: str = option(
        "terminal, markdown, html, json, or another of docs/bench.md#formats; without a run: html "
        "or terminal, an overview of all; default: by the suffix of --output"
    )
    output: str = option("file to write instead of printing")
    results: str = option(RESULTS_HELP)


@command(ReportOptions)
def report(options: ReportOptions) -> None:
    """Report one run, several side by side and whether they differ, or without a run all."""
    from trimtab import reports
    from trimtab.reports import rendering
    from trimtab.results.folder import results_folder, runs_table

    folder, runs = results_folder(options.results), options.run
    form = "terminal" if options.output else ""
    format = format_of(options.format, options.output, reports.by_suffix(), form)
    if not runs and format:
        show(rendering.render_overview(folder, format), options.output)
    elif not runs:
        table = runs_table(folder)
        empty = f"no runs in {folder} yet; {PROGRAM} bench makes one"
        print(table.text() if table.rows else empty)
    elif len(runs) == 1:
        show(rendering.render_run(runs[0], folder, format or "terminal"), options.output)
    else:
        show(rendering.render_comparison(runs, folder, format or "terminal"), options.output)


def show(text: str, output: str) -> None:
    """Prints a report, or writes it into the file `output`."""
    from pathlib import Path

    from trimtab import files
    from trimtab.errors import ResultError

    if output:
        files.write_text(Path(output), text, error=ResultError, hint="name another --output")
        print(f"written: {output}")
    else:
        print(text, end="")
