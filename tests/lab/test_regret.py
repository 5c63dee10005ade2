"""Figures of fits for a page."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from lab.regret import measure
from trimtab.fitting.regret import Decision, Regret
from trimtab.fitting.shapes import DrawnLayer


def test_the_regret_of_each_way_to_plan_is_a_row() -> None:
    layer = DrawnLayer("f32", 28, 64, 64, 3)
    choices = [Decision(layer, "warm", 2, "conv, a", "conv, b", 1.21)]
    choices.append(Decision(layer, "cold", 1, "conv, b", "conv, b", 1.0))
    fitted = SimpleNamespace(
        core=SimpleNamespace(name="zen4"),
        seconds=99.6,
        regret=Regret(tuple(choices)),
        before=Regret(tuple(choices[1:])),
        unknown=Regret(()),
    )
    by_fit, by_row, by_generic = measure.rows(fitted)  # type: ignore[arg-type]
    assert by_fit.mean == pytest.approx(1.1)
    assert (by_fit.worst, by_fit.choices, by_fit.seconds) == (1.21, 2, 100)
    assert by_fit.largest.endswith("warm weights, 2 threads: conv, a for conv, b")
    assert by_row.worst == by_generic.worst == 1
    (shown,) = measure.RegretRow.table([by_fit]).records()
    assert [shown[key] for key in ("core", "plans_by", "choices")] == ["zen4", "the fit", 2]
