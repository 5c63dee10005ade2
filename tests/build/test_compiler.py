"""Facts of a compiler in keys: everything that changes what is compiled, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.build import compiler
from trimtab.build.toolchain import find_toolchain


def test_the_facts_name_the_version_of_the_compiler_and_the_flags_of_the_core() -> None:
    chosen = find_toolchain("aarch64-linux-musl")
    assert str(compiler.facts(chosen)[0]).startswith("zig ")
    assert "-mcpu=cortex_a53" in str(compiler.facts(chosen, "cortex-a53"))
    assert compiler.facts(chosen, "cortex-a53") != compiler.facts(chosen, "cortex-a72")


def test_a_machine_without_the_compiler_has_facts_without_its_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    chosen = find_toolchain("aarch64-linux-gnu")
    assert compiler.facts(chosen)[0] == ""
    assert chosen.flags in compiler.facts(chosen)
