"""Toolchain files, the CMake files written from them, and errors for missing compilers."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.some import some
from trimtab import cores
from trimtab.build import builder, toolchain
from trimtab.build.toolchain import Toolchain, find_toolchain, list_toolchains
from trimtab.cores import Core
from trimtab.errors import ToolchainError, UsageError

NAMES = list_toolchains()


@pytest.fixture(autouse=True)
def _private_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("CXX", "TRIMTAB_HOST_CXX", "ANDROID_NDK_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def ndk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder that looks like an NDK."""
    folder = tmp_path / "android-ndk"
    (folder / "build/cmake").mkdir(parents=True)
    (folder / "build/cmake/android.toolchain.cmake").touch()
    monkeypatch.setenv("ANDROID_NDK_HOME", str(folder))
    return folder


def settings(path: Path) -> dict[str, str]:
    """The variables that a CMake toolchain file sets, as CMake itself reads them."""
    script = path.with_suffix(".print.cmake")
    text = "\n".join(x for x in path.read_text().splitlines() if not x.startswith("include"))
    script.write_text(
        text + "\nget_cmake_property(names VARIABLES)\n"
        "foreach(name IN LISTS names)\nmessage(STATUS ${name}=${${name}})\nendforeach()\n"
    )
    command = [sys.executable, "-m", "cmake", "-P", str(script)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = (line.removeprefix("-- ").partition("=") for line in output.splitlines())
    return {name: value for name, _, value in rows}


def test_the_promised_toolchains_are_there_host_first() -> None:
    assert NAMES[0] == "host"
    assert set(NAMES) >= {
        "aarch64-linux-musl",
        "armv7-linux-musleabihf",
        "riscv64-linux-musl",
        "x86_64-linux-musl",
        "aarch64-linux-gnu",
        "arm-linux-gnueabihf",
        "android-arm64",
        "android-armv7",
        "android-x86_64",
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_toolchain_describes_its_purpose_and_emulator(name: str) -> None:
    chosen = find_toolchain(name)
    assert chosen.doc
    assert chosen.arch in ("x86_64", "aarch64", "armv7", "riscv64")
    assert chosen.device == (name != "host")
    if chosen.device:
        assert chosen.emulator is not None
        assert chosen.emulator.program.startswith("qemu-")


def test_a_toolchain_for_a_device_builds_for_every_core_of_its_architecture() -> None:
    for chosen in some(map(find_toolchain, NAMES)):
        own = [c for c in cores.all_cores() if chosen.arch in c.features and not c.is_generic]
        if chosen.device:
            assert all(any(c.compiler in f for f in _dashed(chosen, c)) for c in own)
        else:
            for core in own:
                with pytest.raises(ToolchainError, match=f"cannot build for the core {core.name}"):
                    chosen.core(core.name)


def _dashed(chosen: Toolchain, core: Core) -> list[str]:
    return [f.replace("_", "-") for f in chosen.core_options(chosen.core(core.name))]


def test_an_unknown_toolchain_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ToolchainError, match="there is no toolchain 'amiga'") as caught:
        find_toolchain("amiga")
    assert "aarch64-linux-musl" in caught.value.hint
    assert caught.value.exit_code == 22


@pytest.mark.parametrize(
    ("name", "cpu", "flags"),
    [
        ("aarch64-linux-musl", "cortex_a53", ("-mcpu=cortex_a53",)),
        ("aarch64-linux-musl", "Cortex-A53", ("-mcpu=cortex_a53",)),
        ("armv7-linux-musleabihf", "cortex-a53", ("-mcpu=cortex_a53",)),
        ("x86_64-linux-musl", "zen4", ("-mcpu=znver4",)),
        ("aarch64-linux-musl", None, ()),
        ("aarch64-linux-musl", "generic", ()),
        ("aarch64-linux-gnu", "cortex_a53", ("-mcpu=cortex-a53",)),
        ("arm-linux-gnueabihf", "cortex_a7", ("-mcpu=cortex-a7", "-mfpu=auto")),
        ("arm-linux-gnueabihf", None, ("-march=armv7-a", "-mfpu=neon")),
    ],
)
def test_a_core_has_the_spelling_of_the_compiler(
    name: str, cpu: str | None, flags: tuple[str, ...]
) -> None:
    chosen = find_toolchain(name)
    assert chosen.core_options(chosen.core(cpu)) == flags


def test_an_unknown_core_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="unknown core 'z80'") as caught:
        find_toolchain("aarch64-linux-musl").core("z80")
    assert "cortex-a53" in caught.value.hint


