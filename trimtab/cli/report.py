"""Reports of runs: one run, several side by side, or the list of all."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import argument, command, option
from trimtab.cli._options import RESULTS_HELP

GROUP = "Compare and report"

_FORMAT = "terminal, markdown, html, json, or another of docs/bench.md#formats"
_WRITE = "file to write instead of printing"


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Options of `report`."""

    run: tuple[str, ...] = option("a file, a run id or `last` (repeatable)", ())
    format: str = option(f"{_FORMAT}; without a run: html or terminal, an overview of all")
    output: str = option(_WRITE)
    results: str = option(RESULTS_HELP)


@command(ReportOptions)
def report(options: ReportOptions) -> None:
    """Report one run, several beside the first, or without a run all, as a list or a page."""
    from trimtab.reports import rendering
    from trimtab.results.folder import results_folder, runs_table

    folder, runs, format = results_folder(options.results), options.run, options.format
    if not runs and format:
        show(rendering.render_overview(folder, format), options.output)
    elif not runs:
        table = runs_table(folder)
        empty = f"no runs in {folder} yet; ./inv bench makes one"
        print(table.text() if table.rows else empty)
    elif len(runs) == 1:
        show(rendering.render_run(runs[0], folder, format or "terminal"), options.output)
    else:
        show(rendering.render_comparison(runs, folder, format or "terminal"), options.output)


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Options of `compare`."""

    a: str = argument("the baseline: a file, a run id or `last~1`")
    b: str = argument("the run to compare with it")
    format: str = option(_FORMAT, "terminal")
    output: str = option(_WRITE)
    results: str = option(RESULTS_HELP)


@command(CompareOptions)
def compare(options: CompareOptions) -> None:
    """Compare two runs: size and speed side by side, and whether the difference is real."""
    from trimtab.reports import rendering
    from trimtab.results.folder import results_folder

    runs, folder = [options.a, options.b], results_folder(options.results)
    show(rendering.render_comparison(runs, folder, options.format), options.output)


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
