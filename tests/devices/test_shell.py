"""Argument lists as text for a shell, against the system's own."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from trimtab.devices.shell import quote
from trimtab.errors import DeviceError

ODD = ["", " ", "it's", '"', "$HOME", "`id`", "a;b", "*", "\\", "\n", "é", "-n", "&&", "#"]


def test_a_shell_hands_on_every_argument_variable_and_folder_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "it's $HOME"
    folder.mkdir()
    env = {"LIST": "; ".join(ODD), "_a1": ""}
    script = r'printf "%s\0" "$PWD" "$LIST" "$_a1" "$@"'
    text = quote(["sh", "-c", script, "sh", *ODD], env, str(folder))
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.split("\0") == [str(folder), env["LIST"], "", *ODD, ""]


@pytest.mark.parametrize(
    ("argv", "env", "cwd", "problem"),
    [
        ([], {}, "/", "no program to run"),
        ([""], {}, "/", "no program to run"),
        (["run", "a\0b"], {}, "/", "NUL"),
        (["run"], {"A": "\0"}, "/", "NUL"),
        (["run"], {}, "/\0", "NUL"),
        (["run"], {"A-B": "1"}, "/", "'A-B' is not the name"),
        (["run"], {"1A": "1"}, "/", "'1A' is not the name"),
    ],
)
def test_what_no_process_can_be_given_is_refused(
    argv: Sequence[str], env: Mapping[str, str], cwd: str, problem: str
) -> None:
    with pytest.raises(DeviceError, match=problem):
        quote(argv, env, cwd)
