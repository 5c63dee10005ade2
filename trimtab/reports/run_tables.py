"""The tables of a report, in order; formats differ only in how they draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trimtab.accuracy import Accuracy, AccuracyBound, Search
from trimtab.compare.side_by_side import ComparedFigure, Comparison
from trimtab.reports import fmt, paced_tables
from trimtab.results.counters import OperatorCounters
from trimtab.results.energy import SourceEnergy
from trimtab.results.footprint import Footprint
from trimtab.results.records import CHOICES, Header, Status, choices_in_words
from trimtab.results.summary import SHIPPED_KEYS, OpCost, Summary, Unit
from trimtab.tables import Column, Table, number

PARTS = {"op": "operators", "kernel": "kernels", "shared": "shared by operators"}
TOP = 15  # rows of a ranking; the others form one row


def answer(summary: Summary) -> Table:
    """A run in a few lines: what was built, accuracy, cost of an inference, bytes shipped, and
    where its record is.

    A run without success begins with its status and the reason.
    """
    rows = []
    if summary.status is not Status.OK:
        rows.append(("status", f"{summary.status}: {summary.message}".removesuffix(": ")))
    rows += [("build", summary.header.build), ("accuracy", _accuracy(summary))]
    if figure := summary.headline:
        s, unit = figure.statistic, figure.unit
        cost = fmt.value(figure.value, unit)
        cost += f" {unit}" if unit is Unit.INSTRUCTIONS else ""
        if s.count > 1 and s.interval.low != s.interval.high:
            cost += (
                f" (95 % interval {fmt.interval(s.interval, unit)}; p90 {fmt.value(s.p90, unit)})"
            )
        rows.append(("one inference", cost))
    parts = [
        f"{figure.label} {fmt.value(figure.value, Unit.BYTES)}"
        for figure in summary.figures
        if figure.part_of == SHIPPED_KEYS[0]
    ]
    if shipped := summary.figure(SHIPPED_KEYS[0]):
        rows.append(("shipped", f"{fmt.value(shipped.value, Unit.BYTES)}: {', '.join(parts)}"))
    rows += [("run", summary.header.run_id), ("record", summary.path)]
    return Table([Column(""), Column("")], rows)


def _accuracy(summary: Summary) -> str:
    """The accuracy against float32 if it was measured, and the check of the outputs."""
    checked = f"outputs: {summary.golden}"
    if not (one := summary.accuracy):
        return checked
    samples = f"{one.samples} {'of seeded noise' if one.is_seeded else 'samples'}"
    compared = f"{one.verdict(summary.budget)}; {one.summary} against float32 ({samples})"
    return f"{compared}; {checked}"


def of_run(summary: Summary) -> list[Table]:
    """All tables of one run, first its accuracy and its size; without empty tables."""
    tables = [*head(summary), *paced_tables.tables(summary.paced), _setup([summary])]
    tables += [_figures(summary), _ops(summary.ops)]
    tables += [_hardware(summary.hardware or ()), _energy(summary.energy or ())]
    tables += [
        _bytes("Size by part", "part", ["bytes"], [parts(summary.groups)]),
        _bytes("Size by operator and kernel", "code of", ["bytes"], [_code(summary.groups)]),
        _bytes("Size by section", "section", ["bytes"], [summary.sections]),
    ]
    return [table for table in tables if table.rows]


def head(summary: Summary) -> list[Table]:
    """The first tables: the answer, accuracy, if known, and footprints."""
    return [answer(summary), *precision(summary.accuracy, summary.search), shipped(summary.shipped)]


def precision(
    accuracy: Accuracy | None, search: Search | None, bounds: Sequence[AccuracyBound] = ()
) -> list[Table]:
    """The accuracy against the float32 network, and the search of precisions, if known. `bounds`:
    the budget of another search.
    """
    columns = [Column(""), number("")]
    budget = search.bounds if search else bounds
    tables = [Table(columns, accuracy.rows(budget), "Accuracy")] if accuracy else []
    return [*tables, *(_search_tables(search) if search else [])]


def _search_tables(search: Search) -> list[Table]:
    """The candidates of a precision search, and the precision of each operator with weights."""
    rows = [
        (
            f"{one.label} (chosen)" if i == search.chosen else one.label,
            one.cycles / 1e6,
            fmt.finite_percent(one.accuracy.max_error, 2),
            fmt.finite_percent(one.accuracy.mean_error, 3),
            f"{one.accuracy.cosine:.6f}",
            fmt.finite_percent(one.accuracy.noise, 4),
            fmt.finite_percent(one.accuracy.top1, 1),
        )
        for i, one in sorted(enumerate(search.candidates), key=lambda pair: pair[1].cycles)
    ]
    figures = [number(n) for n in ("largest error", "mean error", "cosine", "noise", "top1")]
    head = Column(f"to keep {search.budget}, {search.target}")
    candidates = Table([head, number("modeled Mcycles", ".3f"), *figures], rows, "Precisions tried")
    operators = [
        (one.name, one.precision, f"{one.error:.3%}", one.saved / 1e6)
        for one in sorted(search.operators, key=lambda one: -one.error)
    ]
    columns = [Column("operator"), Column("precision"), number("mean error alone in int8")]
    columns.append(number("Mcycles that int8 saves", ".3f"))
    return [candidates, Table(columns, operators, "Precision by operator")]


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
            _label(row.label, row.unit, row.part_of),
            *(fmt.value(value, row.unit) for value in row.values),
            *(fmt.ratio(ratio, row.unit) for ratio in row.ratios),
        ]
        for row in rows
    ]


def _label(label: str, unit: Unit, part_of: str) -> str:
    """The label of a figure in a table; a part is indented below its whole."""
    text = f"{label} ({unit})" if unit is Unit.INSTRUCTIONS else label
    return f"  {text}" if part_of else text


def run_labels(comparison: Comparison) -> list[str]:
    """A short name for each run: the facts in which they differ, or A, B, ... if there are none."""
    headers = [run.header for run in comparison.runs]
    candidates = [
        [header.profile for header in headers],
        [header.device.name for header in headers],
        [header.toolchain for header in headers],
        [header.model.name.split(".")[0] for header in headers],
        [header.threads for header in headers],
        *([_choice(name, header) for header in headers] for name in CHOICES),
    ]
    if len(set(candidates[1])) == 1:  # other devices have other cores
        candidates.append([header.cpu for header in headers])
    differing = [names for names in candidates if len(set(names)) > 1]
    labels = [" ".join(parts) for parts in zip(*differing, strict=True)]
    if len(set(labels)) == len(headers):
        return labels
    letters = [chr(ord("A") + i) for i in range(len(headers))]
    return [f"{x} {label}" for x, label in zip(letters, labels, strict=True)] if labels else letters


def _choice(name: str, header: Header) -> str:
    """A choice of a build in words: "int8", "f16 weights", "prefer size", "accuracy fast"."""
    return choices_in_words({name: header.choices.get(name, "unknown")})[name]


def shipped(footprints: Sequence[Footprint]) -> Table:
    """Bytes, memory, load on the host and accuracy by variant, without columns that are empty."""
    rows = [
        [
            f"{variant.what} (this build)" if variant.is_built else variant.what,
            *(fmt.value(n, Unit.BYTES) for n in (variant.binary_bytes, variant.model_bytes)),
            *(fmt.value(n, Unit.BYTES) for n in (variant.total_bytes, variant.memory_bytes)),
            "" if variant.load_ns is None else fmt.duration(float(f"{variant.load_ns:.2g}")),
            "" if variant.cosine is None else f"{variant.cosine:.6f}",
        ]
        for variant in footprints
    ]
    columns = ["binary", "model", "both", "memory in use", "load, CPU time on the host"]
    columns.append("cosine, on noise")
    for place in (6, 5):
        if not any(row[place] for row in rows):
            rows = [row[:place] + row[place + 1 :] for row in rows]
            del columns[place - 1]
    return _numbers("Shipped", "", columns, rows)


def _models(runs: Sequence[Summary], labels: Sequence[str]) -> Table:
    """The size of each run's model in its alternatives."""
    columns = [
        {variant.what: variant.model_bytes for variant in run.shipped if not variant.is_built}
        for run in runs
    ]
    names = dict.fromkeys(name for column in columns for name in column)
    rows = [
        [name, *(fmt.value(column.get(name), Unit.BYTES) for column in columns)] for name in names
    ]
    return _numbers("Alternatives of the model", "", labels, rows)


