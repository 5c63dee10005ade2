"""The verdicts of `history --check` as text, Markdown and JUnit XML.

Each names the commit that is judged, and the one before it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from trimtab import escape, files, junit_document
from trimtab.errors import ResultError, UsageError
from trimtab.junit_document import Case, Suite
from trimtab.sweep import regressions
from trimtab.sweep.history import Point, Series, commit_label
from trimtab.sweep.regressions import RegressionCheck

_SUMMARY = "GITHUB_STEP_SUMMARY"  # the file whose Markdown GitHub shows on the page of a job
_NOTHING = "there is only one commit, and nothing to compare it with yet"


def render(name: str, series: Sequence[Series], checks: Sequence[RegressionCheck]) -> str:
    """The report in the format `name`, with a newline at the end; `github` is its Markdown.

    UsageError, with the existing names, for any other. `series` are those that were checked.
    """
    return _format(name)(series, checks)


def check_format(name: str) -> None:
    """Checks a format before a long measurement starts.

    UsageError if it does not exist, or is `github` outside of a job of GitHub.
    """
    _format(name)
    if name == "github" and not os.environ.get(_SUMMARY):
        raise UsageError(
            f"{_SUMMARY} is not set: this is not a job of GitHub", hint="use --format markdown"
        )


def publish(
    name: str, output: str, series: Sequence[Series], checks: Sequence[RegressionCheck]
) -> str:
    """Writes the report where its readers are; returns what is left to print.

    `github` is appended to the summary of this job, and any form is written to the file `output`
    if there is one. Then the terminal's form is printed. ResultError if a file cannot be written.
    """
    text = render(name, series, checks)
    if name == "github":
        files.append_text(Path(os.environ[_SUMMARY]), text, error=ResultError)
    if output:
        files.write_text(Path(output), text, error=ResultError, hint="name another --output")
    return render("terminal", series, checks) if output or name == "github" else text


def _format(name: str) -> Callable[[Sequence[Series], Sequence[RegressionCheck]], str]:
    formats = {"terminal": _text, "markdown": _markdown, "junit": _junit, "github": _markdown}
    if name not in formats:
        raise UsageError(f"unknown format {name!r}", hint=f"one of: {', '.join(formats)}")
    return formats[name]


def _text(series: Sequence[Series], checks: Sequence[RegressionCheck]) -> str:
    if not checks:
        return f"{_NOTHING}\n"
    return f"{escape.line(_judged(series))}\n\n{regressions.table(checks).text()}\n"


def _markdown(series: Sequence[Series], checks: Sequence[RegressionCheck]) -> str:
    table = regressions.table(checks).markdown() if checks else f"T{_NOTHING[1:]}."
    title = f"{_verdict(checks)}: {_judged(series)}"
    return f"## {escape.markdown(title)}\n\n{table}\n"


def _junit(series: Sequence[Series], checks: Sequence[RegressionCheck]) -> str:
    newest = _newest(series)
    about = {"commit": newest.commit, "subject": newest.subject}
    suites = [
        Suite(name, [_case(one) for one in checks if one.series.name == name], about, newest.time)
        for name in dict.fromkeys(one.series.name for one in checks)
    ]
    return junit_document.document(suites or [Suite("history", [], about, newest.time)])


def _case(check: RegressionCheck) -> Case:
    name = f"{check.series.figure} is not worse than at {check.before.commit[:10]}"
    if check.ratio is None:
        return Case(name, "error", check.note)
    before, now = check.values
    values = "" if before is None else f" ({before:,.0f} to {now:,.0f})"
    text = f"{check.ratio:.4f}x{values}: {check.note}"
    return Case(name, "failure" if check.is_worse else "passed", text)


def _newest(series: Sequence[Series]) -> Point:
    """The newest commit of all series."""
    return max((one.points[-1] for one in series), key=lambda point: point.order)


def _judged(series: Sequence[Series]) -> str:
    return f"commit {commit_label(_newest(series))}"


def _verdict(checks: Sequence[RegressionCheck]) -> str:
    worse = sum(one.is_worse for one in checks)
    unknown = sum(one.ratio is None for one in checks)
    if worse:
        return f"{worse} of {len(checks)} figures are worse"
    if unknown:
        return f"{unknown} of {len(checks)} figures could not be checked"
    return f"{len(checks)} figures are not worse" if checks else "Nothing to compare"
