"""The search for files and calls that break the engine."""

from __future__ import annotations

from invoke.context import Context
from invoke.exceptions import Exit

from trimtab.cli._command import task
from trimtab.cli._engine import needs_engine


@task(
    iterable=["target"],
    help={
        "target": "run, resize, calls (the engine), sources (models of all formats); default: each",
        "minutes": "for each target; default 1",
        "jobs": "processes at once, shared by the targets; default: as many as cores",
    },
)
@needs_engine
def fuzz(_: Context, target: list[str], minutes: float = 1.0, jobs: int = 0) -> None:
    """Search for inputs that crash, hang or leak, under AddressSanitizer and UBSan.

    What is found is made small and kept in tests/fuzz/found/, which `./inv test` replays. With
    --plugin it begins with the cases of a plug-in's operators, and keeps what it finds there.
    """
    import os

    from lab.fuzz import search
    from trimtab.errors import UsageError

    names = search.targets()
    chosen = target or names
    if unknown := [name for name in chosen if name not in names]:
        raise UsageError(f"no target {unknown[0]!r}", hint=f"there are {', '.join(names)}")
    if not 0 < minutes < float("inf"):
        raise UsageError(f"minutes is {minutes}, it must be more than 0")
    seconds, jobs = max(1, round(minutes * 60)), jobs or os.cpu_count() or 1
    if failed := search.search(chosen, seconds, jobs):
        raise Exit(f"fuzz: {', '.join(failed)} failed, see above", code=1)
