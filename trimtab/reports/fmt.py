"""Formats values for all reports."""

from __future__ import annotations

import math

from trimtab.results.statistics import Interval, Ratio
from trimtab.results.summary import Unit

MISSING = "-"


def value(number: float | None, unit: Unit) -> str:
    """`number` with its unit: times with four significant digits, counts exactly."""
    if number is None:
        return MISSING
    if unit is Unit.NS:
        return duration(number)
    return f"{round(number):,}" + (" B" if unit is Unit.BYTES else "")


def duration(ns: float) -> str:
    """A time with a suitable unit."""
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= factor:
            return f"{ns / factor:.4g} {unit}"
    return f"{ns:.0f} ns"


def decimal(number: float | None) -> str:
    """A ratio or rate with three significant digits."""
    return MISSING if number is None else f"{number:.3g}"


def amount(number: float | None, unit: str) -> str:
    """Joules or watts, with three significant digits."""
    if number is None:
        return MISSING
    scaled = ((1, ""), (1e-3, "m"), (1e-6, "µ"))
    factor, prefix = next((s for s in scaled if abs(number) >= s[0]), scaled[-1])
    return f"{number / factor:.3g} {prefix}{unit}"


def joules(number: float | None, error: float | None) -> str:
    """Joules with half of their interval, if that is known."""
    half = f" ± {amount(error, 'J')}" if number is not None and error is not None else ""
    return amount(number, "J") + half


def interval(bounds: Interval, unit: Unit) -> str:
    """The interval `bounds`, "exact" if it is a single value."""
    if bounds.low == bounds.high:
        return "exact"
    return f"{value(bounds.low, unit)} .. {value(bounds.high, unit)}"


def ratio(comparison: Ratio | None, unit: Unit) -> str:
    """A ratio with its interval, and whether it is a real difference."""
    if comparison is None:
        return MISSING
    bounds, is_real = comparison.interval, comparison.is_real
    if comparison.value == bounds.low == bounds.high == 1 and is_real is False:
        return "same"
    text = f"{comparison.value:.3f}x"
    if bounds.low != bounds.high:
        text += f" ({bounds.low:.3f} .. {bounds.high:.3f})"
    if is_real is None:
        return text + (", not judged" if unit is Unit.NS else ", too few samples")
    return text if is_real else text + ", not significant"


def share(part: float, whole: float) -> str:
    """`part` of `whole` in percent."""
    return f"{100 * part / whole:.1f} %" if whole else MISSING


def percent(share: float) -> str:
    """A share in percent, with two significant digits."""
    return f"{100 * share:.2g} %"


def finite_percent(part: float | None, digits: int) -> str:
    """A share in percent; a word if it is not finite, and a dash if it is unknown."""
    if part is None:
        return MISSING
    return f"{part:.{digits}%}" if math.isfinite(part) else "not finite"