def test_a_missing_cross_compiler_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolchainError, match=r"aarch64-linux-gnu-g\S+ is not installed") as caught:
        toolchain.require(find_toolchain("aarch64-linux-gnu"))
    assert caught.value.hint == "sudo apt-get install g++-aarch64-linux-gnu"


def test_without_an_ndk_the_remedy_is_named() -> None:
    with pytest.raises(ToolchainError, match="ANDROID_NDK_HOME is not set") as caught:
        toolchain.require(find_toolchain("android-arm64"))
    assert "developer.android.com" in caught.value.hint
    assert "aarch64-linux-musl" in caught.value.hint


def test_a_folder_without_an_ndk_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANDROID_NDK_HOME", str(tmp_path))
    with pytest.raises(ToolchainError, match=r"android\.toolchain\.cmake") as caught:
        toolchain.require(find_toolchain("android-armv7"))
    assert caught.value.where == str(tmp_path)


@pytest.mark.parametrize(
    ("name", "abi", "arch", "cpu", "flag"),
    [
        ("android-arm64", "arm64-v8a", "aarch64", "cortex_a53", "-mcpu=cortex-a53"),
        ("android-armv7", "armeabi-v7a", "armv7", "cortex_a7", "-mcpu=cortex-a7"),
        ("android-x86_64", "x86_64", "x86_64", "haswell", "-march=haswell"),
    ],
)
def test_the_ndk_gets_its_own_toolchain_file_and_parameters(
    name: str, abi: str, arch: str, cpu: str, flag: str, ndk: Path, tmp_path: Path
) -> None:
    file = toolchain.cmake_file(find_toolchain(name), cpu)
    chosen = settings(file)
    assert chosen["ANDROID_ABI"] == abi
    assert chosen["ANDROID_PLATFORM"] == "android-24"
    assert chosen["TRIMTAB_ARCH"] == arch
    assert chosen["TRIMTAB_NDK"] == str(ndk)
    assert flag in chosen["TRIMTAB_COMPILE_FLAGS"].split()
    # The NDK sets the system itself; a second opinion would make CMake use its own NDK support.
    assert "CMAKE_SYSTEM_NAME" not in file.read_text()
    command = builder.configure_command(tmp_path / "tree", file, "Release", {})
    assert f"-DCMAKE_TOOLCHAIN_FILE={file}" in command
    assert command[command.index("-G") + 1] == "Ninja"


