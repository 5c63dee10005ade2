"""Charts as inline SVG: horizontal bars and stacked bars, drawn without a library or a script.

Colours are CSS classes (`s0` .. `s7`, `bar`, `ink`), which the page defines for light and dark.
Every mark carries a `<title>`, so that its exact value is shown when the pointer rests on it and is
read out by a screen reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from trimtab.bench.statistics import Interval

WIDTH = 880
_LABEL = 250  # columns, in pixels: labels on the left, then the plot, then the values
_VALUE = 130
_PLOT = WIDTH - _LABEL - _VALUE
_ROW, _THICK = 30, 18
COLOURS = 8
_OTHERS = "others"


@dataclass(frozen=True)
class Bar:
    """One bar: its length in `value`, what is written beside it, and its interval if it has one."""

    label: str
    value: float
    text: str
    interval: Interval | None = None


def bars(items: Sequence[Bar], title: str) -> str:
    """Horizontal bars from zero, with a whisker for each interval."""
    top = max(max(bar.value, bar.interval.high if bar.interval else 0) for bar in items) or 1.0
    marks = []
    for row, bar in enumerate(items):
        y = row * _ROW + (_ROW - _THICK) / 2
        length = max(_PLOT * bar.value / top, 1)
        marks.append(_label(bar.label, row))
        marks.append(
            f'<rect class="bar" x="{_LABEL}" y="{y:g}" width="{length:.1f}" height="{_THICK}" '
            f'rx="2"><title>{escape(bar.label)}: {escape(bar.text)}</title></rect>'
        )
        end = length
        if bar.interval and bar.interval.low != bar.interval.high:
            low, high = (_PLOT * x / top for x in (bar.interval.low, bar.interval.high))
            middle = y + _THICK / 2
            marks.append(
                f'<path class="whisker" d="M{_LABEL + low:.1f} {middle - 4:g}v8'
                f'm0-4H{_LABEL + high:.1f}m0-4v8"/>'
            )
            end = max(end, high)
        marks.append(_text(_LABEL + end + 6, row, bar.text))
    return _svg(marks, len(items) * _ROW, title)


@dataclass(frozen=True)
class Dot:
    """A point of a plane. `marked`: it is the chosen one."""

    x: float
    y: float
    text: str
    marked: bool = False


def plane(dots: Sequence[Dot], line: Sequence[Dot], names: tuple[str, str], title: str) -> str:
    """Dots from zero on in both directions, with a line through some of them; `names`: what goes to
    the right, and what goes up.
    """
    right, top = (max(v) * 1.08 or 1.0 for v in ([d.x for d in dots], [d.y for d in dots]))
    width, height, left = WIDTH - _VALUE - 60, 300, 60

    def place(dot: Dot) -> tuple[float, float]:
        return left + width * dot.x / right, height - (height - 20) * dot.y / top

    marks = [f'<path class="whisker" d="M{left} 10V{height}H{left + width}"/>']
    steps = " L".join(f"{x:.1f} {y:.1f}" for x, y in map(place, line))
    if len(line) > 1:
        marks.append(f'<path class="whisker" stroke-dasharray="4 3" d="M{steps}"/>')
    for dot in dots:
        x, y = place(dot)
        size = 7 if dot.marked else 5
        marks.append(
            f'<circle class="{"s1" if dot.marked else "s0"}" cx="{x:.1f}" cy="{y:.1f}" r="{size}">'
            f"<title>{escape(dot.text)}</title></circle>"
        )
        if dot.marked:
            marks.append(
                f'<text class="ink" x="{x + 11:.1f}" y="{y - 8:.1f}">{escape(dot.text)}</text>'
            )
    marks.append(f'<text class="ink" x="{left}" y="{height + 20}">{escape(names[0])} →</text>')
    marks.append(f'<text class="ink" x="0" y="10">{escape(names[1])} ↑</text>')
    return _svg(marks, height + 28, title)


def stacked(rows: Sequence[tuple[str, Mapping[str, int], str]], title: str) -> str:
    """One stacked bar per row of (label, parts, text), all to one scale, with a legend below.

    A part has the same colour in every row; beyond the colours there are, the smallest are
    "others".
    """
    names = dict.fromkeys(name for _, parts, _ in rows for name in parts)
    ranked = sorted(names, key=lambda name: -max(parts.get(name, 0) for _, parts, _ in rows))
    if len(ranked) > COLOURS:
        small = ranked[COLOURS - 1 :]
        rows = [(label, _folded(parts, small), text) for label, parts, text in rows]
        ranked = [*ranked[: COLOURS - 1], _OTHERS]
    colour = {name: rank for rank, name in enumerate(ranked)}
    top = max(sum(parts.values()) for _, parts, _ in rows) or 1
    marks = []
    for row, (label, parts, text) in enumerate(rows):
        x, y = float(_LABEL), row * _ROW + (_ROW - _THICK) / 2
        marks.append(_label(label, row))
        for name in ranked:
            length = _PLOT * parts.get(name, 0) / top
            if length > 0:
                marks.append(
                    f'<rect class="s{colour[name]}" x="{x:.1f}" y="{y:g}" '
                    f'width="{max(length - 1, 0.5):.1f}" height="{_THICK}">'
                    f"<title>{escape(name)}: {parts[name]:,} B</title></rect>"
                )
            x += length
        marks.append(_text(x + 6, row, text))
    height, x = len(rows) * _ROW + 12, 0.0
    for name in ranked:
        width = 30 + 7.2 * len(name)
        if x and x + width > WIDTH:
            height, x = height + 22, 0.0
        marks.append(
            f'<rect class="s{colour[name]}" x="{x:g}" y="{height}" width="12" height="12"/>'
            f'<text class="ink" x="{x + 18:g}" y="{height + 10.5}">{escape(name)}</text>'
        )
        x += width
    return _svg(marks, height + 20, title)


def _folded(parts: Mapping[str, int], small: Sequence[str]) -> dict[str, int]:
    kept = {name: size for name, size in parts.items() if name not in small}
    return {**kept, _OTHERS: sum(parts.get(name, 0) for name in small)}


def _label(label: str, row: int) -> str:
    shown = label if len(label) <= 34 else label[:33] + "…"
    y = row * _ROW + _ROW / 2 + 4.5
    return (
        f'<text class="ink" x="{_LABEL - 10}" y="{y:g}" text-anchor="end">{escape(shown)}'
        f"<title>{escape(label)}</title></text>"
    )


def _text(x: float, row: int, text: str) -> str:
    y = row * _ROW + _ROW / 2 + 4.5
    return f'<text class="ink" x="{x:.1f}" y="{y:g}">{escape(text)}</text>'


def _svg(marks: Sequence[str], height: float, title: str) -> str:
    return (
        f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH}">' + "\n".join(marks) + "</svg>"
    )
