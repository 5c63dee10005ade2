"""Argument lists as text for a shell, against the system's own."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import pytest

from trimtab.devices import PushedFile
from trimtab.devices.shell import ShellDevice, quote
from trimtab.errors import DeviceError
from trimtab.progress import SILENT

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


def test_the_sent_bytes_include_those_of_a_compression_that_failed() -> None:
    data, stored = bytes(range(256)) * 100, []

    def store(content: BinaryIO, reader: tuple[str, ...], *_: object) -> bool:
        stored.append(len(content.read()))
        return reader == ("cat",)

    device: Any = SimpleNamespace(_decompressor=lambda _: "gzip", _store=store)
    with SILENT.step("pushing") as step:
        pushed = ShellDevice._send(device, io.BytesIO(data), "/there", "digest", len(data), step)
    compressed, whole = stored
    assert compressed < whole == len(data)
    assert pushed == PushedFile("/there", compressed + whole)
