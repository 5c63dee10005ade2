"""Reports of runs: one run, several side by side, or the list of all."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._options import RESULTS_HELP

GROUP = "Compare and report"

_FORMAT = "terminal, markdown, html, json, or another of docs/bench.md#formats"
_WRITE = "file to write instead of printing"


@task(
    iterable=["run"],
    help={
        "run": "a file, a run id or `last`; may be repeated",
        "format": f"{_FORMAT}; without a run: html or terminal, all at a glance",
        "output": _WRITE,
        "results": RESULTS_HELP,
    },
)
def report(
    _: Context, run: list[str], format: str = "", output: str = "", results: str = ""
) -> None:
    """Report runs: one alone, several against the first; with no run all, as a list or a page."""
    from trimtab.reports import rendering
    from trimtab.results.folder import results_folder, runs_table

    folder = results_folder(results)
    if not run and format:
        show(rendering.render_overview(folder, format), output)
    elif not run:
        listed = runs_table(folder)
        empty = f"no runs in {folder} yet; ./inv bench makes one"
        print(listed.text() if listed.rows else empty)
    elif len(run) == 1:
        show(rendering.render_run(run[0], folder, format or "terminal"), output)
    else:
        show(rendering.render_comparison(run, folder, format or "terminal"), output)


@task(
    positional=["a", "b"],
    help={
        "a": "the baseline: a file, a run id or `last~1`",
        "b": "the run to compare with it",
        "format": _FORMAT,
        "output": _WRITE,
        "results": RESULTS_HELP,
    },
)
def compare(
    _: Context, a: str, b: str, format: str = "terminal", output: str = "", results: str = ""
) -> None:
    """Compare two runs: size and speed side by side, and whether the difference is real."""
    from trimtab.reports import rendering
    from trimtab.results.folder import results_folder

    show(rendering.render_comparison([a, b], results_folder(results), format), output)


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
