"""The build tree of this checkout: the Python engine, the engine's own test programs, and the
commands that clang-tidy reads. One tree, so that nothing is compiled twice for this machine.
"""

from __future__ import annotations

import hashlib
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from trimtab import files, paths
from trimtab.build import builder, buildtools, toolchain
from trimtab.errors import BuildError
from trimtab.progress import SILENT, Progress

# ninja's file of itself: nothing is compiled, but headers and commands are up to date.
CONFIGURED = "build.ninja"


def build_engine(progress: Progress = SILENT) -> Path:
    """Builds the Python extension of this checkout, or what has changed of it.

    Returns its path beside the package. An installed trimtab has it already. Raises ToolchainError
    and BuildError.
    """
    name = f"_engine{sysconfig.get_config_var('EXT_SUFFIX')}"
    target = paths.package() / name
    if paths.is_checkout():
        tree = build(["_engine"], "build the Python engine", progress)
        with files.locked(tree / ".lock", error=BuildError, hint=builder.CACHE_HINT):
            files.copy_if_changed(tree / name, target, error=BuildError, hint=builder.CACHE_HINT)
    return target


def build(targets: Sequence[str], title: str, progress: Progress = SILENT) -> Path:
    """Builds these targets of CMakeLists.txt for this machine, with every operator and kernel, also
    those that measure; returns the build tree. Raises ToolchainError and BuildError.
    """
    cmake_file = toolchain.cmake_file(toolchain.find_toolchain("host"))
    key = hashlib.sha256(
        f"{paths.root()} {sys.executable} {cmake_file.read_text()}".encode()
    ).hexdigest()[:12]
    tree = paths.cache() / "build" / f"engine-{key}"
    options = {
        "TRIMTAB_PYTHON": "ON",
        "TRIMTAB_TOOLS": "ON",
        "TRIMTAB_PROFILE": "full",
        "Python_EXECUTABLE": sys.executable,
    }
    command = builder.configure_command(tree, cmake_file, "Release", options)
    with files.locked(tree / ".lock", error=BuildError, hint=builder.CACHE_HINT):
        buildtools.run(tree, command, targets, title, progress=progress)
    return tree
