"""Rules of docs/architecture.md for C++: #includes, macros of architectures, names of kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.some import some
from tests.sources import ROOT, cpp_sources

ISA_HEADERS = re.compile(
    r"(arm_neon|arm_sve|arm_acle|arm_fp16|immintrin|\wmmintrin|riscv_vector)\.h"
)
ARCHITECTURE_MACRO = re.compile(
    r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*"
    r"(?:__aarch64__|__arm__|__ARM_|__x86_64__|__i386__|__amd64__|__AVX|__SSE|__riscv|_M_X64|_M_ARM)"
)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes(path: Path) -> Iterator[tuple[bool, str]]:
    """(in quotes, header) for each #include."""
    for line in path.read_text().splitlines():
        if match := INCLUDE.match(line):
            yield match[1] == '"', match[2]


# Folder -> the allowed beginnings of its quoted includes. Generated headers are under generated/.
MAY_INCLUDE = {
    "kernels/generic": ("kernels/kernel_api.h", "kernels/generic/", "generated/windows.h"),
    "kernels/portable": ("kernels/kernel_api.h", "kernels/generic/", "kernels/portable/"),
    "kernels/arm": ("kernels/kernel_api.h", "kernels/generic/", "kernels/arm/"),
    "kernels/x86": ("kernels/kernel_api.h", "kernels/generic/", "kernels/x86/"),
    "kernels": (
        *("kernels/kernel_api.h", "kernels/camera_row.h", "kernels/half.h"),
        *("kernels/normalization.h", "kernels/update_step.h"),
    ),
    "runtime/core": ("runtime/core/", "kernels/kernel_api.h", "generated/"),
    "runtime/ops": ("runtime/core/", "runtime/ops/", "kernels/kernel_api.h", "generated/"),
    "runtime/api": ("runtime/api/", "runtime/core/", "generated/"),
    "runtime/app/picture": ("runtime/app/picture/",),
    "runtime/app": ("runtime/app/", "runtime/api/", "runtime/core/", "generated/"),
    "runtime/tools": ("runtime/tools/",),
    "bindings/kernel_passes": ("bindings/", "runtime/core/"),
    "bindings": (
        "bindings/",
        "runtime/api/",
        "runtime/core/",
        "kernels/kernel_api.h",
        "generated/",
    ),
}


@pytest.mark.parametrize("path", cpp_sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_source_includes_only_what_its_folder_may_know(path: Path) -> None:
    folder = path.parent.relative_to(ROOT).as_posix()
    assert folder in MAY_INCLUDE, f"{folder} is a new folder: give it its row in MAY_INCLUDE"
    for quoted, header in includes(path):
        if quoted:
            assert header.startswith(MAY_INCLUDE[folder]), f"{folder} must not include {header}"
        if not folder.startswith("kernels/"):
            assert not ISA_HEADERS.search(header), f"{header} belongs to kernels/"


@pytest.mark.parametrize("path", cpp_sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_architecture_macros_stay_in_kernels_and_the_cpu_file(path: Path) -> None:
    relative = path.relative_to(ROOT).as_posix()
    if relative.startswith(("kernels/", "runtime/core/cpu.")):
        return
    result = [line for line in path.read_text().splitlines() if ARCHITECTURE_MACRO.match(line)]
    assert not result, f"{relative}: {result}"


def test_the_core_knows_no_operator_by_name() -> None:
    for path in some(sorted((ROOT / "runtime" / "core").glob("*"))):
        assert not re.search(r"TRIMTAB_OP_[A-Z]", path.read_text()), path


def test_every_operator_has_a_schema_and_a_source_of_its_name() -> None:
    for schema in some((ROOT / "runtime" / "ops").glob("*.toml")):
        assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", schema.stem), schema.name


# <op>_<dtype>[_<tile>]_<isa>; the tile is rows x columns (8x8) or columns alone (16).
KERNEL_NAME = re.compile(
    r"[a-z][a-z0-9]*(_[a-z0-9]+)*_(f32|f16|i8|u8|i32|i64)(_([1-9]\d*x)?[1-9]\d*(c[1-9]\d*)?)?_[a-z][a-z0-9]*"
)


def kernel_files() -> list[Path]:
    return [
        p for arch in ("portable", "arm", "x86") for p in (ROOT / "kernels" / arch).glob("*.cpp")
    ]


@pytest.mark.parametrize("path", kernel_files(), ids=lambda p: p.stem)
def test_a_kernel_file_is_named_as_its_function_after_the_grammar(path: Path) -> None:
    assert KERNEL_NAME.fullmatch(path.stem), f"{path.stem} is not <op>_<dtype>[_<tile>]_<isa>"
    assert re.search(rf"\b{path.stem}\b\s*\(", path.read_text()), f"{path} defines no {path.stem}()"
