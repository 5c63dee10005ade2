"""The compiler launcher, with a script in the compiler's place that counts its calls."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from trimtab.build import compile_cache

# Concatenates source and header, and writes the dependency file, as a compiler would.
COMPILER = """#!/bin/sh
echo call >> "{log}"
while [ $# -gt 0 ]; do
  case $1 in -c) source=$2;; -o) object=$2;; -MF) depfile=$2;; -DWARN) echo warning >&2;; esac
  shift
done
cat "$source" "{root}/a b.h" > "$object"
echo "$object: $source \\\\
 {root}/a\\ b.h" > "$depfile"
"""

Compile = Callable[..., str]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    _write(folder / "a b.h", "header 1\n")
    _write(folder / "a.cpp", "source 1\n")
    compiler = tmp_path / "c++"
    compiler.write_text(COMPILER.format(log=tmp_path / "calls", root=folder))
    compiler.chmod(0o755)
    return folder


@pytest.fixture
def compile_in(root: Path, tmp_path: Path) -> Compile:
    """Compiles a.cpp in a build tree of that name; returns the object's content."""

    def run(tree: str, *flags: str) -> str:
        folder = tmp_path / tree
        folder.mkdir(exist_ok=True)
        launcher = [sys.executable, "-I", "-S", compile_cache.__file__, str(tmp_path / "cache")]
        command = [str(tmp_path / "c++"), *flags, f"-I{folder}", "-MF", "a.d", "-o", "a.o"]
        argv = [*launcher, str(root), *command, "-c", str(root / "a.cpp")]
        subprocess.run(argv, cwd=folder, check=True)
        assert "a\\ b.h" in (folder / "a.d").read_text()
        return (folder / "a.o").read_text()

    return run


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    os.utime(path, (time.time() - 5,) * 2)  # before any compilation begins


def calls(tmp_path: Path) -> int:
    return len((tmp_path / "calls").read_text().splitlines())


def test_a_second_build_tree_gets_the_object_of_the_first(
    compile_in: Compile, tmp_path: Path
) -> None:
    assert compile_in("one") == compile_in("two") == "source 1\nheader 1\n"
    assert calls(tmp_path) == 1
    depfiles = [(tmp_path / tree / "a.d").read_text() for tree in ("one", "two")]
    assert depfiles[0].split() == depfiles[1].split()


@pytest.mark.parametrize("name", ["a.cpp", "a b.h"])
def test_a_changed_file_is_compiled_and_both_versions_stay(
    compile_in: Compile, root: Path, tmp_path: Path, name: str
) -> None:
    before = (root / name).read_text()
    first = compile_in("one")
    _write(root / name, "changed\n")
    assert "changed" in compile_in("one")
    assert calls(tmp_path) == 2
    _write(root / name, before)
    assert compile_in("two") == first
    assert calls(tmp_path) == 2


def test_other_flags_and_another_compiler_are_compiled(compile_in: Compile, tmp_path: Path) -> None:
    compile_in("one")
    compile_in("one", "-O3")
    assert calls(tmp_path) == 2
    with (tmp_path / "c++").open("a") as file:
        file.write("# another version\n")
    compile_in("one")
    assert calls(tmp_path) == 3


@pytest.mark.parametrize("flag", ["-g", "-fsanitize=address", "-DWARN"])
def test_objects_with_paths_or_warnings_are_not_shared(
    compile_in: Compile, tmp_path: Path, flag: str
) -> None:
    compile_in("one", flag)
    compile_in("two", flag)
    assert calls(tmp_path) == 2


def test_a_header_that_changed_during_the_compilation_is_not_trusted(
    compile_in: Compile, root: Path, tmp_path: Path
) -> None:
    later = time.time() + 60
    os.utime(root / "a b.h", (later, later))
    compile_in("one")
    compile_in("two")
    assert calls(tmp_path) == 2
