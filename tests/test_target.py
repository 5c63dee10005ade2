"""Targets: the machine that a program is planned for, and TRIMTAB_ISA, which limits it."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from tests.some import some
from trimtab import kernels
from trimtab.build import codegen
from trimtab.errors import UsageError
from trimtab.target import Target


@pytest.mark.parametrize("arch", ["x86_64", "aarch64", "armv7", "riscv64"])
def test_the_engine_knows_the_instruction_sets_of_its_architecture_by_name(arch: str) -> None:
    own = [isa.name for isa in kernels.isas().values() if arch in isa.arch]
    text = codegen.isa_table_source(arch, strings=True)
    assert f'"TRIMTAB_ISA must be one of {", ".join(own)}"' in text
    assert 'kIsaMessage[] = "";' in codegen.isa_table_source(arch, strings=False)


@pytest.mark.parametrize("name", ["typo", "Portable", "portable,avx2"])
def test_a_session_is_refused_for_an_unknown_instruction_set(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIMTAB_ISA", name)
    with pytest.raises(UsageError, match=f"unknown instruction set '{name}'") as caught:
        Target.host()
    assert caught.value.where == "environment variable TRIMTAB_ISA"
    assert "portable" in caught.value.hint


def test_an_instruction_set_of_another_architecture_is_unknown_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arch = Target.host().arch
    for isa in some(kernels.isas().values()):
        monkeypatch.setenv("TRIMTAB_ISA", isa.name)
        if arch in isa.arch:
            Target.host()
        else:
            with pytest.raises(UsageError, match="unknown instruction set"):
                Target.host()


def test_the_engine_opens_no_model_under_an_unknown_instruction_set() -> None:
    code = """
import numpy as np
from trimtab import _engine
try:
    _engine.Executor(np.zeros(64, np.uint8))
except _engine.EngineError as e:
    print(*e.args)
"""
    environment = os.environ | {"TRIMTAB_ISA": "typo"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("7 TRIMTAB_ISA must be one of portable, ")


@pytest.mark.parametrize("arch", ["x86_64", "aarch64", "armv7", "riscv64"])
def test_memory_may_be_as_large_as_the_difference_of_two_pointers(arch: str) -> None:
    largest = ctypes.c_int32 if arch == "armv7" else ctypes.c_int64
    limit = Target.of(arch).address_bytes
    assert largest(limit).value == limit
    assert largest(limit + 1).value < 0
