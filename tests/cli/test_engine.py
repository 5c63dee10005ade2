"""Tasks that use the engine build it first."""

from __future__ import annotations

import pytest

from trimtab.build import host_build
from trimtab.cli._engine import needs_engine
from trimtab.progress import SILENT


def test_the_engine_is_built_before_the_task_and_silently_for_json(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[object] = []
    monkeypatch.setattr(host_build, "build_engine", steps.append)

    @needs_engine
    def task(json: bool = False) -> str:
        """A task."""
        steps.append("task")
        return "done"

    assert task(json=True) == "done"
    assert steps == [SILENT, "task"]
    assert task() == "done"
    assert steps[2] is not SILENT
    assert steps[3:] == ["task"]
    assert task.__doc__ == "A task."