def test_another_host_compiler_is_taken_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("clang-99", "clang++-99"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("CXX", str(tmp_path / "clang++-99"))
    host = find_toolchain("host")
    drivers = (str(tmp_path / "clang-99"), str(tmp_path / "clang++-99"))
    assert toolchain.gcc_drivers(host) == drivers
    assert settings(toolchain.cmake_file(host))["TRIMTAB_CXX"] == drivers[1]
    assert find_toolchain("aarch64-linux-musl").compiler == "zig", "CXX is for this machine only"


def test_a_wrong_host_compiler_says_which_variable_to_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRIMTAB_HOST_CXX", "no-such-c++")
    with pytest.raises(ToolchainError, match=r"no-such-c\+\+ is not installed") as caught:
        toolchain.require(find_toolchain("host"))
    assert "TRIMTAB_HOST_CXX" in caught.value.hint


def test_wrappers_call_zig_itself_with_one_cache_even_in_odd_places(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cache = tmp_path / "it's a cache"
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(cache))
    stand_in = tmp_path / "zig's place" / "zig"
    stand_in.parent.mkdir()
    stand_in.write_text('#!/bin/sh\necho "$ZIG_GLOBAL_CACHE_DIR|$ZIG_LOCAL_CACHE_DIR|$@"\n')
    stand_in.chmod(0o755)
    monkeypatch.setattr(toolchain, "zig_program", lambda: stand_in)
    file = toolchain.cmake_file(find_toolchain("armv7-linux-musleabihf"))
    output = subprocess.run(
        [file.with_name("cc"), "-c", "a b.c"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert output == f"{cache}/zig|{cache}/zig|cc -target thumb-linux-musleabihf -c a b.c"
    assert stat.S_IMODE(file.with_name("ar").stat().st_mode) == 0o755


@pytest.mark.build
def test_a_cache_that_moves_or_has_a_second_path_compiles(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = tmp_path / "sum.cpp"
    for number, place in enumerate(("first", "moved", "link")):
        cache = tmp_path / place
        if place == "moved":
            (tmp_path / "first").rename(cache)
        elif place == "link":
            cache.symlink_to(tmp_path / "moved")
        # Without the second header, clang would not compare the paths of modules.
        headers = "#include <arm_neon.h>\n#include <stdint.h>\n"
        source.write_text(f"{headers}float32x4_t f{number}(float32x4_t x) {{ return x + x; }}\n")
        monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(cache))
        file = toolchain.cmake_file(find_toolchain("aarch64-linux-musl"))
        argv = [str(file.with_name("c++")), "-c", str(source), "-o", str(tmp_path / "sum.o")]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{place}: {done.stderr}"


def test_two_compilers_of_this_machine_have_files_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    zig = toolchain.cmake_file(find_toolchain("host"))
    before = zig.read_text()
    gcc = compiler(tmp_path, "g++", "g++ (Debian 12.2.0-14) 12.2.0")
    monkeypatch.setenv("TRIMTAB_HOST_CXX", str(gcc))
    other = toolchain.cmake_file(find_toolchain("host"))
    assert settings(other)["TRIMTAB_COMPILER"] == "gcc"
    assert zig.read_text() == before


def test_an_upgraded_compiler_in_the_same_place_has_another_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gcc = compiler(tmp_path, "g++", "g++ (Debian 12.2.0-14) 12.2.0")
    monkeypatch.setenv("TRIMTAB_HOST_CXX", str(gcc))
    before = toolchain.cmake_file(find_toolchain("host"))
    assert toolchain.cmake_file(find_toolchain("host")) == before
    compiler(tmp_path, "g++", "g++ (Debian 12.2.0-15) 12.2.0")
    assert toolchain.cmake_file(find_toolchain("host")) != before


def compiler(folder: Path, name: str, version: str) -> Path:
    """A program, and its C counterpart, that answers `--version`."""
    for program in (name, name.replace("g++", "gcc")):
        (folder / program).write_text(f"#!/bin/sh\necho '{version}'\n")
        (folder / program).chmod(0o755)
    return folder / name


def test_the_compile_cache_is_told_by_its_environment_in_odd_places(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """ccache 4.7 takes no settings on its command line, and expands variables in its settings."""
    cache = tmp_path / "the $HOME's cache"
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(cache))
    ccache = tmp_path / "ccache"
    ccache.write_text('#!/bin/sh\neval "echo $CCACHE_DIR \'|\' $CCACHE_BASEDIR"; echo "$@"\n')
    ccache.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name, **_: str(ccache))
    launcher = settings(toolchain.cmake_file(find_toolchain("host")))["CMAKE_CXX_COMPILER_LAUNCHER"]
    done = subprocess.run(
        [launcher, "c++", "-c", "a b.cpp"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [f"{cache}/objects | {tmp_path}", "c++ -c a b.cpp"]


def test_an_unchanged_toolchain_file_keeps_its_time_stamp() -> None:
    host = find_toolchain("host")
    file = toolchain.cmake_file(host)
    os.utime(file, (1, 1))
    assert toolchain.cmake_file(host).stat().st_mtime == 1


GOOD = """
doc = "d"
compiler = "zig"
system = "Linux"
arch = "aarch64"
target = "t"
device = true
[flags]
compile = []
link = []
"""


def read(tmp_path: Path, text: str) -> Toolchain:
    path = tmp_path / "x.toml"
    path.write_text(text)
    return toolchain.read_toolchain(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace('doc = "d"\n', ""), "`doc` is missing"),
        (GOOD.replace('"zig"', '"msvc"'), "`compiler` must be one of zig, gcc, ndk"),
        (GOOD.replace("[flags]", "flavor = 1\n[flags]"), "unknown key `flavor`"),
        (GOOD + "[emulate]\nprogramme = 1\n", "unknown key `emulate.programme`"),
        (GOOD + "[emulate\n", "not a TOML file: Expected"),
    ],
)
def test_a_malformed_toolchain_file_is_refused_by_name(
    tmp_path: Path, text: str, message: str
) -> None:
    read(tmp_path, GOOD)
    with pytest.raises(ToolchainError, match=message) as caught:
        read(tmp_path, text)
    assert caught.value.where == str(tmp_path / "x.toml")
