"""The tasks of plug-ins."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from invoke.context import Context

from tasks import namespace


def test_the_command_that_a_new_plug_in_shows_works_in_any_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "bob's plug-ins"
    namespace["plugin.new"](Context(), name="mine", op="shift", output=str(folder))
    command = capsys.readouterr().out.splitlines()[-1].removeprefix("next: ")
    task, created = shlex.split(command)[1:]
    assert task == "plugin.test"
    assert Path(created).is_dir()
    assert Path(created).parent == folder
