"""Builds the engine with clang's counters, runs the tests, and reads what they reached."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from invoke.exceptions import Exit

from trimtab.cli import _fuzz, _instrumented, _shell
from trimtab.tables import Column, Table

FOLDERS = ("runtime/core", "runtime/ops")


def measure(html: str) -> dict[str, tuple[int, int]]:
    """By file of the engine's core and operators: lines that ran, and lines of code."""
    root = _shell.checkout()
    targets = [name for name in _fuzz.targets() if name != _fuzz.SOURCES]
    replays = [f"replay_{name}" for name in targets]
    tree = _instrumented.build("coverage", "_engine", *replays)
    with tempfile.TemporaryDirectory() as scratch:
        # A profile for each process; the tests run in one, which ends as Python does.
        environment = {**os.environ, "LLVM_PROFILE_FILE": f"{scratch}/%p.profraw"}
        argv = [sys.executable, "-m", "pytest", "-q", f"--engine={tree}", "tests/ops"]
        argv += ["-m", "not build and not device"]  # those compile binaries of their own
        _run(argv, environment)
        for name in targets:
            inputs = [_fuzz.seeds(), *(f for f in [root / _fuzz.FOUND / name] if f.is_dir())]
            _run([str(tree / f"replay_{name}"), *map(str, inputs)], environment)
        profile = f"{scratch}/all.profdata"
        raw = map(str, Path(scratch).glob("*.profraw"))
        merge = _shell.tool("llvm-profdata", _instrumented.REMEDY)
        _run([merge, "merge", "-sparse", "-o", profile, *raw], environment)
        (library,) = tree.glob("_engine*.so")
        objects = [str(library), *(f"-object={tree / name}" for name in replays)]
        places = [f"-instr-profile={profile}", *(str(root / folder) for folder in FOLDERS)]
        cov = _shell.tool("llvm-cov", _instrumented.REMEDY)
        if html:
            out = ["-format=html", f"-output-dir={Path(html).absolute()}"]
            _run([cov, "show", *out, *objects, *places], environment)
        said = subprocess.run(
            [cov, "export", "-summary-only", *objects, *places],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    if said.returncode:
        raise Exit(f"coverage: llvm-cov failed: {said.stderr[-1000:]}", code=1)
    found = {}
    for row in json.loads(said.stdout)["data"][0]["files"]:
        lines = row["summary"]["lines"]
        found[str(Path(row["filename"]).relative_to(root))] = (lines["covered"], lines["count"])
    return found


def table(found: Mapping[str, tuple[int, int]]) -> Table:
    """Files of which lines did not run, those with the most first."""
    rows = [(file, lines - covered, lines) for file, (covered, lines) in found.items()]
    missed = sorted((row for row in rows if row[1]), key=lambda row: (-row[1], row[0]))
    return Table([Column("file"), Column("not reached"), Column("lines")], missed)


def _run(argv: list[str], environment: Mapping[str, str]) -> None:
    if code := _shell.run(argv, environment):
        raise Exit(f"coverage: {Path(argv[0]).name} failed, see above", code=code)
