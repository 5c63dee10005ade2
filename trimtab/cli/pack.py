"""Compresses what is deployed."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import argument, command, option

GROUP = "Build"


@dataclass(frozen=True, kw_only=True)
class PackOptions:
    """Options of `pack`."""

    source: str = argument("a .ttm file, or the folder of a build: its runner and model")
    output: str = option("file to write; default: SOURCE.zst, or .tar.zst of a folder")
    json: bool = option("print JSON", False)


@command(PackOptions, engine=True)
def pack(options: PackOptions) -> None:
    """Compress a model, or the runner and model of a build, for transfer: plain zstd."""
    from pathlib import Path

    from trimtab.pipeline import pack as packing

    packed = packing.pack(Path(options.source), Path(options.output) if options.output else None)
    if options.json:
        print(packed.to_json())
        return
    share = packed.packed_bytes / max(packed.content_bytes, 1)
    print(f"written: {packed.path} ({packed.packed_bytes:,} bytes, {share:.1%} of the content)")
    print(f"holds: {', '.join(packed.content)} ({packed.content_bytes:,} bytes)")
    print(f"sha256: {packed.sha256}")
    print(f"unpack: {packed.unpack}")
