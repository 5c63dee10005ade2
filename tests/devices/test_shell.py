"""Argument lists as text for a shell, against the system's own."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from trimtab import compression
from trimtab.devices import CommandResult
from trimtab.devices.local import LocalDevice
from trimtab.devices.process import Source
from trimtab.devices.protocol import Transcript
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


class WithPrograms(LocalDevice):
    """This machine as a device with other programs in a folder."""

    programs = ""

    def _execute(
        self,
        script: str,
        *,
        timeout_s: float,
        stdin: Source | None = None,
        transcript: Transcript | None = None,
    ) -> CommandResult:
        script = f"PATH={shlex.quote(self.programs)}:$PATH\n{script}"
        return super()._execute(script, timeout_s=timeout_s, stdin=stdin, transcript=transcript)


def test_the_sent_bytes_include_those_of_a_compression_that_failed(tmp_path: Path) -> None:
    count = tmp_path / "count"
    for name in compression.COMPRESSORS:
        (tmp_path / name).write_text(f"#!/bin/sh\nwc -c >{shlex.quote(str(count))}; exit 1\n")
        (tmp_path / name).chmod(0o755)
    file = tmp_path / "weights"
    file.write_bytes(bytes(range(256)) * 4000)  # large enough to be compressed
    device = WithPrograms("here", str(tmp_path / "directory"), packs=True)
    device.programs = str(tmp_path)
    with device:
        pushed = device.push(file)
    compressed, whole = int(count.read_text()), file.stat().st_size
    assert 0 < compressed < whole
    assert (pushed.sent_bytes, pushed.packing) == (compressed + whole, "")
