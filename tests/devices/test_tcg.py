"""The plug-ins of the emulator: what is compiled for which version of QEMU."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from trimtab.devices import tcg


@pytest.mark.parametrize(("qemu_major", "api"), [(7, 1), (8, 1), (9, 2), (10, 2)])
def test_a_plugin_is_compiled_once_for_the_interface_of_its_qemu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qemu_major: int, api: int
) -> None:
    """QEMU 9.0 raised QEMU_PLUGIN_VERSION and its minimum to 2 (qemu-plugin.h)."""
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(tmp_path))
    commands = []

    def compiled(words: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(words)
        Path(words[-1]).write_bytes(b"a library")
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr(subprocess, "run", compiled)
    library = tcg.plugin("icount", qemu_major)
    assert tcg.plugin("icount", qemu_major) == library
    assert library.read_bytes() == b"a library"
    (words,) = commands
    assert f"-DTRIMTAB_PLUGIN_API={api}" in words
