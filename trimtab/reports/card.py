"""Cards: what a network costs on a board in each precision and form of stored weights, for several
networks and boards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from trimtab import escape, strict_json, tables
from trimtab.accuracy import Accuracy
from trimtab.errors import UsageError
from trimtab.pipeline.card import CardEntry
from trimtab.reports import fmt
from trimtab.reports.html_page import page as html_page
from trimtab.results import energy, statistics
from trimtab.results.peer_figures import PeerFigure
from trimtab.results.records import CHOICES, Status
from trimtab.results.statistics import MIN_FOR_P99
from trimtab.results.summary import Figure, OpCost, Summary, Unit
from trimtab.tables import Column, Table, number

_EMULATED = (
    "An emulated device has no times, so executed instructions (instr.) are shown. The peak "
    "memory is unknown where only that of the emulator can be read."
)
_SEEDED = "Accuracy of seeded noise says little about real data: give samples with --calibration."
_PICTURES = (
    "Labeled pictures were computed on this machine in the same precision; the column `outputs` "
    "says how far the device's own outputs are from a reference."
)
_P99 = f"p99 needs {MIN_FOR_P99} inferences: measure more with --runs."


@dataclass(frozen=True)
class Card:
    """Entries of networks on boards, and other engines that ran there."""

    entries: Sequence[CardEntry]
    peers: Sequence[PeerFigure] = ()


def render(card: Card, form: str) -> str:
    """The card as html, markdown, json or terminal, with a newline at the end.

    UsageError, with the existing names, for any other form.
    """
    return check_form(form)(card)


def check_form(name: str) -> Callable[[Card], str]:
    """The function that renders a form; UsageError if it does not exist."""
    forms = {"terminal": _terminal, "markdown": _markdown, "html": _html, "json": _json}
    if name not in forms:
        raise UsageError(f"unknown form {name!r} of a card", hint=f"one of: {', '.join(forms)}")
    return forms[name]


def _title(entries: Sequence[CardEntry]) -> str:
    networks, devices = (
        ", ".join(dict.fromkeys(names))
        for names in ((e.network for e in entries), (e.device for e in entries))
    )
    return f"{networks} on {devices}"


def _terminal(card: Card) -> str:
    notes = [escape.line(f"note: {note}") for note in _notes(card)]
    return tables.text([escape.line(_title(card.entries)), *_tables(card), *notes]) + "\n"


def _markdown(card: Card) -> str:
    notes = "\n".join(f"* {escape.markdown(note)}" for note in _notes(card))
    title = f"# {escape.markdown(_title(card.entries))}"
    return tables.markdown([title, *_tables(card), *filter(None, [notes])]) + "\n"


def _html(card: Card) -> str:
    return html_page(_title(card.entries), _tables(card), [], [], _notes(card))


def _json(card: Card) -> str:
    facts = {
        "entries": [_facts(entry) for entry in card.entries],
        "peers": [{**asdict(peer), "ratio": peer.ratio} for peer in card.peers],
        "notes": _notes(card),
    }
    return strict_json.dumps(facts, indent=1) + "\n"


def _tables(card: Card) -> list[Table]:
    """The tables of a card; those without rows are left out."""
    entries = card.entries
    whole = [_costs(entries), _builds(entries), _accuracies(entries), _parts(entries)]
    whole.append(peers_table(card.peers))
    return [table for table in whole if table.rows]


def _costs(entries: Sequence[CardEntry]) -> Table:
    """One row per network, device and precision."""
    names = ["network", "device", "precision"]
    numbers = ["shipped", "p50", "p90", "p99", "CPU time", "first inference", "load"]
    numbers += ["peak memory", "energy"]
    columns = [*map(Column, names), *map(number, numbers), Column("run")]
    rows = [[entry.network, entry.device, entry.computed, *_cells(entry)] for entry in entries]
    return Table(columns, rows, "Cost")


def _cells(entry: CardEntry) -> list[str]:
    run = entry.run
    if run is None or not entry.is_measured:
        return [fmt.MISSING] * 9 + [f"not measured: {_reason(entry)}"]
    latency = run.headline
    percentiles = [fmt.MISSING] * 3
    if latency:
        shown = [_cost(value, latency.unit) for value in _percentiles(latency)]
        percentiles = shown if latency.unit is Unit.NS else [shown[0], *percentiles[1:]]
    once = [_first(run, key) for key in ("cpu", "first", "load")]
    memory = [_bytes(run, "shipped_bytes"), _bytes(run, "peak_bytes")]
    joules = [
        f"{fmt.joules(source.joules, source.error)} ({source.source})"
        for source in run.energy or ()
        if source.joules is not None
    ]
    energy = ", ".join(joules) or fmt.MISSING
    return [memory[0], *percentiles, *once, memory[1], energy, run.header.run_id]


def _builds(entries: Sequence[CardEntry]) -> Table:
    """The choices, the core and the threads of each build."""
    names = ("network", "device", *CHOICES, "cpu", "threads")
    rows = []
    for entry in entries:
        if entry.run and entry.is_measured:
            header = entry.run.header
            chosen = {"precision": entry.precision, **header.choices}
            values = [chosen.get(name, fmt.MISSING) for name in CHOICES]
            threads = str(header.protocol.get("threads", 1))
            rows.append([entry.network, entry.device, *values, header.cpu, threads])
    return Table([*map(Column, names)], rows, "Builds")


def _percentiles(figure: Figure) -> tuple[float, float, float | None]:
    """The median, p90, and p99 if the samples determine it."""
    statistic = figure.statistic
    return figure.value, statistic.p90, statistics.p99(figure.samples)


def _cost(value: float | None, unit: Unit) -> str:
    return fmt.value(value, unit) + (" instr." if unit is Unit.INSTRUCTIONS else "")


def _first(run: Summary, key: str) -> str:
    figure = run.figure(key) or run.figure(f"{key}_instructions")
    return _cost(figure.value, figure.unit) if figure else fmt.MISSING


def _bytes(run: Summary, key: str) -> str:
    figure = run.figure(key)
    return fmt.value(figure.value if figure else None, Unit.BYTES)


def _accuracies(entries: Sequence[CardEntry]) -> Table:
    """The accuracy of each measured precision against float32 and on labeled pictures, and the
    check of its outputs.
    """
    names = ["network", "device", "precision", "against float32"]
    has_labels = any(entry.labels for entry in entries)
    names += [*(["labeled pictures"] if has_labels else []), "outputs"]
    columns = [*map(Column, names)]
    rows = [
        [
            *(entry.network, entry.device, entry.computed, _accuracy(entry)),
            *([str(entry.labels or fmt.MISSING)] if has_labels else []),
            entry.run.golden,
        ]
        for entry in entries
        if entry.run and entry.is_measured
    ]
    return Table(columns, rows, "Accuracy")


def _accuracy(entry: CardEntry) -> str:
    accuracy = entry.run.accuracy if entry.run else None
    if accuracy is None:
        return "it is float32" if entry.computed == "f32" else "not measured"
    budget = entry.run.budget if entry.run else ()
    return ", ".join(f"{name}: {value}" for name, value in accuracy.rows(budget))


def _parts(entries: Sequence[CardEntry]) -> Table:
    """Camera conversion, network and decoding of an inference, apart."""
    names = ("network", "device", "precision", "part of an inference")
    columns = [*map(Column, names), number("cost"), number("share")]
    rows = []
    for entry in entries:
        total = sum(cost.cost for _, cost in entry.parts)
        rows += [
            [
                *(entry.network, entry.device, entry.computed, part),
                _part_cost(cost),
                fmt.share(cost.cost, total),
            ]
            for part, cost in entry.parts
        ]
    return Table(columns, rows, "Camera, network and decoding")


def _part_cost(cost: OpCost) -> str:
    if cost.ns is not None:
        return _cost(cost.ns, Unit.NS)
    return _cost(cost.instructions, Unit.INSTRUCTIONS)


def peers_table(peers: Sequence[PeerFigure]) -> Table:
    """Other engines that ran on the same device, interleaved with trimtab."""
    columns = [*map(Column, ("network", "device", "engine", "precision"))]
    columns += map(number, ("threads", "engine's p50", "trimtab's p50", "trimtab : engine"))
    columns += map(number, ("its CPU time", "trimtab's", "cores busy while it waits"))
    columns.append(Column("trimtab's build"))
    rows = []
    for peer in peers:
        unit = Unit.INSTRUCTIONS if peer.p50_ns is None else Unit.NS
        theirs = peer.instructions if peer.p50_ns is None else peer.p50_ns
        ours = peer.trimtab_instructions if peer.p50_ns is None else peer.trimtab_ns
        ratio = fmt.MISSING if peer.ratio is None else f"{peer.ratio:.2f}"
        rows.append(
            [
                *(peer.network, peer.device, peer.engine, peer.precision, str(peer.threads)),
                *(_cost(theirs, unit), _cost(ours, unit), ratio),
                *(_cost(peer.cpu_ns, Unit.NS), _cost(peer.trimtab_cpu_ns, Unit.NS)),
                fmt.MISSING if peer.waiting_cores is None else f"{peer.waiting_cores:.2f}",
                peer.build or fmt.MISSING,
            ]
        )
    return Table(columns, rows, "Other engines on the same device, interleaved")


def _reason(entry: CardEntry) -> str:
    if entry.run and not entry.reason:
        return f"{entry.run.status}: {entry.run.message}"
    return entry.reason


def _notes(card: Card) -> list[str]:
    """Sentences on what is emulated, what is a rough figure, and what was throttled."""
    entries = card.entries
    runs = [entry.run for entry in entries if entry.run and entry.is_measured]
    accuracies: list[Accuracy] = [run.accuracy for run in runs if run.accuracy]
    latencies = [figure for run in runs if (figure := run.figure("latency"))]
    notes = [_EMULATED] if any(run.header.is_emulated for run in runs) else []
    notes += [_SEEDED] if any(accuracy.is_seeded for accuracy in accuracies) else []
    notes += [_P99] if any(f.statistic.count < MIN_FOR_P99 for f in latencies) else []
    notes += [_PICTURES] if any(entry.labels for entry in entries) else []
    if any(run.energy == () for run in runs):
        notes.append(energy.NOTHING)
    return [*notes, *(_conditions(run) for run in runs if _conditions(run))]


def _conditions(run: Summary) -> str:
    """The disturbances of a run; "" for none."""
    causes = ["the device throttled"] if run.status is Status.THROTTLED else []
    causes += [f"uncontrolled {what}" for what in run.uncontrolled]
    causes += [run.unsteadiness] if run.unsteadiness else []
    if run.status is Status.INACCURATE:
        causes.insert(0, f"{run.status}: {run.message}")
    return f"Run {run.header.run_id}: {'; '.join(causes)}." if causes else ""


def _facts(entry: CardEntry) -> dict[str, Any]:
    """An entry as JSON; times in nanoseconds, null where a figure is unknown."""
    facts: dict[str, Any] = {
        "network": entry.network,
        "device": entry.device,
        "precision": entry.precision,
        "weights": entry.weights,
        "is_measured": entry.is_measured,
    }
    run = entry.run
    if run is None or not entry.is_measured:
        return facts | {"reason": _reason(entry)}
    keys = ("shipped_bytes", "binary_bytes", "model_bytes", "peak_bytes", "arena_bytes")
    figures = {key: figure.value if (figure := run.figure(key)) else None for key in keys}
    latency = run.figure("latency")
    p50, p90, p99 = _percentiles(latency) if latency else (None, None, None)
    count = run.figure("latency_instructions")
    once = {
        f"{key}_ns": figure.value if (figure := run.figure(key)) else None
        for key in ("cpu", "first", "load")
    }
    loading = run.figure("load_instructions")
    return {
        **facts,
        "status": run.status,
        "is_emulated": run.header.is_emulated,
        **figures,
        "p50_ns": p50,
        "p90_ns": p90,
        "p99_ns": p99,
        **once,
        "instructions": count.value if count else None,
        "load_instructions": loading.value if loading else None,
        "joules": {source.source: source.joules for source in run.energy or ()},
        "accuracy": asdict(run.accuracy) if run.accuracy else None,
        "labels": asdict(entry.labels) if entry.labels else None,
        "parts": {
            part: {"ns": cost.ns, "instructions": cost.instructions} for part, cost in entry.parts
        },
        "outputs": run.golden,
        "run_id": run.header.run_id,
        "record": run.path,
    }
