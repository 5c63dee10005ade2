"""The plug-in that counts executed instructions in QEMU user mode: building it, reading its log."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from trimtab import files, paths
from trimtab.devices.protocol import InstructionCounts, Mark
from trimtab.errors import EmulatorError

_FLAGS = ("-O2", "-fPIC", "-shared", "-nostdlib", "-ffreestanding")
_COMPILE_S = 300.0


def plugin(qemu_major: int) -> Path:
    """The plug-in for this machine and QEMU's major version, compiled at its first use.

    Raises `EmulatorError` when it cannot be compiled.
    """
    api = 1 if qemu_major < 9 else 2
    source = paths.root() / "runtime" / "tools" / "icount_plugin.c"
    try:
        digest = hashlib.sha256(source.read_bytes() + repr((_FLAGS, api)).encode()).hexdigest()
        library = paths.cache() / "tools" / f"icount-{digest[:16]}.so"
        if not library.exists():
            with files.replacing(library, error=EmulatorError) as part:
                _compile(source, api, part)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EmulatorError(
            f"cannot build the counting plug-in: {error}", where=str(source)
        ) from error
    return library


def parse_log(text: str) -> InstructionCounts:
    """Reads the plug-in's lines `phase index count` and `end 0 count`.

    Raises `EmulatorError` for any other line: QEMU complains into the same file.
    """
    marks: list[Mark] = []
    total: int | None = None
    for line in text.splitlines():
        found = re.fullmatch("(end|[0-9]+) ([0-9]+) ([0-9]+)", line)
        if found is None:
            raise EmulatorError(f"the counting plug-in's log has an unexpected line: {line[:200]}")
        if found[1] == "end":
            total = int(found[3])
        else:
            marks.append(Mark(int(found[1]), int(found[2]), int(found[3])))
    return InstructionCounts(tuple(marks), total)


def _compile(source: Path, api: int, library: Path) -> None:
    zig_cache = str(paths.zig_cache())
    words = [sys.executable, "-m", "ziglang", "cc", *_FLAGS, f"-DTRIMTAB_PLUGIN_API={api}"]
    words += [str(source), "-o", str(library)]
    result = subprocess.run(
        words,
        env=os.environ | {"ZIG_GLOBAL_CACHE_DIR": zig_cache, "ZIG_LOCAL_CACHE_DIR": zig_cache},
        capture_output=True,
        text=True,
        timeout=_COMPILE_S,
        check=False,
    )
    if result.returncode != 0:
        raise EmulatorError(
            f"the counting plug-in does not compile: {result.stderr.strip()[-500:]}",
            where=str(source),
            hint="is the Python package ziglang installed? (`./inv doctor`)",
        )