def parts(groups: Mapping[str, int]) -> dict[str, int]:
    """Bytes by part of a binary: all operators are one part, all kernels another, and so on."""
    total: dict[str, int] = {}
    for group, size in groups.items():
        part = PARTS.get(group.partition(":")[0], group)
        total[part] = total.get(part, 0) + size
    return total


def _code(groups: Mapping[str, int]) -> dict[str, int]:
    return {group: size for group, size in groups.items() if ":" in group}


def _accuracies(runs: Sequence[Summary], labels: Sequence[str]) -> Table:
    """The accuracy of each run; without rows if no run has any."""
    accuracies = [dict(run.accuracy.rows(run.budget)) if run.accuracy else {} for run in runs]
    names = dict.fromkeys(name for accuracy in accuracies for name in accuracy)
    rows = [[name, *(one.get(name, fmt.MISSING) for one in accuracies)] for name in names]
    return _numbers("Accuracy", "", labels, rows)


def _setup(runs: Sequence[Summary], labels: Sequence[str] = ("this run",)) -> Table:
    cells = [_cell(r) for r in runs]
    facts = {
        "run": [r.header.run_id for r in runs],
        **({"cell": cells} if any(cells) else {}),
        "model": [f"{r.header.model.name} ({r.header.model.sha256[:12]})" for r in runs],
        "profile": [r.header.profile for r in runs],
        "toolchain": [f"{r.header.toolchain}, {r.header.cpu}" for r in runs],
        "compiler": [r.header.compiler for r in runs],
        "binary": [r.header.binary.sha256[:12] for r in runs],
        "device": [_device(r) for r in runs],
        "threads": [str(r.header.protocol.get("threads", fmt.MISSING)) for r in runs],
        **{
            name: [r.header.choices.get(name, fmt.MISSING) for r in runs]
            for name in CHOICES
            if any(name in r.header.choices for r in runs)
        },
        "launches": [_launches(r) for r in runs],
        "cores": [r.header.affinity or fmt.MISSING for r in runs],
        "control": [_control(r) for r in runs],
        "output": [r.golden for r in runs],
        "status": [f"{r.status} {r.message}".strip() for r in runs],
        "measured": [r.header.time[:19] + "Z" for r in runs],
    }
    rows = [[name, *values] for name, values in facts.items()]
    return Table([Column(""), *map(Column, labels)], rows, "Setup")


