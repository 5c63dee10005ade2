"""The build tree for this machine: the Python engine, the engine's test programs, and the
compilation database for clang-tidy. A single tree, so that nothing is compiled twice.
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

# A target without compilation: it updates generated headers and the compilation database.
CONFIGURED = "build.ninja"


def build_engine(progress: Progress = SILENT) -> Path:
    """Builds the Python extension of this checkout and returns its path. Plug-ins with operators or
    kernels have a separate extension.

    An installed trimtab already contains the extension without plug-ins. Raises ToolchainError and
    BuildError.
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
    """Builds targets of CMakeLists.txt for this machine with all operators and kernels, including
    the measurement kernels, and returns the build tree. Raises ToolchainError and BuildError.

    `deliver`: files of the tree and the paths that they are copied to while the tree is locked:
    another process may rebuild them with other plug-ins.
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
