"""The build tree of this checkout: the Python engine, the engine's own test programs, and the
commands that clang-tidy reads. One tree, so that nothing is compiled twice for this machine.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from trimtab import files, paths, plugins
from trimtab.build import builder, cmake_runner, toolchain
from trimtab.engine import engine_file
from trimtab.errors import BuildError
from trimtab.progress import SILENT, Progress

# ninja's file of itself: nothing is compiled, but headers and commands are up to date.
CONFIGURED = "build.ninja"


def build_engine(progress: Progress = SILENT) -> Path:
    """Builds the Python extension of this checkout, or what has changed of it; with the operators
    and kernels of plug-ins it is another one.

    Returns its path. An installed trimtab has the one without plug-ins already. Raises
    ToolchainError and BuildError.
    """
    target = engine_file()
    if paths.is_checkout() or plugins.for_engine():
        build(["_engine"], "build the Python engine", progress, deliver={target.name: target})
    return target


def build(
    targets: Sequence[str],
    title: str,
    progress: Progress = SILENT,
    deliver: Mapping[str, Path] = MappingProxyType({}),
) -> Path:
    """Builds these targets of CMakeLists.txt for this machine, with every operator and kernel, also
    those that measure; returns the build tree. Raises ToolchainError and BuildError.

    `deliver`: files of the tree and where they are copied to, before another process may build
    them with other plug-ins.
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
        "TRIMTAB_PLUGINS": ";".join(str(plugin.folder) for plugin in plugins.for_engine()),
    }
    command = builder.configure_command(tree, cmake_file, "Release", options)
    with files.locked(tree / ".lock", error=BuildError, hint=builder.CACHE_HINT):
        cmake_runner.run(tree, command, targets, title, progress=progress)
        for name, target in deliver.items():
            files.copy_if_changed(tree / name, target, error=BuildError, hint=builder.CACHE_HINT)
    return tree
