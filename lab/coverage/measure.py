"""Builds the engine with clang's counters, runs its tests, and reads the covered lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from invoke.exceptions import Exit

from lab.coverage import figures
from lab.dev import instrumented, shell
from lab.fuzz import search


def measure(html: str) -> list[figures.CoverageRow]:
    """The line coverage of the engine's core and operators, by file.

    `html`: folder for annotated sources, or "".
    """
    targets = search.of_engine()
    replays = [f"replay_{name}" for name in targets]
    tree = instrumented.build("coverage", "_engine", *replays)
    with tempfile.TemporaryDirectory() as scratch:
        # One profile per process; the tests run in a single process, which has to exit normally.
        environment = {**os.environ, "LLVM_PROFILE_FILE": f"{scratch}/%p.profraw"}
        tests = [sys.executable, "-m", "pytest", "-q", "-n", "0", f"--engine={tree}", "tests/ops"]
        tests += ["-m", "not build and not device"]  # those tests compile their own binaries
        _run(tests, environment)
        for name in targets:
            inputs = [search.seeds_of(name), *(f for f in [search.crashes() / name] if f.is_dir())]
            _run([str(tree / f"replay_{name}"), *map(str, inputs)], environment, quiet=True)
        profile = f"{scratch}/all.profdata"
        raw = map(str, Path(scratch).glob("*.profraw"))
        merge = shell.tool("llvm-profdata", instrumented.REMEDY)
        _run([merge, "merge", "-sparse", "-o", profile, *raw], environment)
        return _read(tree, replays, profile, html)


def _read(
    tree: Path, programs: Sequence[str], profile: str, html: str
) -> list[figures.CoverageRow]:
    root = shell.ROOT
    (library,) = tree.glob("_engine*.so")
    objects = [str(library), *(f"-object={tree / name}" for name in programs)]
    cov = [shell.tool("llvm-cov", instrumented.REMEDY)]
    what = [*objects, f"-instr-profile={profile}"]
    if html:
        _run([*cov, "show", "-format=html", f"-output-dir={Path(html).absolute()}", *what], {})
    exported = subprocess.run(
        [*cov, "export", "-summary-only", *what], capture_output=True, text=True, check=False
    )
    if exported.returncode:
        raise Exit(f"coverage: llvm-cov failed: {exported.stderr[-1000:]}", code=1)
    coverage = []
    for row in json.loads(exported.stdout)["data"][0]["files"]:
        # With a compiler cache (ccache), names are relative to the build tree.
        name = os.path.relpath(os.path.normpath(row["filename"]), root)
        if name.startswith(figures.FOLDERS):
            lines = row["summary"]["lines"]
            coverage.append(figures.CoverageRow(name, lines["covered"], lines["count"]))
    return sorted(coverage, key=lambda row: row.file)


def _run(argv: list[str], environment: Mapping[str, str], *, quiet: bool = False) -> None:
    done = subprocess.run(
        argv, cwd=shell.ROOT, env={**os.environ, **environment}, check=False,
        stderr=subprocess.PIPE if quiet else None, text=True,
    )  # fmt: skip
    if done.returncode:
        raise Exit(f"coverage: {Path(argv[0]).name} failed: {(done.stderr or '')[-500:]}", code=1)
