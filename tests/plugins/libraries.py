"""Compiles shared libraries with operators."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from trimtab import paths
from trimtab.build.toolchain import zig_program

ABI = paths.root() / "tests" / "plugins" / "abi"
EXAMPLE = paths.root() / "examples" / "plugins" / "run_time"
HEADER = paths.root() / "runtime" / "api"


def run(driver: str, *words: str | Path) -> None:
    """Runs this machine's C or C++ compiler (cc, c++), or zig, which takes longer."""
    cache = str(paths.zig_cache())
    environment = os.environ | {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}
    result = shutil.which(driver)
    argv = [result] if result else [str(zig_program()), driver]
    argv += map(str, words)
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def compiled(source: Path, output: Path, *options: str, header: Path = HEADER) -> Path:
    """A shared library of one C file, for this machine."""
    warnings = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")
    run("cc", "-O2", *warnings, "-fPIC", "-shared", f"-I{header}", *options, "-o", output, source)
    return output


def python(script: str, *words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs a script in a new process, because registrations last as long as the process."""
    argv = [sys.executable, "-c", script, *map(str, words)]
    return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False, timeout=300)
