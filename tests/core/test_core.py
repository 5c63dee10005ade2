"""The engine's core: its check programs, and the symbols that its object files may use."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from tests import check_programs

pytestmark = pytest.mark.build

CHECKS = ("check_core", "check_counters", "check_row_driver", "check_shares", "check_thread_pool")

# Only these files allocate, when a model or a trainer is opened or its inputs are resized;
# operators and kernels never do.
ALLOCATING_FILES = {
    *("arena", "executor", "executor_resize", "load_plugin", "loader", "memory"),
    *("run_time_operator", "scope", "thread_pool", "train", "trimtab"),
}
ALLOCATORS = {
    "malloc",
    "calloc",
    "realloc",
    "posix_memalign",
    "aligned_alloc",
    "mmap",
    "_ZN7trimtab9MapMemoryEm",
    "_ZN7trimtab6Memory4TakeEmmPPv",
}
FORBIDDEN = {
    "abort",
    "exit",
    "printf",
    "fprintf",
    "puts",
    "putchar",
    "fwrite",
    "snprintf",
    "__assert_fail",
}


def tree() -> Path:
    """A host build of the engine with its check programs."""
    return check_programs.build("host", *CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_the_check_program_passes(name: str) -> None:
    done = subprocess.run([tree() / name], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def undefined_symbols() -> Iterator[tuple[str, str]]:
    """Undefined symbols of the library, as (stem of the object file, symbol)."""
    objects = sorted((tree() / "CMakeFiles" / "trimtab.dir").rglob("*.o"))
    assert len(objects) > 100
    for path in objects:
        with path.open("rb") as file:
            table = ELFFile(file).get_section_by_name(".symtab")
            assert isinstance(table, SymbolTableSection)
            for symbol in table.iter_symbols():
                if symbol["st_shndx"] == "SHN_UNDEF" and symbol.name:
                    yield path.name.split(".")[0], symbol.name


def test_the_engine_neither_prints_nor_ends_the_process() -> None:
    calls = {(stem, symbol) for stem, symbol in undefined_symbols() if symbol in FORBIDDEN}
    assert calls == set()


def test_only_opening_and_resizing_allocate() -> None:
    calls = {(stem, symbol) for stem, symbol in undefined_symbols() if symbol in ALLOCATORS}
    assert {stem for stem, _ in calls} == ALLOCATING_FILES


def test_the_engine_needs_no_cpp_library() -> None:
    allowed = ("_ZN7trimtab", "_ZNK7trimtab", "_ZTVN7trimtab", "_ZTVN12_GLOBAL__N_1")
    foreign = {
        symbol
        for _, symbol in undefined_symbols()
        if symbol.startswith(("_Z", "__cxa")) and not symbol.startswith(allowed)
    }
    assert foreign <= {"__cxa_pure_virtual"}
