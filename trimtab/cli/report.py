"""Reports of runs: one run, several side by side, or the list of all."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

_FORMAT = "terminal, markdown, html or json"
_RESULTS = "folder of the runs (default: results/)"
_WRITE = "file to write instead of printing"


@task(
    iterable=["run"],
    help={
        "run": "a file, a run id or `last`; may be repeated",
        "format": _FORMAT,
        "output": _WRITE,
        "results": _RESULTS,
    },
)
def report(
    _: Context, run: list[str], format: str = "terminal", output: str = "", results: str = ""
) -> None:
    """Report runs: one alone, several against the first, or (with no run) list them all."""
    from trimtab.workflow.report import report

    report(run, format=format, output=output, results=results)


@task(
    positional=["a", "b"],
    help={
        "a": "the baseline: a file, a run id or `last~1`",
        "b": "the run to compare with it",
        "format": _FORMAT,
        "output": _WRITE,
        "results": _RESULTS,
    },
)
def compare(
    _: Context, a: str, b: str, format: str = "terminal", output: str = "", results: str = ""
) -> None:
    """Compare two runs: size and speed side by side, and whether the difference is real."""
    from trimtab.workflow.report import report

    report([a, b], format=format, output=output, results=results)
