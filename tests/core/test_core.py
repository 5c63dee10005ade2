"""The engine's core: its own check programs, and what its object files are allowed to call."""

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

# Memory is taken when a model is opened: nowhere else, and never by an operator or a kernel.
ALLOCATES = {
    *("arena", "executor", "load_plugin", "loader", "memory", "run_time_operator", "scope"),
    *("thread_pool", "trimtab"),
}
ALLOCATION = {
    "malloc",
    "calloc",
    "realloc",
    "posix_memalign",
    "aligned_alloc",
    "mmap",
    "_ZN7trimtab9MapMemoryEm",
    "_ZN7trimtab6Memory4TakeEmmPPv",
}
NEVER = {
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
def test_the_core_keeps_its_promises(name: str) -> None:
    done = subprocess.run([tree() / name], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def undefined_symbols() -> Iterator[tuple[str, str]]:
    """(stem of the object file, symbol it wants from elsewhere) over the whole library."""
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
    found = {(stem, symbol) for stem, symbol in undefined_symbols() if symbol in NEVER}
    assert found == set()


def test_only_opening_a_model_takes_memory() -> None:
    found = {(stem, symbol) for stem, symbol in undefined_symbols() if symbol in ALLOCATION}
    assert {stem for stem, _ in found} == ALLOCATES


def test_the_engine_needs_no_cpp_library() -> None:
    allowed = ("_ZN7trimtab", "_ZNK7trimtab", "_ZTVN7trimtab", "_ZTVN12_GLOBAL__N_1")
    found = {
        (stem, symbol)
        for stem, symbol in undefined_symbols()
        if symbol.startswith(("_Z", "__cxa")) and not symbol.startswith(allowed)
    }
    assert {symbol for _, symbol in found} <= {"__cxa_pure_virtual"}
