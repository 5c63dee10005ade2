"""Builds and runs the fuzz targets: libFuzzer's, and Hypothesis' for source models."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

from invoke.exceptions import Exit

from trimtab import paths
from trimtab.cli import _shell

SOURCES = "sources"
FOUND = Path("tests/fuzz/found")
_REMEDY = "sudo apt-get install clang"  # with what it recommends: the run-time libraries
_TIMEOUT_S = 20  # of one input
_MOST_MB = 2048  # of memory
_MINIMISE_S = 60


def targets() -> list[str]:
    """The names of all targets."""
    folder = _shell.checkout() / "tests" / "fuzz"
    engine = sorted(path.stem.removeprefix("fuzz_") for path in folder.glob("fuzz_*.cpp"))
    return [*engine, SOURCES]


def search(target: str, seconds: int, jobs: int) -> bool:
    """Fuzzes a target for so long; whether nothing was found."""
    if target == SOURCES:
        return _search_sources(seconds)
    program, corpus = _build(target), paths.cache() / "fuzz" / "corpus" / target
    artefacts = _shell.checkout() / FOUND / target
    for folder in (corpus, artefacts):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(artefacts.iterdir())
    limits = [f"-timeout={_TIMEOUT_S}", f"-rss_limit_mb={_MOST_MB}", "-max_len=65536"]
    argv = [
        program, *limits, f"-max_total_time={seconds}", f"-fork={jobs}",
        f"-artifact_prefix={artefacts}/", "-print_final_stats=1", str(corpus), str(_seeds()),
    ]  # fmt: skip
    print(f"fuzz {target}: {seconds} s, {jobs} jobs", flush=True)
    code = _shell.run(argv, _environment())
    for path in sorted(set(artefacts.iterdir()) - before):
        _minimise(program, path, limits)
        print(f"found: {path}", flush=True)
    if not any(artefacts.iterdir()):
        artefacts.rmdir()
    return code == 0


def _environment() -> dict[str, str]:
    # A model that asks for too much memory is refused by the engine, not by the sanitizer.
    return {**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1"}


def _minimise(program: str, path: Path, limits: list[str]) -> None:
    small = path.with_name(path.name + ".small")
    argv = [
        program, *limits, "-minimize_crash=1", f"-max_total_time={_MINIMISE_S}",
        f"-exact_artifact_path={small}", str(path),
    ]  # fmt: skip
    subprocess.run(argv, env=_environment(), capture_output=True, check=False)
    if small.exists():
        small.replace(path)


@cache
def _tree() -> Path:
    """The engine and its targets, built by clang."""
    root, folder = _shell.checkout(), paths.cache() / "fuzz" / "build"
    configure = [
        _shell.tool("cmake"), "-S", str(root), "-B", str(folder), "-G", "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={_shell.tool('ninja')}",
        f"-DCMAKE_CXX_COMPILER={_shell.tool('clang++', _REMEDY)}",
        f"-DCMAKE_C_COMPILER={_shell.tool('clang', _REMEDY)}",
        f"-DPython3_EXECUTABLE={sys.executable}",
        "-DTRIMTAB_PROFILE=full", "-DTRIMTAB_FUZZ=ON", "-DTRIMTAB_OPTIMISE=-O1",
        "-DTRIMTAB_OPTIMISE_KERNELS=-O1", "-DTRIMTAB_SANITIZE=fuzzer-no-link,address,undefined",
    ]  # fmt: skip
    programs = [f"fuzz_{name}" for name in targets() if name != SOURCES]
    build = [_shell.tool("cmake"), "--build", str(folder), "--target", *programs]
    for argv in (configure, build):
        if code := _shell.run(argv):
            raise Exit(f"fuzz: the build failed ({_REMEDY})", code=code)
    return folder


def _build(target: str) -> str:
    return str(_tree() / f"fuzz_{target}")


@cache
def _seeds() -> Path:
    folder = paths.cache() / "fuzz" / "seeds"
    if code := _shell.run([sys.executable, "-m", "tests.fuzz.seeds", str(folder)]):
        raise Exit("fuzz: the seeds could not be made", code=code)
    return folder


def _search_sources(seconds: int) -> bool:
    """The tests that damage source models, with other damage each time."""
    print(f"fuzz {SOURCES}: {seconds} s", flush=True)
    end, seed = time.monotonic() + seconds, int(time.time())
    argv = [sys.executable, "-m", "pytest", "-q", "-x"]
    while time.monotonic() < end:
        seed += 1
        code = _shell.run([*argv, "-k", "damaged", f"--hypothesis-seed={seed}", "tests/importers"])
        if code:
            return False
    return True
