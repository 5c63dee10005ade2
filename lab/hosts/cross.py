"""trimtab for other hosts than this machine, compiled and linked here by zig."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lab.dev import shell
from trimtab import files, paths
from trimtab.build import builder, cmake_runner, toolchain
from trimtab.errors import BuildError
from trimtab.progress import SILENT, Progress


@dataclass(frozen=True)
class Host:
    """A kind of machine: its names in CMake, in trimtab and in zig."""

    system: str
    arch: str
    target: str


HOSTS: Mapping[str, Host] = {
    "linux-aarch64": Host("Linux", "aarch64", "aarch64-linux-gnu.2.28"),
    "macos-arm64": Host("Darwin", "aarch64", "aarch64-macos"),
    "macos-x86-64": Host("Darwin", "x86_64", "x86_64-macos"),
    "windows-x64": Host("Windows", "x86_64", "x86_64-windows-gnu"),
}


def cmake_file(name: str) -> Path:
    """The CMake toolchain file that compiles for a host of `HOSTS`, as its own `host` would."""
    host = HOSTS[name]
    cross = replace(
        toolchain.find_toolchain("host"),
        name=f"host-{name}", system=host.system, arch=host.arch, target=host.target, device=True,
    )  # fmt: skip
    return toolchain.cmake_file(cross)


def wheel(output: Path, headers: Path, progress: Progress = SILENT) -> Path:
    """Builds this checkout's wheel for Linux on aarch64 and this version of Python.

    `headers`: Python's for that machine, the folder of Python.h. BuildError with pip's last lines.
    """
    soabi = f"cpython-{sys.version_info.major}{sys.version_info.minor}-aarch64-linux-gnu"
    defined = {
        "TRIMTAB_WHEEL_TOOLCHAIN": str(cmake_file("linux-aarch64")),
        "Python_INCLUDE_DIR": str(headers),
        "PYTHON_MODULE_EXTENSION": f".{soabi}.so",
    }
    argv = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    argv += [f"--config-settings=cmake.define.{name}={value}" for name, value in defined.items()]
    tree = paths.cache() / "build" / "wheel-linux-aarch64"
    argv += [f"--config-settings=build-dir={tree}", f"--wheel-dir={output}", str(shell.ROOT)]
    environment = {**os.environ, "_PYTHON_HOST_PLATFORM": "linux-aarch64"}
    with progress.step("build the wheel for aarch64"):
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = f"{done.stdout}{done.stderr}".strip()[-2000:]
        raise BuildError(f"the wheel for aarch64 was not built:\n{lines}")
    (built,) = output.glob("*.whl")
    return built


def link_for_mac(name: str, progress: Progress = SILENT) -> Path:
    """Compiles and links the Python extension, with all operators, for a Mac; returns it.

    Python's headers are this machine's: those of a Mac differ in what the C library has, which the
    extension does not ask. It is a library rather than a bundle: Python loads both. BuildError if
    the compiler or the linker fails.
    """
    options = {
        "TRIMTAB_PROFILE": "full",
        "TRIMTAB_PYTHON": "ON",
        "Python_EXECUTABLE": sys.executable,
        "Python_INCLUDE_DIR": sysconfig.get_path("include"),
        "PYTHON_MODULE_EXTENSION": ".so",
        "CMAKE_USER_MAKE_RULES_OVERRIDE_CXX": str(Path(__file__).with_name("dylib.cmake")),
    }
    return _linked(name, "extension", options, ["_engine"], progress) / "_engine.so"


def link(name: str, profile: Path | str, progress: Progress = SILENT) -> Path:
    """Compiles and links the engine's library and the runner for a host; returns the runner.

    BuildError if the compiler or the linker fails.
    """
    options = {"TRIMTAB_PROFILE": str(profile)}
    tree = _linked(name, "runner", options, ["trimtab", "trimtab-run"], progress)
    return tree / ("trimtab-run.exe" if HOSTS[name].system == "Windows" else "trimtab-run")


def _linked(
    name: str, what: str, options: dict[str, str], targets: Sequence[str], progress: Progress
) -> Path:
    """Builds targets of CMakeLists.txt for a host; returns the build tree."""
    tree = paths.cache() / "build" / f"host-{name}-{what}"
    command = builder.configure_command(tree, cmake_file(name), "Release", options)
    with files.locked(tree / ".lock", error=BuildError, hint=builder.CACHE_HINT):
        cmake_runner.run(tree, command, targets, f"link for {name}", progress=progress)
    return tree
