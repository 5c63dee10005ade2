"""The check of declared names: refused words are reported, and where they are not declared, not."""

from __future__ import annotations

import pytest

from lab.dev import names, words


def messages(path: str, source: str) -> list[str]:
    return [finding.message for finding in words.findings(path, source, [])]


@pytest.mark.parametrize(
    ("path", "source", "name"),
    [
        ("kernels/a.h", "struct Reals { int v; };\n", "Reals"),
        ("kernels/a.h", "#define TRIMTAB_TURNS 4\n", "TRIMTAB_TURNS"),
        ("runtime/a.cpp", "constexpr int kMostCores = 64;\n", "kMostCores"),
        ("runtime/a.cpp", "enum class Bytes { kMemory, kOwnFile };\n", "kOwnFile"),
        ("runtime/a.cpp", "size_t ElementPlace(size_t i);\n", "ElementPlace"),
        ("runtime/turn.cpp", "int x;\n", "turn"),
        ("trimtab/a.py", "def own_config() -> None: ...\n", "own_config"),
        ("trimtab/a.py", "class _Twin: ...\n", "_Twin"),
        ("trimtab/a.py", "def f(places: int) -> None: ...\n", "places"),
        ("lab/a.py", "MeasurePlaces: int = 3\n", "MeasurePlaces"),
    ],
)
def test_a_refused_word_in_a_declared_name_is_reported(path: str, source: str, name: str) -> None:
    (message,) = messages(path, source)
    assert message.startswith(f"`{name}` has the word ")


@pytest.mark.parametrize(
    ("path", "source", "name"),
    [
        ("kernels/arm/gemm_bytes.h", "int x;\n", "gemm_bytes"),
        ("bindings/kernel_passes/bytes.cpp", "int x;\n", "bytes"),
        ("kernels/x86/a.h", "void DepthwiseBytes(int x);\n", "DepthwiseBytes"),
        ("tests/kernels/a.h", "class BytesCheck {};\n", "BytesCheck"),
    ],
)
def test_bytes_that_mean_int8_are_reported(path: str, source: str, name: str) -> None:
    (message,) = messages(path, source)
    assert message.startswith(f"`{name}` computes int8 values")


@pytest.mark.parametrize(
    "source", ["def f(one: int) -> None: ...\n", "def _one() -> None: ...\n", "ONE = 1\n"]
)
def test_a_name_that_is_the_word_one_is_reported(source: str) -> None:
    (message,) = messages("trimtab/a.py", source)
    assert message.endswith("does not say what it is one of")


def test_a_name_is_reported_once_per_file_with_its_line() -> None:
    source = "int x;  // Reals\nReals a;\nReals b;\n"
    assert [line for line, _ in names.findings("kernels/a.h", source)] == [2]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("kernels/a.h", '// Reals and turns.\nconst char* kText = "kMostCores";\n'),
        ("kernels/a.h", '#include "kernels/Turns.h"\n'),
        ("kernels/a.h", "size_t PanelBytes(size_t k);\nvoid CopyBytes(int8_t* to);\n"),
        ("runtime/a.cpp", "void ShareInPlace();\nsize_t place = 0;\n"),
        ("runtime/a.cpp", "int LLVMFuzzerTestOneInput(int x);\n"),
        ("trimtab/a.py", "for one in rows:\n    own = one\n"),
        ("trimtab/a.py", "rows.sort(key=lambda one: one.size)\n"),
        ("trimtab/a.py", "def at_least_one(x: int) -> None: ...\n"),
        ("trimtab/a.py", "class Tuned:\n    places: int = 0\n"),
        ("tests/a.py", "def test_a_result_has_memory_of_its_own() -> None: ...\n"),
    ],
)
def test_other_names_are_accepted(path: str, source: str) -> None:
    assert messages(path, source) == []
