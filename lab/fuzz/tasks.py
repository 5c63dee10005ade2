"""Searches for files and calls that break the engine."""

from __future__ import annotations

from invoke.context import Context
from invoke.exceptions import Exit

from trimtab.cli._command import task
from trimtab.cli._engine import needs_engine


@task(
    iterable=["target"],
    help={
        "target": "run, resize, networks, calls, images, pictures, training, or files: sources (of "
        "all formats), control_flow (TFLite), solvers (Caffe), checkpoints, plans; default: each",
        "minutes": "minutes per target; default 1",
        "jobs": "processes, shared by the targets; default: one per core",
    },
)
@needs_engine
def fuzz(_: Context, target: list[str], minutes: float = 1.0, jobs: int = 0) -> None:
    """Search for inputs that crash, hang or leak, under AddressSanitizer and UBSan.

    Failing inputs are minimized and saved in tests/fuzz/found/, which `./inv test` replays. With
    --plugin, seeds are the cases of the plug-in's operators, and its folder gets the inputs.
    """
    import os

    from lab.fuzz import search as fuzzing
    from trimtab.errors import UsageError

    names = fuzzing.targets()
    selection = target or names
    if unknown := [name for name in selection if name not in names]:
        raise UsageError(f"unknown target {unknown[0]!r}", hint=f"use one of {', '.join(names)}")
    if not 0 < minutes < float("inf"):
        raise UsageError(f"minutes is {minutes}, but must be positive")
    seconds, jobs = max(1, round(minutes * 60)), jobs or os.cpu_count() or 1
    if failed := fuzzing.search(selection, seconds, jobs):
        raise Exit(f"fuzz: {', '.join(failed)} failed, see above", code=1)
