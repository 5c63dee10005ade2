"""The TCG plug-ins for QEMU user mode (runtime/tools), compiled on first use."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from trimtab import files, paths
from trimtab.errors import EmulatorError
from trimtab.paths import PROGRAM

_FLAGS = ("-O2", "-fPIC", "-shared", "-nostdlib", "-ffreestanding")
_COMPILE_S = 300.0


def plugin(name: str, qemu_major: int) -> Path:
    """The plug-in `runtime/tools/NAME_plugin.c` for this machine and QEMU's major version.

    Raises `EmulatorError` if it cannot be compiled.
    """
    api = 1 if qemu_major < 9 else 2
    folder = paths.root() / "runtime" / "tools"
    source, header = folder / f"{name}_plugin.c", folder / "tcg_plugin.h"
    try:
        text = source.read_bytes() + header.read_bytes() + repr((_FLAGS, api)).encode()
        digest = hashlib.sha256(text).hexdigest()
        library = paths.cache() / "tools" / f"{name}-{digest[:16]}.so"
        if not library.exists():
            with files.replacing(library, error=EmulatorError) as part:
                _compile(source, api, part)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EmulatorError(f"cannot build the plug-in: {error}", where=str(source)) from error
    return library


def _compile(source: Path, api: int, library: Path) -> None:
    zig_cache = str(paths.zig_cache())
    words = [sys.executable, "-m", "ziglang", "cc", *_FLAGS, f"-DTRIMTAB_PLUGIN_API={api}"]
    words += [f"-I{paths.root()}", str(source), "-o", str(library)]
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
            f"the plug-in does not compile: {result.stderr.strip()[-500:]}",
            where=str(source),
            hint=f"is the Python package ziglang installed? (`{PROGRAM} doctor`)",
        )
