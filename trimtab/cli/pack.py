"""Packs what is shipped."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine

GROUP = "Build"


@task(
    help={
        "source": "a .ttm file, or the folder of a build: its runner and model",
        "output": "file to write; default: SOURCE.zst, or .tar.zst of a folder",
        "json": "machine-readable",
    },
)
@needs_engine
def pack(_: Context, source: str, output: str = "", json: bool = False) -> None:
    """Pack a model, or the runner and model of a build, for transit: plain zstd."""
    from pathlib import Path

    from trimtab.pipeline import pack as workflow

    made = workflow.pack(Path(source), Path(output) if output else None)
    if json:
        print(made.to_json())
        return
    share = made.packed_bytes / max(made.content_bytes, 1)
    print(f"written: {made.path} ({made.packed_bytes:,} bytes, {share:.1%} of the content)")
    print(f"holds: {', '.join(made.content)} ({made.content_bytes:,} bytes)")
    print(f"sha256: {made.sha256}")
    print(f"unpack: {made.unpack}")
