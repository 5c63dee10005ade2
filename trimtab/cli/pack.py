"""Compresses what is deployed, and writes what an update sends."""

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


@dataclass(frozen=True, kw_only=True)
class DeltaOptions:
    """Options of `delta`."""

    old: str = argument("a .ttm file that devices have, or the folder of its build")
    new: str = argument("the file or build that is to replace it")
    output: str = option("file to write; default: NEW.delta")


@command(DeltaOptions, engine=True)
def delta(options: DeltaOptions) -> None:
    """Write the difference of two models, which trimtab_apply_delta of the C API applies."""
    from pathlib import Path

    from trimtab.modelfile import delta as differences
    from trimtab.pipeline import pack as packing

    old, new = packing.models(Path(options.old), Path(options.new))
    output = Path(options.output) if options.output else new.with_name(f"{new.name}.delta")
    size = differences.write(old, new, output)
    share = size / new.stat().st_size
    print(f"written: {output} ({size:,} bytes, {share:.1%} of {new.name})")
    print(f"applied to {old}, it makes {new.name}: trimtab_apply_delta (docs/embedding.md)")
