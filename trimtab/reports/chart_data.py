"""The charts of a page as data: what the scripts of `page/` draw, and with which words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.accuracy import Search
from trimtab.compare.side_by_side import Comparison
from trimtab.reports import fmt, run_tables
from trimtab.reports.configurations import FACTS, Cell
from trimtab.results.summary import Figure, Summary, Unit
from trimtab.results.thread_spans import medians


@dataclass(frozen=True)
class Chart:
    """One chart: the function of a script that draws `data`, its heading, and how to read it."""

    kind: str
    title: str
    caption: str
    data: dict[str, Any]


_UNITS = {Unit.NS: "time", Unit.INSTRUCTIONS: "executed instructions"}


def of_run(summary: Summary) -> list[Chart]:
    """Where time, bytes and memory of one run go; charts of what it does not know are left out."""
    return [
        *_precision(summary.search),
        *_operators(summary),
        *_graph(summary),
        *_samples([("this run", summary)]),
        *_treemap(summary),
        *_memory(summary),
        *_roofline(summary),
    ]


def of_comparison(comparison: Comparison) -> list[Chart]:
    """Speed and size side by side."""
    labels = run_tables.run_labels(comparison)
    paired = list(zip(labels, comparison.runs, strict=True))
    return [*_headlines(paired), *_samples(paired), *_parts(paired)]


def of_cells(cells: Sequence[Cell]) -> Chart:
    """All cells of a sweep or a folder: cost against bytes."""
    rows = [
        {
            **{fact: value or "default" for fact, value in cell.facts.items()},
            "run": cell.run_id,
            "cost": cell.cost,
            "bytes": cell.shipped_bytes,
        }
        | {"unit": cell.unit, "href": cell.href or None}
        for cell in cells
    ]
    return Chart(
        "cells",
        "Which configuration?",
        "Less of both is better: the dashed line joins the configurations that nothing beats in "
        "both. Choose a network and a device, and a limit, and read the answer.",
        {
            "rows": rows,
            "facts": FACTS,
            "names": {
                "ns": "time of an inference",
                "instructions": "executed instructions of an inference",
            },
        },
    )


def _precision(found: Search | None) -> Iterator[Chart]:
    if found is None:
        return
    dots = [
        {
            "x": one.cycles / 1e6,
            "y": one.accuracy.mean_error,
            "label": one.label,
            "marked": i == found.chosen,
        }
        for i, one in enumerate(found.candidates)
    ]
    yield Chart(
        "plane",
        "Precision: error against cost",
        "Every precision that was tried; the ring marks the one that was chosen.",
        {
            "dots": dots,
            "names": ["modeled Mcycles", "mean error"],
            "formats": ["", ""],
        },
    )


def _operators(summary: Summary) -> Iterator[Chart]:
    costly = [op for op in summary.ops if op.cost]
    if not costly:
        return
    unit = Unit.NS if costly[0].ns is not None else Unit.INSTRUCTIONS
    threads = summary.header.protocol.get("threads", 1)
    spans = [
        {
            "label": op.label,
            "type": op.label.split(" ")[0],
            "cost": op.cost,
            "threads": list(medians(op.shares, op.cost)),
        }
        for op in costly
    ]
    yield Chart(
        "timeline",
        f"An inference, operator by operator ({_UNITS[unit]})",
        "Medians of every operator, one after the other as they run. "
        + _told_of_threads(threads, any(op.shares for op in costly)),
        {"spans": spans, "unit": unit},
    )
    ranked = sorted(costly, key=lambda op: -op.cost)[: run_tables.TOP]
    yield Chart(
        "bars",
        f"Most expensive operators ({_UNITS[unit]})",
        "",
        {"rows": [{"label": op.label, "value": op.cost} for op in ranked], "unit": unit},
    )


def _told_of_threads(threads: int, is_known: bool) -> str:
    if threads == 1:
        return "One thread."
    if not is_known:
        return f"{threads} threads share each operator; what each of them did was not recorded."
    return (
        "Below, each thread from the begin of its first share of an operator to the end of its "
        "last. In what is left free it waits, or, the first one, does what is not shared."
    )


def _graph(summary: Summary) -> Iterator[Chart]:
    """The network as it was loaded and as it runs."""
    operators = summary.network.get("operators", [])
    runs = {i: op for i, op in enumerate(operators) if not op.get("prepares")}
    costs = {op.index: op.cost for op in summary.ops}
    what = _UNITS[Unit.NS if summary.figure("latency") else Unit.INSTRUCTIONS]
    if not any(costs.get(i) for i in runs):  # it was not measured operator by operator
        costs, what = {i: op["macs"] for i, op in runs.items()}, "multiply-accumulates"
    whole = sum(costs.get(i, 0) for i in runs)
    if not whole:
        return
    shares = {i: costs.get(i, 0) / whole for i in runs}
    places = {i: place for place, i in enumerate(runs)}
    after = [
        {
            "said": f"{op['label']}: {fmt.percent(shares[i])} of the {what}",
            "share": shares[i],
            "reads": [places[source] for source in op["reads"] if source in places],
        }
        for i, op in runs.items()
    ]
    before = []
    for op in summary.network.get("before", []):
        now = op["becomes"] if op["becomes"] in runs else None
        fate = "gone" if now is None else f"now part of {after[places[now]]['said']}"
        before.append(
            {
                "said": f"{op['label']}, {fate}",
                "share": 0 if now is None else shares[now],
                "reads": op["reads"],
            }
        )
    named = [("before", before), ("after", after)]
    yield Chart(
        "graph",
        "The network before and after the passes",
        f"A square is an operator, colored by its share of the {what}; before the passes by that "
        "of the operator that it became part of. Data flow to the right, and on in the next row.",
        {
            "graphs": [
                {"title": f"{when}: {len(ops)} operators", "operators": ops}
                for when, ops in named
                if ops
            ]
        },
    )


def _samples(runs: Sequence[tuple[str, Summary]]) -> Iterator[Chart]:
    series = [
        {"label": label, "launches": figure.launches}
        for label, run in runs
        if (figure := run.figure("latency"))
    ]
    if series:
        yield Chart(
            "samples",
            "Every inference of every launch",
            "A dot is one inference, a line the median of its launch. Dots that drift or gather in "
            "two heights say that something else was going on.",
            {"series": series, "unit": Unit.NS},
        )


def _treemap(summary: Summary) -> Iterator[Chart]:
    binary: dict[str, list[dict[str, Any]]] = {}
    for group, size in summary.groups.items():
        part, _, name = group.partition(":")
        binary.setdefault(run_tables.PARTS.get(part, part), []).append(
            {"name": name or part, "value": size}
        )
    trees: list[dict[str, Any]] = [
        {"name": f"binary: {part}", "children": leaves} for part, leaves in binary.items()
    ]
    weights = [
        {"name": label, "value": facts["weights_bytes"]}
        for label, facts in _network(summary)
        if facts["weights_bytes"]
    ]
    model = 0 if summary.header.is_model_embedded else summary.header.model.file_bytes
    rest = model - sum(leaf["value"] for leaf in weights)
    if model and rest >= 0:
        trees.append({"name": "model: weights", "children": weights})
        trees.append({"name": "model: graph", "value": rest})
    elif model:  # what several operators share counts once
        trees.append({"name": "model", "value": model})
    if trees:
        yield Chart(
            "treemap",
            "Bytes of binary and model",
            "An area is as large as its part of what is shipped.",
            {"tree": {"name": "shipped", "children": [tree for tree in trees if _weight(tree)]}},
        )


def _weight(tree: dict[str, Any]) -> int:
    return int(tree.get("value", 0)) + sum(int(leaf["value"]) for leaf in tree.get("children", ()))


def _memory(summary: Summary) -> Iterator[Chart]:
    operators = summary.network.get("operators", [])
    labels = [op["label"] for op in operators if not op.get("prepares")]
    first = len(operators) - len(labels)  # those that prepare constants stand before all others
    held = [
        {**tensor, "first": max(0, tensor["first"] - first), "last": tensor["last"] - first}
        for tensor in summary.network.get("memory", [])
        if tensor["last"] >= first
    ]
    if held and labels:
        arena = summary.figure("arena_bytes")
        yield Chart(
            "memory",
            "Activation memory, operator by operator",
            "A band is a tensor, from the operator that writes it to the last that reads it. The "
            "line is their sum; the arena is as large as the highest sum where they fit together.",
            {"held": held, "operators": labels, "arena": arena.value if arena else None},
        )


def _roofline(summary: Summary) -> Iterator[Chart]:
    costs = {op.index: op for op in summary.ops}
    found = [
        {
            "label": label,
            "macs": facts["macs"],
            "moved": facts["moved_bytes"] + facts["weights_bytes"],
            "cost": costs[i].cost,
        }
        for i, (label, facts) in enumerate(_network(summary))
        if facts["macs"] and i in costs and costs[i].cost
    ]
    if not found:
        return
    unit = Unit.NS if summary.figure("latency") else Unit.INSTRUCTIONS
    roof = summary.network.get("gb_per_s") if unit is Unit.NS else None
    yield Chart(
        "roofline",
        "Operators against the roofs (roofline)",
        "Right: more work for each byte. Up: faster. The dashed line is the fastest operator of "
        "this run"
        + (
            f", the slope what {roof:g} GB/s of memory allow. "
            if roof
            else "; how fast this device's memory is, its core's description does not say. "
        )
        + "Above the slope lies what caches feed. A large circle takes much of the time.",
        {"ops": found, "unit": unit, "gbPerS": roof},
    )


def _network(summary: Summary) -> list[tuple[str, dict[str, Any]]]:
    """(label, facts) of each operator; nothing of a record that does not know them all."""
    operators: list[dict[str, Any]] = summary.network.get("operators", [])
    return [(facts["label"], facts) for facts in operators]


def _headlines(runs: Sequence[tuple[str, Summary]]) -> Iterator[Chart]:
    figures = [(label, run.headline) for label, run in runs]
    keys = {figure.key if figure else None for _, figure in figures}
    first = figures[0][1]
    if len(keys) == 1 and first:
        rows = [_row(label, figure) for label, figure in figures if figure]
        title = f"One inference: {_UNITS[first.unit]}, median"
        yield Chart("bars", title, "", {"rows": rows, "unit": first.unit})


def _row(label: str, figure: Figure) -> dict[str, Any]:
    bounds = figure.statistic.interval
    ends = (bounds.low, bounds.high) if bounds.low != bounds.high else (None, None)
    assert math.isfinite(figure.value)
    return {"label": label, "value": figure.value, "low": ends[0], "high": ends[1]}


def _parts(runs: Iterable[tuple[str, Summary]]) -> Iterator[Chart]:
    rows = [
        {"label": label, "parts": list(run_tables.parts(run.groups).items())}
        for label, run in runs
        if run.groups
    ]
    if rows:
        yield Chart("stacked", "Binary by part", "", {"rows": rows, "unit": Unit.BYTES})
