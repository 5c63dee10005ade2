"""Toolchains: which compiler builds for which machine, with which flags, and how to emulate it.

`toolchains/NAME.toml` describes one; there is no list to edit. This module checks that its compiler
is there and writes the CMake toolchain file that `builder.py`, and a plain `pip install`, configure
with. It needs nothing but the standard library, because CMake runs it (`python -m
trimtab.build.toolchain host`) in an environment that has little else.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from trimtab import cores, files, paths, plugins
from trimtab.cores import Core
from trimtab.errors import ToolchainError, TrimtabError

COMPILERS = ("zig", "gcc", "ndk")
_MACHINES = {"arm64": "aarch64", "amd64": "x86_64"}
_KEYS = {
    "doc",
    "compiler",
    "system",
    "arch",
    "target",
    "device",
    "needs",
    "flags",
    "cores",
    "ndk",
    "emulate",
}


@dataclass(frozen=True)
class EmulatorSpec:
    """How QEMU's user mode runs what a toolchain builds.

    `cpu` is in QEMU's spelling, `package` the Debian package of `program`; `sysroot` holds the
    target's shared libraries (`-L`), empty for static binaries.
    """

    program: str
    cpu: str
    package: str
    sysroot: str = ""


@dataclass(frozen=True)
class Toolchain:
    """One file of `toolchains/`.

    `arch` is what TRIMTAB_ARCH gets; `target` the compiler's own name of the machine. `device`:
    builds for another machine than this one. `core_flags` are templates: `{core}` is the core as
    the compiler spells it; `generic_flags` stand where none is named. `needs`: the Debian package
    of the compiler, when it is not zig. `cxx`: another C++ compiler that the environment asked
    for, host only.
    """

    name: str
    doc: str
    compiler: str
    system: str
    arch: str
    target: str
    device: bool
    compile_flags: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ()
    core_flags: tuple[str, ...] = ()
    generic_flags: tuple[str, ...] = ()
    needs: str = ""
    ndk_abi: str = ""
    ndk_platform: str = ""
    emulator: EmulatorSpec | None = None
    cxx: str = ""

    def core(self, name: str | None) -> Core:
        """The core that `name` means here; None and "generic": any machine of the architecture.

        UsageError when there is none, ToolchainError when the toolchain builds for no core.
        """
        found = cores.find(name, self.arch)
        if not found.is_generic and not self.core_flags:
            raise ToolchainError(
                f"cannot build for the core {found.name}",
                where=f"toolchain {self.name}",
                hint="this toolchain takes no core: leave it out",
            )
        return found

    def core_options(self, core: Core) -> tuple[str, ...]:
        """Compiler flags for a core."""
        if core.is_generic:
            return self.generic_flags
        name = core.compiler_name(self.compiler)
        return tuple(flag.format(core=name) for flag in self.core_flags)


def list_toolchains() -> list[str]:
    """Names of all toolchains, `host` first."""
    names = sorted(_files())
    return sorted(names, key=lambda name: name != "host")


def find_toolchain(name: str) -> Toolchain:
    """The toolchain of that name; ToolchainError when there is none or its file is wrong.

    Its compiler need not be there: `require` checks that.
    """
    if name not in list_toolchains():
        raise ToolchainError(
            f"there is no toolchain {name!r}", hint=f"known: {', '.join(list_toolchains())}"
        )
    found = read_toolchain(_files()[name])
    cxx = os.environ.get("TRIMTAB_HOST_CXX") or os.environ.get("CXX")
    if found.device or not cxx:
        return found
    return replace(found, compiler="gcc", target="", cxx=cxx)


def read_toolchain(path: Path) -> Toolchain:
    """Reads one toolchain file; ToolchainError names the file and what is wrong in it."""
    machine = _MACHINES.get(platform.machine().lower(), platform.machine().lower())
    try:
        table: dict[str, Any] = tomllib.loads(
            path.read_text(encoding="utf-8").replace("{machine}", machine)
        )
        flags, own, ndk = table["flags"], table.get("cores", {}), table.get("ndk", {})
        found = Toolchain(
            name=path.stem,
            doc=table["doc"],
            compiler=table["compiler"],
            system=table["system"],
            arch=table["arch"],
            target=table["target"],
            device=table["device"],
            compile_flags=tuple(flags["compile"]),
            link_flags=tuple(flags["link"]),
            core_flags=tuple(own.get("flags", ())),
            generic_flags=tuple(own.get("generic", ())),
            needs=table.get("needs", ""),
            ndk_abi=ndk.get("abi", ""),
            ndk_platform=ndk.get("platform", ""),
            emulator=EmulatorSpec(**table["emulate"]) if "emulate" in table else None,
        )
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ToolchainError(str(error), where=str(path)) from None
    except (AttributeError, KeyError, TypeError) as error:
        raise ToolchainError(
            f"bad or missing key: {error}", where=str(path), hint="docs/toolchains.md"
        ) from None
    if unknown := sorted(set(table) - _KEYS):
        raise ToolchainError(
            f"unknown keys: {', '.join(unknown)}", where=str(path), hint="docs/toolchains.md"
        )
    if found.compiler not in COMPILERS:
        raise ToolchainError(
            f"unknown compiler {found.compiler!r}",
            where=str(path),
            hint=f"use one of {', '.join(COMPILERS)}",
        )
    return found


def require(toolchain: Toolchain) -> None:
    """ToolchainError, with the remedy, when the toolchain's compiler is not on this machine."""
    if toolchain.compiler == "zig":
        zig_program()
    elif toolchain.compiler == "ndk":
        ndk_folder(toolchain)
    else:
        gcc_drivers(toolchain)


