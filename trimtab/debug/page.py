"""A diagnosis as text, JSON, or a page with the curve of the error over depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from trimtab import strict_json
from trimtab.debug.diagnosis import Diagnosis
from trimtab.debug.findings import Figures, OperatorFinding
from trimtab.debug.slowness import SLOW, OperatorTime
from trimtab.reports import html_page, text_plot
from trimtab.reports.chart_data import Chart
from trimtab.tables import Column, Table, number, text

_AXES = ("operator", "error beside float32")
_CURVE = "Error over depth"
_CAPTION = (
    "The error of each operator's result beside the float32 network, as a share of its values. A "
    "ring marks the operator of the verdict."
)


def to_text(diagnosis: Diagnosis, *, whole: bool = False) -> str:
    """The diagnosis for a terminal; `whole`: with all operators."""
    parts = _head(diagnosis)
    dots = [(float(x), y, "x" if marked else "o") for x, y, marked in _points(diagnosis)]
    if len(dots) > 1:
        plot = text_plot.plane(dots, _AXES, (lambda n: f"{n:.0f}", lambda n: f"{n:.2g}"))
        parts.append(f"{_CURVE}\n{plot}")
    if whole:
        parts += [_operators(diagnosis.findings), *_times(diagnosis.times)]
    return text(parts)


def to_html(diagnosis: Diagnosis) -> str:
    """The diagnosis as a page of its own."""
    rows = [
        {"x": x, "y": y, "label": str(one), "marked": marked}
        for (x, y, marked), one in zip(_points(diagnosis), _known(diagnosis), strict=True)
    ]
    data = {"points": rows, "names": list(_AXES)}
    charts = [Chart("curve", _CURVE, _CAPTION, data)] if len(rows) > 1 else []
    title = f"{diagnosis.network} on {diagnosis.device}, {diagnosis.precision}"
    return html_page.page(
        title, _head(diagnosis), charts, [_operators(diagnosis.findings), *_times(diagnosis.times)]
    )


def to_json(diagnosis: Diagnosis) -> str:
    """The diagnosis as JSON; values that are not finite are null."""
    return strict_json.dumps(asdict(diagnosis), indent=1)


def _head(diagnosis: Diagnosis) -> list[str | Table]:
    compared = [one for one in diagnosis.findings if not one.unknown]
    beyond = sum(bool(one.wrong) for one in compared)
    parts: list[str | Table] = [
        f"{diagnosis.network} on {diagnosis.device}, {diagnosis.precision}: "
        f"{diagnosis.cause or 'right'}\n{diagnosis.verdict}",
        f"{len(compared)} of {len(diagnosis.findings)} operators compared, {beyond} beyond their "
        f"bounds. The outputs are {'not ' if diagnosis.output else ''}those of "
        f"{diagnosis.oracle}, within their bound.",
    ]
    first = diagnosis.first
    if first and first.figures_expected and first.figures_actual:
        parts.append(_tensors(first, first.figures_expected, first.figures_actual))
    for one in compared:
        if not one.wrong and one.figures_actual and one.figures_actual.not_finite:
            count = f"{one.figures_actual.not_finite:,} elements of {one}"
            parts.append(f"{count} are not finite, there as here, and none before it.")
            break
    parts += _slow(diagnosis.times)
    unknown = {one.unknown for one in diagnosis.findings if one.unknown}
    return [*parts, *(f"not compared: {why}" for why in sorted(unknown))]


def _tensors(first: OperatorFinding, right: Figures, actual: Figures) -> Table:
    """The two tensors of an operator in figures, and their worst element."""
    rows = [
        (title, one.min, one.max, one.mean, one.rms, one.not_finite or None, value)
        for title, one, value in (
            ("expected", right, first.expected),
            ("got", actual, first.actual),
        )
    ]
    numbers = [number(name, ".6g") for name in ("min", "max", "mean", "rms")]
    worst = number(f"worst element, at {list(first.at)}", ".8g", key="worst")
    shapes = f"{' '.join(first.inputs)} -> {' '.join(first.outputs)}"
    columns = [Column("result"), *numbers, number("not finite", ",", absent="0"), worst]
    return Table(columns, rows, f"{first}, {shapes}, error {first.error:.3g}, bound {first.bound}")


def _slow(times: Sequence[OperatorTime]) -> list[str | Table]:
    """The operators that take longer than the model of the core says, the most expensive first."""
    slow = sorted((one for one in times if one.is_slow), key=lambda one: -one.cost)
    limit = f"more than {SLOW:g} times what the model of the core says beside the others"
    if not slow:
        return [f"No operator takes {limit}."] if times else []
    rows = [(one.name, one.kernel, one.share, one.ratio, one.why) for one in slow]
    columns = [Column("operator"), Column("kernel"), number("share", ".1%")]
    columns += [number("times of the model", ".2f"), Column("why")]
    return [Table(columns, rows, f"Operators that take {limit}")]


def _times(times: Sequence[OperatorTime]) -> list[Table]:
    """The cost of all operators; no table without any."""
    rows = [
        (
            *(one.index, one.name, one.kernel, one.cost, one.share),
            *(one.modeled_cost, one.ratio, one.instructions, one.macs, one.bytes),
        )
        for one in times
    ]
    columns = [
        *(number("#"), Column("operator"), Column("kernel")),
        number(times[0].unit if times else "", ",.0f", key="cost"),
        *(number("share", ".1%"), number("the model's", ",.0f", key="modeled")),
        *(number("times of the model", ".2f"), number("instructions", ",.0f")),
        *(number("MACs", ","), number("bytes", ",")),
    ]
    return [Table(columns, rows, "Cost by operator")] if times else []


def _operators(findings: Sequence[OperatorFinding]) -> Table:
    rows = [
        (
            *(one.index, one.type, ", ".join(one.layers) or one.name, " ".join(one.kernels)),
            *(" ".join(one.outputs), one.error, one.accumulated),
            "beyond its bound" if one.wrong else "not compared" if one.unknown else "",
        )
        for one in findings
    ]
    columns = [
        *(number("#"), *map(Column, ("operator", "layers", "kernels", "result"))),
        *(number("error", ".2g"), number("beside float32", ".2g"), Column("verdict")),
    ]
    return Table(columns, rows, "Operators")


def _known(diagnosis: Diagnosis) -> list[OperatorFinding]:
    return [one for one in diagnosis.findings if one.accumulated is not None]


def _points(diagnosis: Diagnosis) -> list[tuple[int, float, bool]]:
    """The operator, its error beside float32, and whether the verdict is of it."""
    index = diagnosis.first.index if diagnosis.first else -1
    compared = _known(diagnosis)
    return [(one.index, one.accumulated or 0.0, one.index == index) for one in compared]
