"""The engine under the compiler's sanitizers."""

from __future__ import annotations

from invoke.context import Context
from invoke.exceptions import Exit
from invoke.tasks import task

from trimtab.cli._engine import needs_engine

PARTS = ("memory", "threads")


@task(
    help={
        "part": "only memory (AddressSanitizer and UBSan) or threads (ThreadSanitizer)",
        "small": "every 24th operator test and one small network, as CI does",
        "keyword": "only tests whose name matches this pytest expression",
        "jobs": "processes that run tests at once; default: as many as cores",
    },
)
@needs_engine
def sanitize(
    _: Context, part: str = "", small: bool = False, keyword: str = "", jobs: int = 0
) -> None:
    """Run the engine's tests under AddressSanitizer and UBSan, whole networks under TSan."""
    import os

    from trimtab.cli import _sanitize
    from trimtab.errors import UsageError

    if part and part not in PARTS:
        raise UsageError(f"no part {part!r}", hint=f"there are {', '.join(PARTS)}")
    failed = []
    if part != "memory" and not keyword:
        failed += _sanitize.threads(small)
    if part != "threads":
        failed += _sanitize.memory(small, keyword, jobs or os.cpu_count() or 1)
    if failed:
        raise Exit("sanitize: " + "; ".join(failed) + ": failed, see above", code=1)
