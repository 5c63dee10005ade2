"""One self-contained HTML page with charts: no script, nothing fetched, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from trimtab.accuracy import Candidate, Search
from trimtab.bench.summary import Comparison, Figure, Summary, Unit
from trimtab.reports import _svg, _tables, _text
from trimtab.tables import Table

SUFFIX = ".html"
IS_WHOLE = True

_STYLE = """
:root { --ink: #1d2430; --paper: #fff; --faint: #d9dee6; --bar: #2f6fb0;
  --s0: #2f6fb0; --s1: #e08a2e; --s2: #3f9b6e; --s3: #b4548f; --s4: #8a7ad0; --s5: #c9b23b;
  --s6: #5bb1c7; --s7: #9aa3af }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --paper: #14181f; --faint: #39414d;
  --bar: #6aa7e6; --s0: #6aa7e6; --s1: #eba45a; --s2: #62bd90; --s3: #d27fb2; --s4: #a99be6;
  --s5: #d8c560; --s6: #7ccbdf; --s7: #7d8794 } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2.2rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums;
  display: block; overflow-x: auto }
th, td { padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--faint); text-align: right }
.left { text-align: left }
svg { max-width: 100%; height: auto; font-size: 13px }
.ink { fill: var(--ink) } .bar { fill: var(--bar) }
.whisker { stroke: var(--ink); stroke-width: 1.5; fill: none }
""" + "\n".join(f".s{i} {{ fill: var(--s{i}) }}" for i in range(_svg.COLOURS))


def run(summary: Summary) -> str:
    """The report of one run: what is shipped, where time and bytes go, then the other tables."""
    charts = _precision_chart(summary.search)
    costly = sorted(summary.ops, key=lambda op: -op.cost)[: _tables.TOP]
    if costly:
        unit = Unit.NS if costly[0].ns is not None else Unit.INSTRUCTIONS
        title = f"Most expensive operators ({unit})"
        bars = [_svg.Bar(op.label, op.cost, _text.value(op.cost, unit)) for op in costly]
        charts.append((title, _svg.bars(bars, title)))
    charts += _size_chart([summary], ["binary"])
    head = len(_tables.head(summary))
    return _page(summary.name, charts, _tables.of_run(summary), summary.notes, head)


def comparison(comparison: Comparison) -> str:
    """The report of several runs: their figures, speed and size as charts, the other tables."""
    labels = _tables.run_labels(comparison)
    charts = []
    headlines = [run.headline for run in comparison.runs]
    if len({figure.key if figure else None for figure in headlines}) == 1 and headlines[0]:
        bars = [_bar(label, f) for label, f in zip(labels, headlines, strict=True) if f]
        title = f"One inference: {headlines[0].unit}, median"
        charts.append((title, _svg.bars(bars, title)))
    charts += _size_chart(comparison.runs, labels)
    title = " against ".join(labels)
    said = [str(comparison.verdict)] if comparison.verdict else []
    notes = [*said, *comparison.notes]
    head = 1 + any(run.accuracy for run in comparison.runs)
    return _page(title, charts, _tables.of_comparison(comparison), notes, head)


def _precision_chart(found: Search | None) -> list[tuple[str, str]]:
    """Error against cost of what a search among precisions tried."""
    if found is None:
        return []
    best = found.candidates[found.chosen]

    def dot(one: Candidate) -> _svg.Dot:
        error, cost = one.accuracy.mean_error, one.cycles / 1e6
        text = f"{one.label}: {cost:.3g} Mcycles, mean error {error:.2%}"
        return _svg.Dot(cost, error, text, marked=one == best)

    title = "Precision: error against cost"
    names = ("modelled Mcycles", "mean error")
    dots, line = [dot(one) for one in found.candidates], [dot(one) for one in found.front()]
    return [(title, _svg.plane(dots, line, names, title))]


def _bar(label: str, figure: Figure) -> _svg.Bar:
    text = _text.value(figure.value, figure.unit)
    return _svg.Bar(label, figure.value, text, figure.statistic.interval)


def _size_chart(runs: Sequence[Summary], labels: Sequence[str]) -> list[tuple[str, str]]:
    if not any(run.groups for run in runs):
        return []
    title = "Binary by part (bytes)"
    rows = []
    for label, run in zip(labels, runs, strict=True):
        total = _text.value(sum(run.groups.values()), Unit.BYTES)
        rows.append((label, _tables.parts(run.groups), total))
    return [(title, _svg.stacked(rows, title))]


def _page(
    title: str,
    charts: Sequence[tuple[str, str]],
    tables: Sequence[Table],
    notes: Sequence[str],
    head: int,
) -> str:
    """So many of the tables stand before the charts."""
    body = [f"<h1>{escape(title)}</h1>"]
    body += [f"<p>{escape(note)}</p>" for note in notes]
    body += [table.html() for table in tables[:head]]
    for heading, chart in charts:
        body.append(f"<h2>{escape(heading)}</h2>\n{chart}")
    body += [table.html() for table in tables[head:]]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>"
        + "\n".join(body)
        + "</body></html>\n"
    )