def zig_program() -> Path:
    """The compiler inside the `ziglang` package, without 30 ms of Python's start-up per file."""
    spec = importlib.util.find_spec("ziglang")
    program = Path(spec.origin).with_name("zig") if spec and spec.origin else None
    if program is None or not program.is_file():
        raise ToolchainError(
            "the zig compiler is not installed", hint=f"{sys.executable} -m pip install ziglang"
        )
    return program


def gcc_drivers(toolchain: Toolchain) -> tuple[str, str]:
    """The C and C++ compilers of a `gcc` toolchain as absolute paths."""
    cxx = toolchain.cxx or f"{toolchain.target}-g++"
    # The C driver of the same compiler: g++ -> gcc, clang++-19 -> clang-19, c++ -> cc.
    folder, name = os.path.split(cxx)
    name = name.replace("clang++", "clang").replace("g++", "gcc").replace("c++", "cc")
    found = [shutil.which(driver) for driver in (os.path.join(folder, name), cxx)]  # noqa: PTH118 - may be a bare name
    if not found[0] or not found[1]:
        missing = os.path.join(folder, name) if found[1] else cxx  # noqa: PTH118
        hint = (
            f"sudo apt-get install {toolchain.needs}"
            if toolchain.needs
            else "check TRIMTAB_HOST_CXX and CXX"
        )
        raise ToolchainError(
            f"the compiler {missing} is not installed",
            where=f"toolchain {toolchain.name}",
            hint=hint,
        )
    return found[0], found[1]


def ndk_folder(toolchain: Toolchain) -> Path:
    """The Android NDK that ANDROID_NDK_HOME points to."""
    where = f"toolchain {toolchain.name}"
    home = os.environ.get("ANDROID_NDK_HOME")
    if not home:
        raise ToolchainError(
            "ANDROID_NDK_HOME is not set",
            where=where,
            hint="unpack the NDK from https://developer.android.com/ndk/downloads and set"
            " ANDROID_NDK_HOME to its folder; or use aarch64-linux-musl or armv7-linux-musleabihf,"
            " whose static binaries run on Android too",
        )
    if not (Path(home) / "build/cmake/android.toolchain.cmake").is_file():
        raise ToolchainError(
            "ANDROID_NDK_HOME is no NDK: it lacks build/cmake/android.toolchain.cmake",
            where=home,
            hint="set it to the folder that holds ndk-build",
        )
    return Path(home)


