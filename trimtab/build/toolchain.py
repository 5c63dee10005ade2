"""Toolchains: compiler, target machine, flags and emulator, one file `toolchains/NAME.toml` each.

There is no list to edit. This module checks that the compiler is installed and writes the CMake
toolchain file that `builder.py`, and a plain `pip install`, configure with. It uses the standard
library only, because CMake runs it (`python -m trimtab.build.toolchain host`) in an environment
without other packages.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Literal

from trimtab import cores, files, paths, plugins
from trimtab.cores import Core
from trimtab.errors import ToolchainError, TrimtabError
from trimtab.toml_table import TomlFile

_MACHINES = {"arm64": "aarch64", "amd64": "x86_64"}
# Of the toolchain `host`: the name of the system in CMake, and what zig's names of machines end in.
_SYSTEMS = {"darwin": ("Darwin", "macos"), "win32": ("Windows", "windows-gnu")}
_LINUX = ("Linux", "linux-gnu.2.28")


@dataclass(frozen=True)
class EmulatorSpec:
    """The user-mode QEMU that runs what a toolchain builds.

    `cpu`: in QEMU's spelling; `package`: the Debian package of `program`; `sysroot`: the folder
    with the target's shared libraries (`-L`), empty for static binaries.
    """

    program: str
    cpu: str
    package: str
    sysroot: str = ""


@dataclass(frozen=True)
class Flags:
    """Flags of every compilation and of the link."""

    compile: tuple[str, ...]
    link: tuple[str, ...]


@dataclass(frozen=True)
class CoreFlags:
    """Templates of compiler flags for a core, in which `{core}` is its name in the compiler's
    spelling, and the `generic` flags that are used without a core.
    """

    flags: tuple[str, ...] = ()
    generic: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ndk:
    """The Android NDK's names of the ABI and the platform."""

    abi: str = ""
    platform: str = ""


@dataclass(frozen=True)
class Toolchain:
    """One file of `toolchains/`.

    `arch`: the value of TRIMTAB_ARCH; `target`: the compiler's name of the machine; `device`:
    builds for another machine than this one; `needs`: the Debian package of the compiler, unless it
    is zig; `cxx`: a C++ compiler from the environment, for the host only.
    """

    name: str
    doc: str
    compiler: Literal["zig", "gcc", "ndk"]
    system: str
    arch: str
    target: str
    device: bool
    flags: Flags
    for_cores: CoreFlags = field(default=CoreFlags(), metadata={"key": "cores"})
    needs: str = ""
    ndk: Ndk = Ndk()
    emulator: EmulatorSpec | None = field(default=None, metadata={"key": "emulate"})
    cxx: str = ""

    def core(self, name: str | None) -> Core:
        """The core called `name`; None and "generic" mean any machine of the architecture.

        UsageError if there is no such core, ToolchainError if the toolchain does not support cores.
        """
        core = cores.find(name, self.arch)
        if not core.is_generic and not self.for_cores.flags:
            raise ToolchainError(
                f"cannot build for the core {core.name}",
                where=f"toolchain {self.name}",
                hint="this toolchain does not support cores: omit the core",
            )
        return core

    def core_options(self, core: Core) -> tuple[str, ...]:
        """Compiler flags for a core."""
        if core.is_generic:
            return self.for_cores.generic
        name = core.compiler_name(self.compiler)
        return tuple(flag.format(core=name) for flag in self.for_cores.flags)


def list_toolchains() -> list[str]:
    """Names of all toolchains, `host` first."""
    names = sorted(_files())
    return sorted(names, key=lambda name: name != "host")


def find_toolchain(name: str) -> Toolchain:
    """The toolchain called `name`; ToolchainError if there is none or its file is invalid.

    The compiler need not be installed: `require` checks that.
    """
    if name not in list_toolchains():
        raise ToolchainError(
            f"there is no toolchain {name!r}", hint=f"use one of {', '.join(list_toolchains())}"
        )
    toolchain = read_toolchain(_files()[name])
    cxx = os.environ.get("TRIMTAB_HOST_CXX") or os.environ.get("CXX")
    if toolchain.device or not cxx:
        return toolchain
    return replace(toolchain, compiler="gcc", target="", cxx=cxx)


def read_toolchain(path: Path) -> Toolchain:
    """Reads one toolchain file; ToolchainError names the file and what is wrong in it."""
    machine = _MACHINES.get(platform.machine().lower(), platform.machine().lower())
    system, abi = _SYSTEMS.get(sys.platform, _LINUX)
    facts = {"{machine}": machine, "{system}": system, "{abi}": abi}
    file = TomlFile(
        path,
        ToolchainError,
        hint="docs/toolchains.md explains the keys",
        edit=lambda text: re.sub("{(machine|system|abi)}", lambda key: facts[key[0]], text),
    )
    return file.record(Toolchain, name=path.stem, cxx="")


