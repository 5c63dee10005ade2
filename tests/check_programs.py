"""Builds the engine's own check programs (tests/core, tests/kernels) with a toolchain."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import pytest

from trimtab import files, paths
from trimtab.build import builder, cmake_runner, host_build, toolchain


@cache
def build(name: str, *programs: str) -> Path:
    """The build tree of toolchain `name`, with every kernel and these programs in it.

    This machine's also has the kernels that measure it.
    """
    title = f"{', '.join(programs)} for {name}"
    if name == "host":
        return host_build.build(programs, title)
    chosen = toolchain.find_toolchain(name)
    if chosen.compiler == "gcc" and chosen.device and shutil.which(chosen.target + "-g++") is None:
        pytest.skip(f"no cross compiler (apt-get install {chosen.needs})")
    tree = paths.cache() / "build" / f"check-{name}"
    options = {"TRIMTAB_PROFILE": "full", "TRIMTAB_TOOLS": "ON"}
    configure = builder.configure_command(tree, toolchain.cmake_file(chosen), "Release", options)
    # Test files that run side by side want programs of the same tree.
    with files.locked(tree / ".lock"):
        cmake_runner.run(tree, configure, programs, title)
    return tree
