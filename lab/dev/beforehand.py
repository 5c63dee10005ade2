"""Work that tests wait for, begun while packages are installed, which takes one core of two."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from lab.dev import shell
from trimtab.build import builder
from trimtab.errors import TrimtabError
from trimtab.profile import find_profile

# Those of many tests that the demo has not built for. zig compiles the C library of a target once,
# on one core, and whoever needs it meanwhile stands still.
TOOLCHAINS = ("armv7-linux-musleabihf", "x86_64-linux-musl")
_PROFILE = "squeezenet"  # of few operators: the C library begins after them


def begin() -> None:
    """Starts the work, which ends by itself; what fails is done again, and told, by the tests."""
    for work in (compile_c_libraries, rewrite_assertions):
        threading.Thread(target=work, daemon=True).start()


def compile_c_libraries() -> None:
    """Builds a small runner with each toolchain."""
    profile = find_profile(_PROFILE)
    for toolchain in TOOLCHAINS:
        with tempfile.TemporaryDirectory() as folder, suppress(TrimtabError):
            builder.build(builder.BuildRequest(profile, Path(folder) / "built", toolchain))


def rewrite_assertions() -> None:
    """Lets pytest import the tests, whose assertions it rewrites and caches: each of its processes
    would do so for itself.
    """
    environment = {**os.environ}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    argv = [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests"]
    subprocess.run(argv, cwd=shell.ROOT, env=environment, capture_output=True, check=False)
