"""Builds the engine's own check programs (tests/core, tests/kernels) with a toolchain."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import pytest

from trimtab import files, paths
from trimtab.build import builder, cmake_runner, host_build, toolchain

# The core of the demo, which compiles most of these objects; the other emulated cores run its code.
_CORES = {"aarch64-linux-musl": "cortex-a53"}


@cache
def build(name: str, *programs: str) -> Path:
    """Builds these programs with every kernel, for toolchain `name`; returns the build tree.

    The host's tree also has the kernels that measure the machine.
    """
    title = f"{', '.join(programs)} for {name}"
    if name == "host":
        return host_build.build(programs, title)
    chosen = toolchain.find_toolchain(name)
    if chosen.compiler == "gcc" and chosen.device and shutil.which(chosen.target + "-g++") is None:
        pytest.skip(f"no cross compiler (apt-get install {chosen.needs})")
    tree = paths.cache() / "build" / f"check-{name}"
    # The levels of a binary for devices, with which the tree shares its objects.
    options = {"TRIMTAB_PROFILE": "full", "TRIMTAB_TOOLS": "ON"}
    options |= builder.optimization_levels(chosen)
    cmake_file = toolchain.cmake_file(chosen, _CORES.get(name))
    configure = builder.configure_command(tree, cmake_file, "Release", options)
    # Test files that run side by side build programs in the same tree.
    with files.locked(tree / ".lock"):
        cmake_runner.run(tree, configure, programs, title)
    return tree