def require(toolchain: Toolchain) -> None:
    """ToolchainError with a remedy if the toolchain's compiler is not installed."""
    if toolchain.compiler == "zig":
        zig_program()
    elif toolchain.compiler == "ndk":
        ndk_folder(toolchain)
    else:
        gcc_drivers(toolchain)


def zig_program() -> Path:
    """The compiler in the `ziglang` package, called directly: its Python wrapper takes 30 ms per
    file.
    """
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
    drivers = [shutil.which(driver) for driver in (os.path.join(folder, name), cxx)]  # noqa: PTH118 - may be a bare name
    if not drivers[0] or not drivers[1]:
        missing = os.path.join(folder, name) if drivers[1] else cxx  # noqa: PTH118
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
    return drivers[0], drivers[1]


def ndk_folder(toolchain: Toolchain) -> Path:
    """The folder of the Android NDK, from ANDROID_NDK_HOME."""
    where = f"toolchain {toolchain.name}"
    home = os.environ.get("ANDROID_NDK_HOME")
    if not home:
        raise ToolchainError(
            "ANDROID_NDK_HOME is not set",
            where=where,
            hint="unpack the NDK from https://developer.android.com/ndk/downloads and set"
            " ANDROID_NDK_HOME to its folder; or use aarch64-linux-musl or armv7-linux-musleabihf,"
            " whose static binaries run on Android as well",
        )
    if not (Path(home) / "build/cmake/android.toolchain.cmake").is_file():
        raise ToolchainError(
            "ANDROID_NDK_HOME is not an NDK: it lacks build/cmake/android.toolchain.cmake",
            where=home,
            hint="set it to the folder that contains ndk-build",
        )
    return Path(home)


def compiler_identity(toolchain: Toolchain) -> str:
    """The compiler and its version: what it compiles changes only if this text does.

    ToolchainError if the compiler is missing.
    """
    if toolchain.compiler == "zig":
        zig_program()
        return f"zig {metadata.version('ziglang')} {toolchain.target}"
    if toolchain.compiler == "ndk":
        properties = ndk_folder(toolchain) / "source.properties"
        text = properties.read_text(encoding="utf-8") if properties.is_file() else ""
        return " ".join(["NDK", *text.split(), toolchain.ndk.abi, toolchain.ndk.platform])
    cxx = gcc_drivers(toolchain)[1]
    done = subprocess.run([cxx, "--version"], capture_output=True, text=True, check=False)
    return f"{Path(cxx).name} {done.stdout.partition(chr(10))[0]}"


def cmake_file(toolchain: Toolchain, cpu: str | None = None) -> Path:
    """Writes the CMake toolchain file for a toolchain and a core, and returns its path.

    The file contains all settings: CMake also reads it in its own test projects, which do not get
    the variables of the command line. Its folder is named by a hash of these settings and of the
    compiler's version: builds with other compilers at the same time, and after an upgrade, have
    other files. ToolchainError if the compiler is missing or the core is not supported.
    """
    core = toolchain.core(cpu)
    identity = compiler_identity(toolchain)
    settings: dict[str, str] = {"TRIMTAB_COMPILER_IDENTITY": identity}
    scripts: dict[str, str] = {}
    if toolchain.compiler == "zig":
        scripts |= _zig_wrappers(toolchain)
    elif toolchain.compiler == "ndk":
        settings["TRIMTAB_NDK"] = str(ndk_folder(toolchain))
        settings["ANDROID_ABI"] = toolchain.ndk.abi
        settings["ANDROID_PLATFORM"] = toolchain.ndk.platform
        settings["ANDROID_STL"] = "c++_static"
    else:
        settings["TRIMTAB_CC"], settings["TRIMTAB_CXX"] = gcc_drivers(toolchain)
    if toolchain.device and toolchain.compiler != "ndk":
        settings["CMAKE_SYSTEM_NAME"] = toolchain.system
        settings["CMAKE_SYSTEM_PROCESSOR"] = toolchain.arch
    settings["TRIMTAB_ARCH"] = toolchain.arch
    settings["TRIMTAB_COMPILER"] = toolchain.compiler
    settings["TRIMTAB_COMPILE_FLAGS"] = " ".join(
        (*toolchain.flags.compile, *toolchain.core_options(core))
    )
    settings["TRIMTAB_LINK_FLAGS"] = " ".join(toolchain.flags.link)
    if ccache := _ccache_launcher(toolchain, identity):
        scripts["ccache"] = ccache
    include = paths.root() / "toolchains/cmake" / f"{toolchain.compiler}.cmake"
    facts = "\0".join([str(include), *settings.values(), *scripts.values()])
    digest = hashlib.sha256(facts.encode()).hexdigest()[:12]
    folder = paths.cache() / "toolchains" / f"{toolchain.name}-{digest}"
    for name, text in scripts.items():
        _write(folder / name, text, mode=0o755)
    if toolchain.compiler == "zig":
        settings["TRIMTAB_ZIG_BIN"] = str(folder)
    if "ccache" in scripts:
        settings["CMAKE_CXX_COMPILER_LAUNCHER"] = str(folder / "ccache")
    path = folder / f"{core.name}.cmake"
    _write(path, _cmake_text(settings, include))
    return path