def cmake_file(toolchain: Toolchain, cpu: str | None = None) -> Path:
    """Writes the CMake toolchain file for this toolchain and core, and returns its path.

    Everything is inside the file, nothing on the command line: CMake reads it again in its own
    small test projects, which do not see the variables of the command line. ToolchainError when the
    compiler is missing or the core unknown.
    """
    core = toolchain.core(cpu)
    folder = paths.cache() / "toolchains" / toolchain.name
    settings: dict[str, str] = {}
    if toolchain.compiler == "zig":
        _write_zig_wrappers(toolchain, folder)
        settings["TRIMTAB_ZIG_BIN"] = str(folder)
    elif toolchain.compiler == "ndk":
        settings["TRIMTAB_NDK"] = str(ndk_folder(toolchain))
        settings["ANDROID_ABI"] = toolchain.ndk_abi
        settings["ANDROID_PLATFORM"] = toolchain.ndk_platform
        settings["ANDROID_STL"] = "c++_static"
    else:
        settings["TRIMTAB_CC"], settings["TRIMTAB_CXX"] = gcc_drivers(toolchain)
    if toolchain.device and toolchain.compiler != "ndk":
        settings["CMAKE_SYSTEM_NAME"] = toolchain.system
        settings["CMAKE_SYSTEM_PROCESSOR"] = toolchain.arch
    settings["TRIMTAB_ARCH"] = toolchain.arch
    settings["TRIMTAB_COMPILER"] = toolchain.compiler
    settings["TRIMTAB_COMPILE_FLAGS"] = " ".join(
        (*toolchain.compile_flags, *toolchain.core_options(core))
    )
    settings["TRIMTAB_LINK_FLAGS"] = " ".join(toolchain.link_flags)
    script = Path(__file__).with_name("compile_cache.py")
    launcher = (sys.executable, "-I", "-S", script, paths.cache() / "objects", paths.root())
    settings["CMAKE_CXX_COMPILER_LAUNCHER"] = ";".join(map(str, launcher))
    path = folder / f"{core.name}.cmake"
    include = paths.root() / "toolchains/cmake" / f"{toolchain.compiler}.cmake"
    _write(path, _cmake_text(settings, include))
    return path


def _files() -> dict[str, Path]:
    own = {path.stem: path for path in (paths.root() / "toolchains").glob("*.toml")}
    return plugins.merged_files("toolchains", own)


def _cmake_text(settings: Mapping[str, str], include: Path) -> str:
    lines = ["# Generated by trimtab/build/toolchain.py from toolchains/*.toml. Do not edit."]
    lines += [f"set({key} [==[{value}]==])" for key, value in settings.items()]
    return "\n".join([*lines, f"include([==[{include}]==])"]) + "\n"


def _write_zig_wrappers(toolchain: Toolchain, folder: Path) -> None:
    """Scripts cc, c++, ar and ranlib for the target: CMake wants each tool to be one program."""
    zig, cache = zig_program(), paths.zig_cache()
    # The compile cache reads this script to know which compiler it calls.
    version = metadata.version("ziglang")
    for tool in ("cc", "c++", "ar", "ranlib"):
        target = f" -target {toolchain.target}" if tool in ("cc", "c++") else ""
        text = (
            f"#!/bin/sh\n# zig {version}\n"
            f"export ZIG_GLOBAL_CACHE_DIR={_quoted(cache)} ZIG_LOCAL_CACHE_DIR={_quoted(cache)}\n"
            f'exec {_quoted(zig)} {tool}{target} "$@"\n'
        )
        _write(folder / tool, text, mode=0o755)


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "'\\''") + "'"


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    """Leaves an equal file alone: builds of the same moment share these files."""
    hint = "set TRIMTAB_CACHE_DIR to a folder with room"
    files.write_if_changed(path, text, mode=mode, error=ToolchainError, hint=hint)


def main() -> int:
    """`python -m trimtab.build.toolchain NAME` prints the path of the CMake toolchain file."""
    try:
        print(cmake_file(find_toolchain(sys.argv[1])))
    except TrimtabError as error:
        print(f"trimtab.build.toolchain: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
