"""A build with the Android NDK."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.build import samples
from trimtab.build import toolchain

pytestmark = pytest.mark.build


def test_an_ndk_is_driven_through_its_own_toolchain_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for the NDK: a toolchain file of the same interface, with zig behind it."""
    zig = toolchain.cmake_file(toolchain.find_toolchain("aarch64-linux-musl")).parent
    # With the flags that the C library of aarch64-linux-musl is compiled with.
    once = "-Os -g -fno-unwind-tables -fno-asynchronous-unwind-tables"
    for driver in ("cc", "c++"):
        script = tmp_path / driver
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(str(zig / driver))} {once} "$@"\n')
        script.chmod(0o755)
    file = tmp_path / "ndk/build/cmake/android.toolchain.cmake"
    file.parent.mkdir(parents=True)
    file.write_text(
        'if(NOT "${ANDROID_ABI} ${ANDROID_PLATFORM} ${ANDROID_STL}" STREQUAL '
        '"arm64-v8a android-24 c++_static")\nmessage(FATAL_ERROR "wrong parameters")\nendif()\n'
        "set(CMAKE_SYSTEM_NAME Linux)\nset(CMAKE_SYSTEM_PROCESSOR aarch64)\n"
        f'set(CMAKE_C_COMPILER "{tmp_path}/cc")\nset(CMAKE_CXX_COMPILER "{tmp_path}/c++")\n'
        f'set(CMAKE_CXX_COMPILER_AR "{zig}/ar" CACHE FILEPATH "")\n'
        f'set(CMAKE_AR "{zig}/ar" CACHE FILEPATH "")\n'
        f'set(CMAKE_RANLIB "{zig}/ranlib" CACHE FILEPATH "")\n'
        "set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)\n"
        "set(CMAKE_C_COMPILER_ID_FLAGS_ALWAYS -c)\nset(CMAKE_CXX_COMPILER_ID_FLAGS_ALWAYS -c)\n"
    )
    monkeypatch.setenv("ANDROID_NDK_HOME", str(tmp_path / "ndk"))
    delivery = samples.tiny(tmp_path, "android-arm64")
    assert delivery.record["toolchain"] == "android-arm64"
    assert "-unroll-runtime=false" in delivery.record["flags"]["compile"]
    assert "-nostdlib++" in delivery.record["flags"]["link"]