def _ccache_launcher(toolchain: Toolchain, identity: str) -> str:
    """A script that compiles through ccache; empty without ccache.

    Build trees, and checkouts with one cache folder, share objects: the same source with the same
    flags is compiled once, whichever profile a tree is for. Nothing that is hashed contains an
    absolute path: those below the build tree, where ninja compiles and which links to the sources
    (`builder.configure_command`), are hashed relative to it, and the compiler, which may be a
    wrapper script, by its version. ccache expands variables in its settings, so that paths, which
    may contain a `$`, are passed as variables of their own.
    """
    folders = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    program = shutil.which("ccache", path=folders)
    if program is None:
        return ""
    settings = {
        "TRIMTAB_OBJECTS": _quoted(paths.cache() / "objects"),
        "TRIMTAB_TREE": '"$PWD"',
        "CCACHE_DIR": "'$TRIMTAB_OBJECTS'",
        "CCACHE_BASEDIR": "'$TRIMTAB_TREE'",
        "CCACHE_COMPILERCHECK": _quoted(f"string:{identity}"),
        "CCACHE_COMPILERTYPE": "gcc" if toolchain.compiler == "gcc" else "clang",
        "CCACHE_DEPEND": "1",
        "CCACHE_MAXSIZE": "2G",
    }
    exports = [f"export {name}={value}\n" for name, value in settings.items()]
    return f'#!/bin/sh\n{"".join(exports)}exec {_quoted(program)} "$@"\n'


def _files() -> dict[str, Path]:
    own = {path.stem: path for path in (paths.root() / "toolchains").glob("*.toml")}
    return plugins.merged_files("toolchains", own)


def _cmake_text(settings: Mapping[str, str], include: Path) -> str:
    lines = ["# Generated by trimtab/build/toolchain.py from toolchains/*.toml. Do not edit."]
    lines += [f"set({key} [==[{value}]==])" for key, value in settings.items()]
    return "\n".join([*lines, f"include([==[{include}]==])"]) + "\n"


def _zig_wrappers(toolchain: Toolchain) -> dict[str, str]:
    """The scripts cc, c++, ar and ranlib: CMake requires that each tool is one program."""
    if sys.platform == "win32":
        raise ToolchainError(
            "building binaries on Windows is not supported: the compiler is called through scripts",
            where=f"toolchain {toolchain.name}",
            hint="build in WSL, as on Linux (docs/hosts.md)",
        )
    zig, cache = _quoted(zig_program()), _quoted(paths.zig_cache())
    target = f" -target {toolchain.target}"
    modules = f" -fmodules -fmodules-cache-path={_quoted(_header_modules())}"
    options = {"cc": target, "c++": target + modules, "ar": "", "ranlib": ""}
    environment = f"export ZIG_GLOBAL_CACHE_DIR={cache} ZIG_LOCAL_CACHE_DIR={cache}\n"
    return {
        tool: f'#!/bin/sh\n{environment}exec {zig} {tool}{own} "$@"\n'
        for tool, own in options.items()
    }


def _header_modules() -> Path:
    """The folder of the compiler's own headers, such as arm_neon.h and immintrin.h, which are
    parsed once for all files: otherwise they take three quarters of the time of a kernel. Objects
    are the same. Its files name each other by their paths, so a cache that moves begins again.
    """
    folder = paths.zig_cache().resolve()
    place = hashlib.sha256(f"{zig_program()}\0{folder}".encode()).hexdigest()[:12]
    return folder / "modules" / place


def _quoted(text: Path | str) -> str:
    return "'" + str(text).replace("'", "'\\''") + "'"


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    """Writes a file unless its content is equal: concurrent builds share these files."""
    hint = "set TRIMTAB_CACHE_DIR to a folder with free space"
    files.write_if_changed(path, text, mode=mode, error=ToolchainError, hint=hint)


def main() -> int:
    """Prints the path of the CMake toolchain file: `python -m trimtab.build.toolchain NAME`."""
    try:
        print(cmake_file(find_toolchain(sys.argv[1])))
    except TrimtabError as error:
        print(f"trimtab.build.toolchain: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
