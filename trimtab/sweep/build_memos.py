"""What sweeps remember of what they have built, so that it is not built again."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trimtab import __version__, files, paths


def folder() -> Path:
    """Where there is a file for each build, named after all that decides what it makes."""
    return paths.cache() / "sweep" / "builds"


def every() -> list[dict[str, Any]]:
    """All that are whole."""
    return [memo for memo in map(read, folder().glob("*.json")) if memo]


def read(path: Path) -> dict[str, Any] | None:
    """What a build made; None for a file that is not there, or not whole."""
    try:
        memo = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    wanted = {"build": str, "binary": str, "model": str, "seconds": float}
    is_whole = isinstance(memo, dict) and all(isinstance(memo.get(k), t) for k, t in wanted.items())
    return memo if is_whole else None


@functools.cache
def sources() -> str:
    """The trimtab that this is: a hash of all that may decide what a build makes."""
    folders = ("runtime", "kernels", "toolchains", "cores", "profiles")
    found = [p for folder in folders for p in (paths.root() / folder).rglob("*") if p.is_file()]
    found += [p for p in paths.package().rglob("*.py") if "_resources" not in p.parts]
    digest = hashlib.sha256(__version__.encode())
    for path in sorted(found):
        base = paths.package() if path.is_relative_to(paths.package()) else paths.root()
        digest.update(f"{path.relative_to(base)}\0{files.sha256(path)}\0".encode())
    return digest.hexdigest()[:24]


def digest(path: Path) -> str:
    """Of a file, or of the files of a folder."""
    inside: Sequence[Path] = sorted(path.rglob("*")) if path.is_dir() else [path]
    return " ".join(f"{p.name}:{files.sha256(p)}" for p in inside if p.is_file() or p == path)
