"""The diagnoses that count false alarms."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.debug_alarms import measure
from trimtab.errors import RunnerError
from trimtab.pipeline.recipe import Recipe
from trimtab.progress import SILENT


@dataclass(frozen=True)
class Finding:
    """The fields of a finding that a row needs."""

    error: float = 0.0
    bound: float = 1.0
    wrong: str = ""
    unknown: str = ""


def test_a_row_counts_operators_and_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = [Finding(0.25), Finding(2.0, wrong="beyond"), Finding(unknown="no kernel")]
    recipes: list[Recipe] = []

    def fake(recipe: Recipe, *_: object, **__: object) -> Any:
        recipes.append(recipe)
        if recipe.plan.precision == "f16":
            raise RunnerError("it fails")
        return SimpleNamespace(findings=findings, cause="kernel", verdict="conv is wrong")

    monkeypatch.setattr(measure, "diagnose", fake)
    monkeypatch.setattr(measure, "model_file", lambda name, folder: Path(name))
    monkeypatch.setattr(measure, "normal_samples", lambda model, folder: Path("some.npz"))
    rows = [*measure.diagnosed(["test_vit"], measure.PRECISIONS, Path(), SILENT)]
    assert [row.precision for row in rows] == ["f32", "f16", "int8"]
    assert (rows[0].operators, rows[0].unknown, rows[0].beyond) == (2, 1, 1)
    assert (rows[0].of_bound, rows[0].cause) == (2.0, "kernel")
    assert rows[1].cause == "it fails"
    assert rows[1].device == "qemu-a76"  # the others compute no f16
    assert [recipe.calibration.samples for recipe in recipes] == ["", "", "some.npz"]
    assert len(measure.names()) == 30