def _cell(run: Summary) -> str:
    """The axes of a sweep's cell that no other line shows; "" without a sweep."""
    elsewhere = {"model", "profile", "toolchain", "cpu", "threads", "device", *CHOICES}
    axes = run.header.cell.items()
    return ", ".join(f"{axis} {value}" for axis, value in axes if axis not in elsewhere)


def _control(run: Summary) -> str:
    """The control of the device; unknown for emulators and records of earlier versions."""
    control = run.header.control
    if run.header.is_emulated or not control:
        return fmt.MISSING
    if run.uncontrolled:
        return f"uncontrolled: {'; '.join(run.uncontrolled)}"
    return f"governor {control['governor']}, launched below {control['max_celsius']:g} °C"


def _device(run: Summary) -> str:
    device = run.header.device
    text = ", ".join(str(x) for x in (device.name, device.cpu) if x)
    return text + (" (emulated)" if run.header.is_emulated else "")


def _launches(run: Summary) -> str:
    """The number of launches, and the variation of times within and between them."""
    figure = run.figure("latency")
    if figure is None:
        return str(run.launches)
    facts = [str(run.launches)]
    if spread := figure.spread:
        within, between = fmt.percent(spread.within), fmt.percent(spread.between)
        facts.append(f"runs vary by {within} within one, launches by {between}")
    if figure.drift and (drift := str(figure.drift)):
        facts.append(drift)
    return "; ".join(facts)


def _figures(summary: Summary) -> Table:
    rows = []
    for figure in summary.figures:
        if figure.key in SHIPPED_KEYS:
            continue  # they have a separate table
        s, unit = figure.statistic, figure.unit
        row = [_label(figure.label, unit, figure.part_of), fmt.value(figure.value, unit)]
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
    if others := ranked[TOP:]:
        cost = sum(op.cost for op in others)
        is_timed = others[0].ns is not None
        time, count = (cost, None) if is_timed else (None, cost)
        row = [f"{len(others)} others", fmt.value(time, Unit.NS)]
        rows.append([*row, fmt.value(count, Unit.INSTRUCTIONS), fmt.share(cost, total)])
    columns = ["time", "instructions", "share"]
    return _numbers("Operators of the network", "operator", columns, rows)


def _hardware(rows: Sequence[OperatorCounters]) -> Table:
    """A row for the inference, then the operators with the most cycles."""
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


def _energy(rows: Sequence[SourceEnergy]) -> Table:
    cells = [
        [
            row.source,
            fmt.joules(row.joules, row.error),
            fmt.joules(row.joules_above_idle, row.error_above_idle),
            *(fmt.amount(watts, "W") for watts in (row.watts, row.idle_watts)),
            fmt.MISSING if row.halves is None else f"{100 * row.halves:+.2g} %",
            row.note,
        ]
        for row in rows
    ]
    columns = ["per inference", "above idle", "power", "idle", "second half", "note"]
    return _numbers("Energy", "source", columns, cells)


def _per_mille(row: OperatorCounters, event: str) -> float | None:
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
    if others := ranked[TOP:]:
        sums = [sum(column.get(name, 0) for name in others) for column in columns]
        rows.append([f"{len(others)} others", *(fmt.value(s, Unit.BYTES) for s in sums)])
    if rows:
        sums = [sum(column.values()) for column in columns]
        rows.append(["sum", *(fmt.value(s, Unit.BYTES) for s in sums)])
    return _numbers(title, what, labels, rows)


def _numbers(title: str, what: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table with a column of text, followed by columns of formatted numbers."""
    return Table([Column(what), *map(number, columns)], rows, title)
