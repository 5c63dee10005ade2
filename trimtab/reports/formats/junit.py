"""JUnit XML, which CI systems show as tests: one suite per run.

The cases of a suite: the run came to its end, the output is right, and, in a comparison, the run is
not slower than the first one. The last case fails if the difference is real, and is skipped if it
cannot be decided, as for runs from separate measurements. Figures are properties of the suite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trimtab import junit_document
from trimtab.compare.side_by_side import Comparison
from trimtab.junit_document import Case, Outcome, Suite
from trimtab.reports import exchange, fmt
from trimtab.results.records import Status
from trimtab.results.statistics import Ratio
from trimtab.results.summary import Summary, Unit

SUFFIX = ".xml"
IS_WHOLE = False

# The outcome of a run without success; any other status is a failure.
_OUTCOMES: dict[Status, Outcome] = {Status.INFRA: "error", Status.SKIPPED: "skipped"}


def run(summary: Summary) -> str:
    """One suite."""
    return _suites([summary], [None])


def comparison(comparison: Comparison) -> str:
    """A suite for each run; the runs after the first are compared with it."""
    key = next((r.headline.key for r in comparison.runs if r.headline), "")
    row = next((row for row in comparison.rows if row.key == key), None)
    ratios: Sequence[Ratio | None] = row.ratios if row else [None] * (len(comparison.runs) - 1)
    return _suites(comparison.runs, [None, *ratios])


def _suites(runs: Sequence[Summary], ratios: Sequence[Ratio | None]) -> str:
    named = exchange.named(runs)
    suites = []
    for (name, summary), ratio in zip(named, ratios, strict=True):
        cases = [*_outcome(summary)]
        if summary is not runs[0]:
            cases.append(_comparison(summary, named[0][0], ratio))
        suites.append(Suite(name, cases, _properties(summary), summary.header.time))
    return junit_document.document(suites)


def _properties(summary: Summary) -> dict[str, str]:
    figures = {
        f"{one.name} ({one.unit})": f"{one.value:.15g}" for one in exchange.measures(summary)
    }
    return exchange.facts(summary) | figures


def _outcome(summary: Summary) -> Iterator[Case]:
    """The end of the run, and the check of its output."""
    latency = summary.figure("latency")
    end = "the run came to its end"
    seconds = latency.value / 1e9 if latency else None
    if summary.status.is_measured:
        yield Case(end, seconds=seconds)
    else:
        outcome = _OUTCOMES.get(summary.status, "failure")
        yield Case(end, outcome, f"{summary.status}: {summary.message}", seconds)
    if summary.golden != "not checked" or summary.status is Status.OK:
        is_wrong = summary.status is Status.INACCURATE
        text = summary.message if is_wrong else summary.golden
        yield Case("the output is right", "failure" if is_wrong else "passed", text)


def _comparison(summary: Summary, first: str, ratio: Ratio | None) -> Case:
    name = f"it is not slower than {first}"
    text = fmt.ratio(ratio, summary.headline.unit if summary.headline else Unit.NS)
    if ratio is None or ratio.is_real is None:
        reason = "the runs are from separate measurements" if ratio else "no common figure"
        return Case(name, "skipped", f"{text}: {reason}")
    is_worse = ratio.is_real and ratio.value > 1
    return Case(name, "failure" if is_worse else "passed", text)
