"""The charts of a page as data and texts, which the scripts in `page/` draw."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from trimtab.accuracy import Search
from trimtab.compare.side_by_side import Comparison
from trimtab.reports import fmt, run_tables
from trimtab.reports.configurations import FACTS, Configuration
from trimtab.results.paced import Paced
from trimtab.results.summary import Figure, Summary, Unit
from trimtab.results.thread_spans import medians


@dataclass(frozen=True)
class Chart:
    """One chart: the script function that draws `data`, the heading, and a caption."""

    kind: str
    title: str
    caption: str
    data: dict[str, Any]


MIN_POINTS = 2  # one point is no chart: a table has its number

_UNITS = {Unit.NS: "time", Unit.INSTRUCTIONS: "executed instructions"}


def of_run(summary: Summary) -> list[Chart]:
    """The charts of one run: precision, time, size and memory, without those that lack data."""
    return [
        *_precision(summary.search),
        *_paced(summary.paced),
        *_operators(summary),
        *_graph(summary),
        *_samples([("this run", summary)]),
        *_treemap(summary),
        *_memory(summary),
        *_roofline(summary),
    ]


def of_comparison(comparison: Comparison) -> list[Chart]:
    """The charts of a comparison: speed and size side by side."""
    labels = run_tables.run_labels(comparison)
    paired = list(zip(labels, comparison.runs, strict=True))
    return [*_headlines(paired), *_samples(paired), *_parts(paired)]


def of_configurations(configurations: Sequence[Configuration]) -> Chart:
    """The chart of all configurations: cost against size."""
    rows = [
        {
            **{fact: value or "default" for fact, value in one.facts.items()},
            "run": one.run_id,
            "cost": one.cost,
            "bytes": one.shipped_bytes,
        }
        | {"unit": one.unit, "href": one.href or None, "flaw": one.flaw or None}
        for one in configurations
    ]
    return Chart(
        "cells",
        "Which configuration?",
        "Less of both is better. The dashed line joins the configurations that no other one beats "
        "in both. Select a network, a device and a limit.",
        {
            "rows": rows,
            "facts": FACTS,
            "names": {
                "ns": "time of an inference",
                "instructions": "executed instructions of an inference",
            },
        },
    )


def _paced(paced: Paced | None) -> Iterator[Chart]:
    if paced is None or len(paced.spans) < MIN_POINTS:
        return
    names = ("at", "mhz", "celsius")
    yield Chart(
        "paced",
        "Frames over time",
        "Time from a frame's arrival to its result: the line is the median, the band reaches to "
        "the maximum, and results above the dashed line were late. Below, clock and temperature, "
        "where the device reports them.",
        {
            "spans": [asdict(span) for span in paced.spans],
            "samples": [dict(zip(names, sample, strict=True)) for sample in paced.samples],
            "period": paced.period_ns,
        },
    )


def _precision(search: Search | None) -> Iterator[Chart]:
    if search is None or len(search.candidates) < MIN_POINTS:
        return
    dots = [
        {
            "x": one.cycles / 1e6,
            "y": one.accuracy.mean_error,
            "label": one.label,
            "marked": i == search.chosen,
        }
        for i, one in enumerate(search.candidates)
    ]
    yield Chart(
        "plane",
        "Precision: error against cost",
        "Each dot is a precision of the search; the ring marks the chosen one.",
        {
            "dots": dots,
            "names": ["modeled Mcycles", "mean error"],
            "formats": ["", ""],
        },
    )


def _operators(summary: Summary) -> Iterator[Chart]:
    costly = [op for op in summary.ops if op.cost]
    if len(costly) < MIN_POINTS:
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
        "The median of every operator, in the order of execution. "
        + _threads_caption(threads, any(op.shares for op in costly)),
        {"spans": spans, "unit": unit},
    )
    ranked = sorted(costly, key=lambda op: -op.cost)[: run_tables.TOP]
    yield Chart(
        "bars",
        f"Most expensive operators ({_UNITS[unit]})",
        "",
        {"rows": [{"label": op.label, "value": op.cost} for op in ranked], "unit": unit},
    )


def _threads_caption(threads: int, is_known: bool) -> str:
    if threads == 1:
        return "One thread."
    if not is_known:
        return f"{threads} threads share each operator; the record has no times of each thread."
    return (
        "Below, each thread from the begin of its first share of an operator to the end of its "
        "last. In the gaps a thread waits, or the first one does work that is not shared."
    )


def _graph(summary: Summary) -> Iterator[Chart]:
    """The network as loaded, and as executed."""
    operators = summary.network.get("operators", [])
    runs = {i: op for i, op in enumerate(operators) if not op.get("prepares")}
    costs = {op.index: op.cost for op in summary.ops}
    quantity = _UNITS[Unit.NS if summary.figure("latency") else Unit.INSTRUCTIONS]
    if not any(costs.get(i) for i in runs):  # the run has no costs of operators
        costs, quantity = {i: op["macs"] for i, op in runs.items()}, "multiply-accumulates"
    whole = sum(costs.get(i, 0) for i in runs)
    if not whole or len(runs) < MIN_POINTS:
        return
    shares = {i: costs.get(i, 0) / whole for i in runs}
    places = {i: place for place, i in enumerate(runs)}
    after = [
        {
            "text": f"{op['label']}: {fmt.percent(shares[i])} of the {quantity}",
            "share": shares[i],
            "reads": [places[source] for source in op["reads"] if source in places],
        }
        for i, op in runs.items()
    ]
    imported = summary.network.get("before", [])
    computed = [i for i, op in enumerate(imported) if not op.get("prepares")]
    now_at = {i: place for place, i in enumerate(computed)}
    before: list[dict[str, Any]] = []
    for i in computed:
        op = imported[i]
        now = op["becomes"] if op["becomes"] in runs else None
        fate = "removed" if now is None else f"now part of {after[places[now]]['text']}"
        before.append(
            {
                "text": f"{op['label']}, {fate}",
                "share": 0 if now is None else shares[now],
                "reads": [now_at[source] for source in op["reads"] if source in now_at],
            }
        )
    stages = [("before", before), ("after", after)]
    yield Chart(
        "graph",
        "The network before and after the passes",
        f"A square is an operator, colored by its share of the {quantity}; before the passes, by "
        "that of the operator that it became part of. Data flows to the right, row by row. What is "
        "computed from constants alone, such as dequantized weights, is part of its reader.",
        {
            "graphs": [
                {"title": f"{when}: {len(ops)} operators", "operators": ops}
                for when, ops in stages
                if ops
            ]
        },
    )


def _samples(runs: Sequence[tuple[str, Summary]]) -> Iterator[Chart]:
    figures = [(label, figure) for label, run in runs if (figure := run.figure("latency"))]
    if sum(len(figure.samples) for _, figure in figures) >= MIN_POINTS:
        series = [{"label": label, "launches": figure.launches} for label, figure in figures]
        yield Chart(
            "samples",
            "Every inference of every launch",
            "A dot is one inference, a line the median of its launch. Dots that drift or form two "
            "levels indicate interference.",
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
    elif model:  # several operators share weights
        trees.append({"name": "model", "value": model})
    if sum(len(tree.get("children", [tree])) for tree in trees) >= MIN_POINTS:
        yield Chart(
            "treemap",
            "Bytes of binary and model",
            "An area is proportional to its share of the shipped bytes.",
            {"tree": {"name": "shipped", "children": [tree for tree in trees if _weight(tree)]}},
        )


def _weight(tree: dict[str, Any]) -> int:
    return int(tree.get("value", 0)) + sum(int(leaf["value"]) for leaf in tree.get("children", ()))


def _memory(summary: Summary) -> Iterator[Chart]:
    operators = summary.network.get("operators", [])
    labels = [op["label"] for op in operators if not op.get("prepares")]
    first = len(operators) - len(labels)  # operators that prepare constants come first
    tensors = [
        {**tensor, "first": max(0, tensor["first"] - first), "last": tensor["last"] - first}
        for tensor in summary.network.get("memory", [])
        if tensor["last"] >= first
    ]
    if tensors and len(labels) >= MIN_POINTS:
        arena = summary.figure("arena_bytes")
        yield Chart(
            "memory",
            "Activation memory, operator by operator",
            "A band is a tensor, from the operator that writes it to its last reader. The line is "
            "their sum; an arena without fragmentation is as large as the highest sum.",
            {"held": tensors, "operators": labels, "arena": arena.value if arena else None},
        )


def _roofline(summary: Summary) -> Iterator[Chart]:
    costs = {op.index: op for op in summary.ops}
    points = [
        {
            "label": label,
            "macs": facts["macs"],
            "moved": facts["moved_bytes"] + facts["weights_bytes"],
            "cost": costs[i].cost,
        }
        for i, (label, facts) in enumerate(_network(summary))
        if facts["macs"] and i in costs and costs[i].cost
    ]
    if len(points) < MIN_POINTS:
        return
    unit = Unit.NS if summary.figure("latency") else Unit.INSTRUCTIONS
    roof = summary.network.get("gb_per_s") if unit is Unit.NS else None
    yield Chart(
        "roofline",
        "Roofline of the operators",
        "Right: more work per byte. Up: faster. The dashed line is the fastest operator of this run"
        + (
            f", the slope the limit of {roof:g} GB/s of memory bandwidth. "
            if roof
            else "; the core's description has no memory bandwidth for this device. "
        )
        + "Operators above the slope are fed by caches. A larger circle takes more of the time.",
        {"ops": points, "unit": unit, "gbPerS": roof},
    )


def _network(summary: Summary) -> list[tuple[str, dict[str, Any]]]:
    """(label, facts) of each operator; empty if the record has none."""
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
