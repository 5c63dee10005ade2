"""Tables and the picture of a paced run: missed deadlines, latency, clock and temperature."""

from __future__ import annotations

from trimtab.reports import fmt, text_plot
from trimtab.results.paced import Paced, PacedSpan
from trimtab.results.statistics import MIN_FOR_P99
from trimtab.results.summary import Unit
from trimtab.tables import Column, Table, number


def tables(paced: Paced | None) -> list[Table]:
    """The run as a whole, and over time; empty for a run that was not paced."""
    if paced is None:
        return []
    title = f"Frames at {paced.fps:g} a second"
    over_time = [_row(span) for span in paced.spans]
    names = ("missed", "p50", "maximum", "clock", "temperature")
    columns = [Column("seconds"), *map(number, names)]
    return [
        Table([Column(""), Column("")], _rows(paced), title),
        Table(columns, over_time, "Frames over time"),
    ]


def picture(paced: Paced | None) -> list[str]:
    """Latency over time as characters; empty without times."""
    if paced is None or len(paced.spans) < 2:
        return []
    spans = [span for span in paced.spans if span.median_ns is not None]
    dots = [(span.end_s, float(span.max_ns or 0), "×") for span in spans]
    dots += [(span.end_s, span.median_ns or 0.0, "•") for span in spans]
    line = [(paced.spans[-1].end_s * i / 60, paced.period_ns, "-") for i in range(61)]
    plane = text_plot.plane(
        [*line, *dots],
        ("seconds", "from frame to result: • median, × maximum, --- due"),
        (lambda s: f"{s:.4g} s", fmt.duration),
        height=10,
    )
    return [plane]


def _rows(paced: Paced) -> list[tuple[str, str]]:
    rows = [("frames", f"{paced.frames:,} in {paced.seconds:g} s")]
    if paced.missed is not None:
        share = fmt.share(paced.missed, paced.frames)
        parts = f"{paced.late:,} late, {paced.dropped:,} dropped"
        rows.append(("missed deadlines", f"{paced.missed:,} ({share}): {parts}"))
        rows.append(("a result is due within", fmt.duration(paced.period_ns)))
    if paced.p50_ns is not None:
        p50, p90, p99, most = (
            fmt.value(ns, Unit.NS)
            for ns in (paced.p50_ns, paced.p90_ns, paced.p99_ns, paced.max_ns)
        )
        if paced.p99_ns is None:
            p99 = f"unknown with fewer than {MIN_FOR_P99} frames"
        rows.append(("from frame to result", f"p50 {p50}, p90 {p90}, p99 {p99}, maximum {most}"))
    if paced.cpu_ns is not None and paced.busy_cores is not None:
        used = f"{fmt.value(paced.cpu_ns, Unit.NS)} by result, waiting included"
        rows.append(("CPU time of all threads", f"{used}: {paced.busy_cores:.2f} cores busy"))
    if paced.core_shares:
        shares = ", ".join(f"{core}: {share:.0%}" for core, share in paced.core_shares)
        rows.append(("busy share of each core, other programs included", shares))
    for name, unit, at in (("clock", "MHz", 1), ("temperature", "°C", 2)):
        values = [value for sample in paced.samples if (value := sample[at]) is not None]
        if values:
            spread = f"{min(values):g} to {max(values):g} {unit}"
            rows.append((name, f"{spread}, {values[0]:g} at first, {values[-1]:g} at last"))
    return rows


def _row(span: PacedSpan) -> list[str]:
    return [
        f"{span.begin_s:.3g} to {span.end_s:.3g}",
        f"{span.missed:,}",
        fmt.value(span.median_ns, Unit.NS),
        fmt.value(span.max_ns, Unit.NS),
        fmt.MISSING if span.mhz is None else f"{span.mhz:.0f} MHz",
        fmt.MISSING if span.celsius is None else f"{span.celsius:.1f} °C",
    ]
