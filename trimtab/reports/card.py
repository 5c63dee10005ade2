"""Cards: what a network costs on a board in each precision, for several networks and boards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trimtab import escape, strict_json, tables
from trimtab.accuracy import Accuracy
from trimtab.errors import UsageError
from trimtab.reports import fmt
from trimtab.reports.html_page import page as html_page
from trimtab.results.records import Status
from trimtab.results.summary import Figure, Summary, Unit
from trimtab.tables import Column, Table, number

# With fewer samples their largest one is no 95 % bound of p99 (Wilks, 1941: 0.99^299 < 0.05).
MIN_FOR_P99 = 299

_EMULATED = (
    "An emulated device has no times: executed instructions (instr.) stand in their place, and "
    "the peak memory is unknown where it is the emulator's."
)
_SEEDED = "Accuracy of seeded noise says little about real data: give samples with --calibration."
_P99 = f"p99 needs {MIN_FOR_P99} inferences: measure more with --runs."


@dataclass(frozen=True)
class CardEntry:
    """A network in one precision on one device; without a `run`, the reason why."""

    network: str
    device: str
    precision: str
    run: Summary | None
    reason: str = ""

    @property
    def is_measured(self) -> bool:
        """Whether there are figures: the run came to its end, with outputs right or not."""
        if self.run is None:
            return False
        return self.run.status.is_measured or self.run.status is Status.THROTTLED


def render(entries: Sequence[CardEntry], form: str) -> str:
    """The card of all entries as html, markdown, json or terminal, with a newline at the end.

    UsageError, with the existing names, for any other.
    """
    return _form(form)(entries)


def check_form(form: str) -> None:
    """UsageError if a form does not exist."""
    _form(form)


def _form(name: str) -> Callable[[Sequence[CardEntry]], str]:
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


def _terminal(entries: Sequence[CardEntry]) -> str:
    notes = [f"note: {note}" for note in _notes(entries)]
    lines = [escape.line(line) for line in (_title(entries), *notes)]
    return tables.text([lines[0], _costs(entries), _accuracies(entries), *lines[1:]]) + "\n"


def _markdown(entries: Sequence[CardEntry]) -> str:
    notes = "\n".join(f"* {escape.markdown(note)}" for note in _notes(entries))
    title = f"# {escape.markdown(_title(entries))}"
    parts: tables.Page = [title, _costs(entries), _accuracies(entries), *filter(None, [notes])]
    return tables.markdown(parts) + "\n"


def _html(entries: Sequence[CardEntry]) -> str:
    parts = [_costs(entries), _accuracies(entries)]
    return html_page(_title(entries), parts, [], [], _notes(entries))


def _json(entries: Sequence[CardEntry]) -> str:
    return strict_json.dumps([_facts(entry) for entry in entries], indent=1) + "\n"


def _costs(entries: Sequence[CardEntry]) -> Table:
    """One row per network, device and precision."""
    names = ["network", "device", "precision"]
    numbers = ["shipped", "p50", "p90", "p99", "first inference", "load", "peak memory"]
    numbers.append("energy")
    columns = [*map(Column, names), *map(number, numbers), Column("run")]
    rows = [[entry.network, entry.device, entry.precision, *_cells(entry)] for entry in entries]
    return Table(columns, rows, "Cost")


def _cells(entry: CardEntry) -> list[str]:
    run = entry.run
    if run is None or not entry.is_measured:
        return [fmt.MISSING] * 8 + [f"not measured: {_reason(entry)}"]
    latency = run.headline
    percentiles = [fmt.MISSING] * 3
    if latency:
        shown = [_cost(value, latency.unit) for value in _percentiles(latency)]
        percentiles = shown if latency.unit is Unit.NS else [shown[0], *percentiles[1:]]
    once = [_first(run, key) for key in ("first", "load")]
    memory = [_bytes(run, "shipped_bytes"), _bytes(run, "peak_bytes")]
    joules = [
        f"{fmt.amount(source.joules, 'J')} ({source.source})"
        for source in run.energy or ()
        if source.joules is not None
    ]
    energy = ", ".join(joules) or fmt.MISSING
    return [memory[0], *percentiles, *once, memory[1], energy, run.header.run_id]


def _percentiles(figure: Figure) -> tuple[float, float, float | None]:
    """The median, p90, and p99 if the samples determine it."""
    statistic = figure.statistic
    has_p99 = statistic.count >= MIN_FOR_P99
    p99 = float(np.percentile(figure.samples, 99)) if has_p99 else None
    return figure.value, statistic.p90, p99


def _cost(value: float | None, unit: Unit) -> str:
    return fmt.value(value, unit) + (" instr." if unit is Unit.INSTRUCTIONS else "")


def _first(run: Summary, key: str) -> str:
    figure = run.figure(key) or run.figure(f"{key}_instructions")
    return _cost(figure.value, figure.unit) if figure else fmt.MISSING


def _bytes(run: Summary, key: str) -> str:
    figure = run.figure(key)
    return fmt.value(figure.value if figure else None, Unit.BYTES)


def _accuracies(entries: Sequence[CardEntry]) -> Table:
    """The accuracy of each measured precision against float32, and the check of its outputs."""
    columns = [*map(Column, ("network", "device", "precision", "against float32", "outputs"))]
    rows = [
        [entry.network, entry.device, entry.precision, _accuracy(entry), entry.run.golden]
        for entry in entries
        if entry.run and entry.is_measured
    ]
    return Table(columns, rows, "Accuracy")


def _accuracy(entry: CardEntry) -> str:
    accuracy = entry.run.accuracy if entry.run else None
    if accuracy is None:
        return "it is float32" if entry.precision == "f32" else "not measured"
    return ", ".join(f"{name}: {value}" for name, value in accuracy.rows())


def _reason(entry: CardEntry) -> str:
    if entry.run and not entry.reason:
        return f"{entry.run.status}: {entry.run.message}"
    return entry.reason


def _notes(entries: Sequence[CardEntry]) -> list[str]:
    """Sentences on what is emulated, what is a rough figure, and what was throttled."""
    runs = [entry.run for entry in entries if entry.run and entry.is_measured]
    accuracies: list[Accuracy] = [run.accuracy for run in runs if run.accuracy]
    latencies = [figure for run in runs if (figure := run.figure("latency"))]
    notes = [_EMULATED] if any(run.header.is_emulated for run in runs) else []
    notes += [_SEEDED] if any(accuracy.is_seeded for accuracy in accuracies) else []
    notes += [_P99] if any(f.statistic.count < MIN_FOR_P99 for f in latencies) else []
    return [*notes, *(_conditions(run) for run in runs if _conditions(run))]


def _conditions(run: Summary) -> str:
    """The disturbances of a run; "" for none."""
    causes = ["the device throttled"] if run.status is Status.THROTTLED else []
    causes += [f"uncontrolled {what}" for what in run.uncontrolled]
    if run.status is Status.INACCURATE:
        causes.insert(0, f"{run.status}: {run.message}")
    return f"Run {run.header.run_id}: {'; '.join(causes)}." if causes else ""


def _facts(entry: CardEntry) -> dict[str, Any]:
    """An entry as JSON; times in nanoseconds, null where a figure is unknown."""
    facts: dict[str, Any] = {
        "network": entry.network,
        "device": entry.device,
        "precision": entry.precision,
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
    once = {f"{key}_ns": f.value if (f := run.figure(key)) else None for key in ("first", "load")}
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
        "joules": {source.source: source.joules for source in run.energy or ()},
        "accuracy": asdict(run.accuracy) if run.accuracy else None,
        "outputs": run.golden,
        "run_id": run.header.run_id,
        "record": run.path,
    }
