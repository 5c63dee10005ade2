"""A self-contained HTML page with charts, in light and dark colors."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.compare.side_by_side import Comparison
from trimtab.reports import chart_data, configurations, run_tables
from trimtab.reports.configurations import Configuration, configurations_of, failures, warnings
from trimtab.reports.html_page import page
from trimtab.results.summary import Summary
from trimtab.tables import Column, Table

SUFFIX = ".html"
IS_WHOLE = True


def run(summary: Summary) -> str:
    """The report of one run: the answer, footprints, charts of time and size, other tables."""
    tables, head = run_tables.of_run(summary), len(run_tables.head(summary))
    charts = chart_data.of_run(summary)
    return page(summary.name, tables[:head], charts, tables[head:], summary.notes)


def comparison(comparison: Comparison) -> str:
    """The report of several runs: their figures, charts of speed and size, and other tables."""
    title = " against ".join(run_tables.run_labels(comparison))
    tables = run_tables.of_comparison(comparison)
    head = 1 + any(run.accuracy for run in comparison.runs)
    verdict = [str(comparison.verdict)] if comparison.verdict else []
    charts = chart_data.of_comparison(comparison)
    return page(title, [*verdict, *tables[:head]], charts, tables[head:], comparison.notes)


def cells(runs: Sequence[Summary]) -> str:
    """Many runs at a glance: cost against size, the Pareto front, and a table of all."""
    return page_of(configurations_of(runs), warnings(runs), failures(runs))


def site(runs: Sequence[Summary], base: str, state: str) -> str:
    """`cells` for a server, with links to `base` + run id; `state` as in `html_page.page`."""
    links = [
        (base + run.header.run_id, f"{run.header.time[:19]}Z {_label(run)}")
        for run in reversed(runs)
    ]
    return page_of(configurations_of(runs, base), warnings(runs), failures(runs), links, state)


def page_of(
    measured: Sequence[Configuration],
    notes: Sequence[str] = (),
    failed: Sequence[str] = (),
    links: Sequence[tuple[str, str]] = (),
    state: str = "",
) -> str:
    """The page of these configurations. `failed`: a sentence for each run without a result; other
    arguments as in `html_page.page`.
    """
    charts = [chart_data.of_configurations(measured)] if len(measured) > 1 else []
    shown = configurations.overview(measured)
    head = [shown] if len(shown.rows) > 1 or len(shown.columns) > 2 else []
    title = "1 configuration" if len(measured) == 1 else f"{len(measured)} configurations"
    tables = [configurations.table(measured)]
    if failed:
        rows = [(sentence,) for sentence in failed]
        tables.append(Table([Column("runs without a result")], rows, "Failed"))
    return page(title, head, charts, tables, notes, links, state)


def _label(run: Summary) -> str:
    return f"{run.header.run_id} {run.name}: {run.status} {run.message}".rstrip()
