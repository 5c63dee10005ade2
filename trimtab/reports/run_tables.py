"""The tables of a report, in order; formats differ only in how they draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trimtab.accuracy import Accuracy, Search
from trimtab.compare.side_by_side import ComparedFigure, Comparison
from trimtab.reports import fmt
from trimtab.results.counters import Row as HardwareRow
from trimtab.results.energy import Row as EnergyRow
from trimtab.results.footprint import Footprint
from trimtab.results.summary import SHIPPED_KEYS, OpCost, Summary, Unit
from trimtab.tables import Column, Table, number

PARTS = {"op": "operators", "kernel": "kernels", "shared": "shared by operators"}
TOP = 15  # rows of a ranking; the rest is one row


def of_run(summary: Summary) -> list[Table]:
    """Everything one run says, how right and how large it is first; empty tables are left out."""
    tables = [*head(summary), _setup([summary]), _figures(summary), _ops(summary.ops)]
    tables += [_hardware(summary.hardware or ()), _energy(summary.energy or ())]
    tables += [
        _bytes("Size by part", "part", ["bytes"], [parts(summary.groups)]),
        _bytes("Size by operator and kernel", "code of", ["bytes"], [_code(summary.groups)]),
        _bytes("Size by section", "section", ["bytes"], [summary.sections]),
    ]
    return [table for table in tables if table.rows]


def head(summary: Summary) -> list[Table]:
    """What stands before any speed: accuracy, where samples told it, and what is shipped."""
    return [*precision(summary.accuracy, summary.search), shipped(summary.shipped)]


def precision(accuracy: Accuracy | None, search: Search | None) -> list[Table]:
    """How far a model's results are from those of the float32 network, and what was tried for it;
    nothing of what is not known.
    """
    told = [Column(""), number("")]
    tables = [Table(told, accuracy.rows(), "Accuracy")] if accuracy else []
    return [*tables, *(_searched(search) if search else [])]


def _searched(found: Search) -> list[Table]:
    """What a search among precisions tried, and what each operator with weights got."""
    rows = [
        (
            f"{one.label} (chosen)" if i == found.chosen else one.label,
            one.cycles / 1e6,
            f"{one.accuracy.max_error:.2%}",
            f"{one.accuracy.mean_error:.3%}",
            f"{one.accuracy.cosine:.6f}",
            fmt.MISSING if one.accuracy.noise is None else f"{one.accuracy.noise:.4%}",
            fmt.MISSING if one.accuracy.top1 is None else f"{one.accuracy.top1:.1%}",
        )
        for i, one in sorted(enumerate(found.candidates), key=lambda pair: pair[1].cycles)
    ]
    figures = [number(n) for n in ("largest error", "mean error", "cosine", "noise", "top1")]
    head = Column(f"to keep {found.budget}, {found.target}")
    tried = Table([head, number("modeled Mcycles", ".3f"), *figures], rows, "Precisions tried")
    operators = [
        (one.name, one.precision, f"{one.error:.3%}", one.saved / 1e6)
        for one in sorted(found.operators, key=lambda one: -one.error)
    ]
    columns = [Column("operator"), Column("precision"), number("mean error alone in int8")]
    columns.append(number("Mcycles that int8 saves", ".3f"))
    return [tried, Table(columns, operators, "Precision by operator")]


def of_comparison(comparison: Comparison) -> list[Table]:
    """Size and speed side by side; the first run is the baseline."""
    runs = comparison.runs
    labels = run_labels(comparison)
    columns = [*labels, *(f"{label} : {labels[0]}" for label in labels[1:])]
    operators = sorted(comparison.operators, key=lambda row: -max(filter(None, row.values)))[:TOP]
    tables = [
        _accuracies(runs, labels),
        _numbers("Size, speed and memory", "", columns, _compared(comparison.rows)),
        _numbers("Most expensive operators of both", "operator", columns, _compared(operators)),
        _models(runs, labels),
        _setup(runs, labels),
        _bytes("Size by part", "part", labels, [parts(run.groups) for run in runs]),
        _bytes("Size by operator and kernel", "code of", labels, [_code(r.groups) for r in runs]),
        _bytes("Size by section", "section", labels, [run.sections for run in runs]),
    ]
    return [table for table in tables if table.rows]


def _compared(rows: Sequence[ComparedFigure]) -> list[list[str]]:
    return [
        [
            f"{row.label} ({row.unit})" if row.unit is Unit.INSTRUCTIONS else row.label,
            *(fmt.value(value, row.unit) for value in row.values),
            *(fmt.ratio(ratio, row.unit) for ratio in row.ratios),
        ]
        for row in rows
    ]


def run_labels(comparison: Comparison) -> list[str]:
    """A short name for each run: what differs between them, or A, B, ... if nothing does."""
    headers = [run.header for run in comparison.runs]
    candidates = [
        [header.profile for header in headers],
        [str(header.device["name"]) for header in headers],
        [header.toolchain for header in headers],
        [header.model.name.split(".")[0] for header in headers],
    ]
    differing = [names for names in candidates if len(set(names)) > 1]
    labels = [" ".join(parts) for parts in zip(*differing, strict=True)]
    if len(set(labels)) == len(headers):
        return labels
    letters = [chr(ord("A") + i) for i in range(len(headers))]
    return [f"{x} {label}" for x, label in zip(letters, labels, strict=True)] if labels else letters


def shipped(ways: Sequence[Footprint]) -> Table:
    """Bytes of binary and model, and the memory that the model takes, of each way to ship it."""
    rows = [
        [
            f"{way.what} (this build)" if way.is_built else way.what,
            *(fmt.value(n, Unit.BYTES) for n in (way.binary_bytes, way.model_bytes)),
            *(fmt.value(n, Unit.BYTES) for n in (way.total_bytes, way.memory_bytes)),
        ]
        for way in ways
    ]
    return _numbers("Shipped", "", ["binary", "model", "both", "memory held"], rows)


def _models(runs: Sequence[Summary], labels: Sequence[str]) -> Table:
    """What the model of each run weighs in other ways to ship it."""
    columns = [
        {way.what: way.model_bytes for way in run.shipped if not way.is_built} for run in runs
    ]
    names = dict.fromkeys(name for column in columns for name in column)
    rows = [
        [name, *(fmt.value(column.get(name), Unit.BYTES) for column in columns)] for name in names
    ]
    return _numbers("The model in other ways", "", labels, rows)


def parts(groups: Mapping[str, int]) -> dict[str, int]:
    """The groups of a binary with all operators as one part, all kernels as one, and so on."""
    total: dict[str, int] = {}
    for group, size in groups.items():
        part = PARTS.get(group.partition(":")[0], group)
        total[part] = total.get(part, 0) + size
    return total


def _code(groups: Mapping[str, int]) -> dict[str, int]:
    return {group: size for group, size in groups.items() if ":" in group}


def _accuracies(runs: Sequence[Summary], labels: Sequence[str]) -> Table:
    """The accuracy of each run; no rows where none has any."""
    told = [dict(run.accuracy.rows()) if run.accuracy else {} for run in runs]
    names = dict.fromkeys(name for rows in told for name in rows)
    rows = [[name, *(found.get(name, fmt.MISSING) for found in told)] for name in names]
    return _numbers("Accuracy", "", labels, rows)


def _setup(runs: Sequence[Summary], labels: Sequence[str] = ("this run",)) -> Table:
    facts = {
        "model": [f"{r.header.model.name} ({r.header.model.sha256[:12]})" for r in runs],
        "profile": [r.header.profile for r in runs],
        "toolchain": [f"{r.header.toolchain}, {r.header.cpu}" for r in runs],
        "compiler": [r.header.compiler for r in runs],
        "binary": [r.header.binary.sha256[:12] for r in runs],
        "device": [_device(r) for r in runs],
        "threads": [str(r.header.protocol.get("threads", fmt.MISSING)) for r in runs],
        "launches": [_launches(r) for r in runs],
        "cores": [r.header.affinity or fmt.MISSING for r in runs],
        "control": [_control(r) for r in runs],
        "output": [r.golden for r in runs],
        "status": [f"{r.status} {r.message}".strip() for r in runs],
        "measured": [r.header.time[:19] + "Z" for r in runs],
    }
    rows = [[name, *values] for name, values in facts.items()]
    return Table([Column(""), *map(Column, labels)], rows, "Setup")


def _control(run: Summary) -> str:
    """Whether the device was made steady; an emulator is not, and older records do not say."""
    control = run.header.control
    if run.header.is_emulated or not control:
        return fmt.MISSING
    if lacking := run.uncontrolled:
        return f"uncontrolled: {'; '.join(lacking)}"
    return f"governor {control['governor']}, launched below {control['max_celsius']:g} °C"


def _device(run: Summary) -> str:
    device = run.header.device
    text = ", ".join(str(x) for x in (device["name"], device.get("cpu")) if x)
    return text + (" (emulated)" if run.header.is_emulated else "")


def _launches(run: Summary) -> str:
    """How many there were, and how times vary within and between them."""
    figure = run.figure("latency")
    if figure is None:
        return str(run.launches)
    facts = [str(run.launches)]
    if spread := figure.spread:
        within, between = fmt.percent(spread.within), fmt.percent(spread.between)
        facts.append(f"runs scatter by {within} within one, launches by {between}")
    if figure.drift and (drift := str(figure.drift)):
        facts.append(drift)
    return "; ".join(facts)


def _figures(summary: Summary) -> Table:
    rows = []
    for figure in summary.figures:
        if figure.key in SHIPPED_KEYS:
            continue  # they are in a table of their own
        s, unit = figure.statistic, figure.unit
        label = f"{figure.label} (instructions)" if unit is Unit.INSTRUCTIONS else figure.label
        row = [label, fmt.value(figure.value, unit)]
        if s.count > 1:
            row += [fmt.interval(s.interval, unit), fmt.value(s.minimum, unit)]
            row += [fmt.value(s.p90, unit), str(s.count), str(s.launches)]
        rows.append(row + [""] * (7 - len(row)))
    columns = ["median", "95 % interval", "minimum", "p90", "samples", "launches"]
    return _numbers("Speed and memory", "", columns, rows)


def _ops(ops: Sequence[OpCost]) -> Table:
    total = sum(op.cost for op in ops)
    ranked = sorted(ops, key=lambda op: -op.cost)
    rows = [
        [
            op.label,
            fmt.value(op.ns, Unit.NS),
            fmt.value(op.instructions, Unit.INSTRUCTIONS),
            fmt.share(op.cost, total),
        ]
        for op in ranked[:TOP]
    ]
    if rest := ranked[TOP:]:
        cost = sum(op.cost for op in rest)
        is_timed = rest[0].ns is not None
        time, count = (cost, None) if is_timed else (None, cost)
        row = [f"{len(rest)} others", fmt.value(time, Unit.NS)]
        rows.append([*row, fmt.value(count, Unit.INSTRUCTIONS), fmt.share(cost, total)])
    columns = ["time", "instructions", "share"]
    return _numbers("Operators of the network", "operator", columns, rows)


def _hardware(rows: Sequence[HardwareRow]) -> Table:
    """The inference first, then the operators with the most cycles."""
    ranked = [*rows[:1], *sorted(rows[1:], key=lambda row: -row.counts.get("cycles", 0.0))]
    per_mille = ("last_level_misses", "l1d_misses", "tlb_misses", "branch_misses")
    cells = [
        [
            row.label,
            fmt.value(row.counts.get("cycles"), Unit.INSTRUCTIONS),
            fmt.decimal(row.instructions_per_cycle),
            fmt.MISSING if row.stalled_share is None else fmt.share(row.stalled_share, 1),
            *(fmt.decimal(_per_mille(row, event)) for event in per_mille),
            fmt.decimal(row.gb_per_s),
            row.bound or fmt.MISSING,
            fmt.share(row.counted_share, 1),
        ]
        for row in ranked[: TOP + 1]
    ]
    columns = ["cycles", "instr. / cycle", "stalled", "last-level misses / 1000 instr."]
    columns += ["L1d misses / 1000", "TLB misses / 1000", "branch misses / 1000"]
    columns += ["GB/s of memory", "bound by", "counted"]
    return _numbers("By hardware events", "operator", columns, cells)


def _energy(rows: Sequence[EnergyRow]) -> Table:
    cells = [
        [
            row.source,
            *(fmt.amount(joules, "J") for joules in (row.joules, row.joules_above_idle)),
            *(fmt.amount(watts, "W") for watts in (row.watts, row.idle_watts)),
            row.note,
        ]
        for row in rows
    ]
    columns = ["per inference", "above idle", "power", "idle", "note"]
    return _numbers("Energy", "source", columns, cells)


def _per_mille(row: HardwareRow, event: str) -> float | None:
    count, instructions = row.counts.get(event), row.counts.get("instructions")
    return None if count is None or not instructions else 1000 * count / instructions


def _bytes(
    title: str, what: str, labels: Sequence[str], columns: Sequence[Mapping[str, int]]
) -> Table:
    names = dict.fromkeys(name for column in columns for name in column)
    ranked = sorted(names, key=lambda name: -max(column.get(name, 0) for column in columns))
    rows = [
        [name, *(fmt.value(column.get(name), Unit.BYTES) for column in columns)]
        for name in ranked[:TOP]
    ]
    if rest := ranked[TOP:]:
        sums = [sum(column.get(name, 0) for name in rest) for column in columns]
        rows.append([f"{len(rest)} others", *(fmt.value(s, Unit.BYTES) for s in sums)])
    if rows:
        sums = [sum(column.values()) for column in columns]
        rows.append(["sum", *(fmt.value(s, Unit.BYTES) for s in sums)])
    return _numbers(title, what, labels, rows)


def _numbers(title: str, what: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table whose first column is text; the others are numbers, ready to be shown."""
    return Table([Column(what), *map(number, columns)], rows, title)
