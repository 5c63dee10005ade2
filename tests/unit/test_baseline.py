"""Committed figures, and what happens when a later one is worse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trimtab import paths
from trimtab.errors import FileAccessError, RegressionError
from trimtab.instruments import baseline


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "root", lambda: tmp_path)
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "counts.json").write_text('{"a": 100, "b": 2.5}')
    return tmp_path


@pytest.mark.parametrize("value", [50.0, 100.0, 102.0])
def test_a_figure_may_be_two_percent_worse(value: float) -> None:
    baseline.check("counts", {"a": value})


def test_a_worse_figure_is_refused_with_both_numbers() -> None:
    with pytest.raises(RegressionError, match=r"a: 100 to 102\.1 \(\+2\.1%\)"):
        baseline.check("counts", {"a": 102.1, "b": 2.5})


def test_a_figure_without_a_baseline_is_refused() -> None:
    with pytest.raises(RegressionError, match="no figure is committed for c"):
        baseline.check("counts", {"c": 1.0})


def test_an_update_keeps_the_other_figures(checkout: Path) -> None:
    assert json.loads(baseline.update("counts", {"a": 90.0}).read_text()) == {"a": 90.0, "b": 2.5}
    assert json.loads(baseline.update("new", {"x": 1.0}).read_text()) == {"x": 1.0}


@pytest.mark.parametrize("text", ["{", "[]", '{"a": "many"}'])
def test_a_damaged_baseline_is_an_error_of_ours(checkout: Path, text: str) -> None:
    (checkout / "bench" / "counts.json").write_text(text)
    with pytest.raises(FileAccessError, match="cannot be read"):
        baseline.check("counts", {"a": 1.0})
