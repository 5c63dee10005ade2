"""Reports of a tuning: tables, chart and sentence of its changes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from trimtab.compare.paired import Effect
from trimtab.planner.plan_file import Plan
from trimtab.results.statistics import Interval
from trimtab.tuning import report
from trimtab.tuning.confirmation import Change
from trimtab.tuning.tuned import Tuned

CHANGE = Change(
    frozenset({"y"}),
    "a layer",
    "direct, kernel one, 4 rows",
    "direct, kernel other, 4 rows",
    share=0.25,
    effect=Effect(0.8, Interval(0.7, 0.9), 9, 0.01),
    occurrences=2,
)


def tuned(changes: list[Change]) -> Tuned:
    """A tuning that no comparison of binaries has proved."""
    search = SimpleNamespace(total=1000.0, changes=changes, alternatives=changes)
    return Tuned("net", "here", "core", 1, "ns", Plan(), False, search, None, {}, 0)  # type: ignore[arg-type]


def test_the_chart_has_the_time_that_a_change_saves_of_the_networks() -> None:
    """A fifth of a quarter of 1000 ns; the interval is from a tenth to three tenths."""
    (row,) = report.chart(tuned([CHANGE])).data["rows"]
    assert row["value"] == pytest.approx(50)
    assert (row["low"], row["high"]) == (pytest.approx(25), pytest.approx(75))


def test_only_the_parts_of_a_decision_that_differ_are_shown() -> None:
    difference = report.difference
    assert difference(CHANGE.before, CHANGE.after) == ("kernel one", "kernel other")
    assert difference("direct, a, b", "direct, a, b") == ("direct", "direct")
    assert difference("direct, a", "winograd, a") == ("direct", "winograd")
    assert difference("direct", "direct, fused") == ("direct", "fused")


def test_changes_without_a_proof_are_told_from_none() -> None:
    assert "save 5.00% together" in tuned([CHANGE]).sentence()
    assert "no alternative is measurably faster" in tuned([]).sentence()
