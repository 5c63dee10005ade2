"""The targets of `./inv fuzz`, found by the names of their files."""

from __future__ import annotations

from pathlib import Path

from lab.fuzz import search
from tests.some import some


def test_targets_of_files_are_tests_that_replay_their_findings() -> None:
    targets = search.of_files()
    assert {"sources", "control_flow", "solvers", "checkpoints", "plans"} <= targets.keys()
    for name, path in some(sorted(targets.items())):
        assert f'damage.findings("{name}"' in Path(path).read_text("utf-8")
    assert not targets.keys() & set(search.of_engine())


def test_every_folder_of_findings_belongs_to_a_target() -> None:
    folder = search.crashes()
    assert {path.name for path in folder.iterdir()} <= set(search.targets())
