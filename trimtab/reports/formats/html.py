"""One HTML page with charts, light and dark, that fetches nothing."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.compare.side_by_side import Comparison
from trimtab.reports import chart_data, configurations, run_tables
from trimtab.reports.configurations import Cell
from trimtab.reports.html_page import page
from trimtab.results.summary import Summary

SUFFIX = ".html"
IS_WHOLE = True


def run(summary: Summary) -> str:
    """The report of one run: what is shipped, where time and bytes go, then the other tables."""
    tables, head = run_tables.of_run(summary), len(run_tables.head(summary))
    charts = chart_data.of_run(summary)
    return page(summary.name, tables[:head], charts, tables[head:], summary.notes)


def comparison(comparison: Comparison) -> str:
    """The report of several runs: their figures, speed and size as charts, the other tables."""
    title = " against ".join(run_tables.run_labels(comparison))
    tables = run_tables.of_comparison(comparison)
    head = 1 + any(run.accuracy for run in comparison.runs)
    said = [str(comparison.verdict)] if comparison.verdict else []
    charts = chart_data.of_comparison(comparison)
    return page(title, tables[:head], charts, tables[head:], [*said, *comparison.notes])


def cells(runs: Sequence[Summary]) -> str:
    """Many runs at a glance: cost against bytes, which are best, and a table of all."""
    return page_of(configurations.cells_of(runs), _left_out(runs))


def site(runs: Sequence[Summary], base: str, state: str) -> str:
    """The same for a server, with links to `base` + run id; see `html_page.page` of `state`."""
    links = [
        (base + run.header.run_id, f"{run.header.time[:19]}Z {run.name}: {run.status}")
        for run in reversed(runs)
    ]
    return page_of(configurations.cells_of(runs, base), _left_out(runs), links, state)


def page_of(
    found: Sequence[Cell],
    notes: Sequence[str] = (),
    links: Sequence[tuple[str, str]] = (),
    state: str = "",
) -> str:
    """The page of cells; see `html_page.page`."""
    charts = [chart_data.of_cells(found)] if found else []
    title = f"{len(found)} configurations"
    return page(title, [], charts, [configurations.table(found)], notes, links, state)


def _left_out(runs: Sequence[Summary]) -> list[str]:
    return [
        f"{run.name} ended with {run.status}." for run in runs if not configurations.cell_of(run)
    ]
