"""The example operator in a shared library, loaded by the runner and by C programs that CMake and
pkg-config link with libtrimtab.so, on this machine and on an emulated aarch64. numpy is the oracle.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.devices.conftest import require
from tests.plugins.libraries import EXAMPLE, compiled
from tests.plugins.test_examples import inv
from tests.some import some
from trimtab.build import cmake_runner, toolchain

pytestmark = pytest.mark.build

PLACES = ["host", pytest.param("aarch64-linux-gnu", marks=[pytest.mark.slow, pytest.mark.device])]
STATIC = "x86_64-linux-musl"
MISSING_OP, BAD_PLUGIN, STATIC_BINARY = 4, 10, 11


@dataclass(frozen=True)
class Built:
    """One machine: how its programs are run, its C compiler, its plug-in and its build."""

    run: tuple[str, ...]
    cc: str
    library: Path
    output: Path
    image: NDArray[np.float32]

    def called(self, *argv: str | Path, **more: object) -> subprocess.CompletedProcess[bytes]:
        words = [*self.run, *map(str, argv)]
        return subprocess.run(words, capture_output=True, check=False, **more)  # type: ignore[call-overload,no-any-return]

    @property
    def expected(self) -> NDArray[np.float32]:
        result: NDArray[np.float32] = np.maximum(self.image - np.float32(0.75), 0)
        return result


def done(*argv: str | Path, **environment: Path) -> str:
    """The output of a program that must succeed."""
    words = [str(word) for word in argv]
    more = {key: str(value) for key, value in environment.items()}
    ran = subprocess.run(words, env=os.environ | more, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def build(folder: Path, name: str, *options: str) -> Path:
    """Builds the example's network with the host's library to tell shapes."""
    here = compiled(EXAMPLE / "soft_threshold.c", folder / "libhere.so")
    words = ["--plugin", str(EXAMPLE), "--plugin", str(here), "build", "--toolchain", name]
    model = str(EXAMPLE / "tests" / "net.prototxt")
    created = inv(*words, "--model", model, "--output", f"out-{name}", *options, cwd=folder)
    assert created.returncode == 0, created.stderr
    return folder / f"out-{name}"


@pytest.fixture(scope="module", params=PLACES)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("run_time")
    chosen = toolchain.find_toolchain(request.param)
    run: tuple[str, ...] = ()
    require("make", "make")
    require(cc := "cc", "gcc")
    if chosen.emulator:
        require(cc := f"{chosen.target}-gcc", chosen.needs)
        require(chosen.emulator.program, chosen.emulator.package)
        run = (chosen.emulator.program, "-L", chosen.emulator.sysroot)
    output = build(folder, request.param, "--shared")
    # The example's own Makefile, as its README says.
    done("make", "-C", EXAMPLE, f"CC={cc}", f"TRIMTAB={output}", f"BUILD={folder}")
    image = np.random.default_rng(3).normal(size=(1, 3, 7, 5)).astype(np.float32)
    image.tofile(folder / "x.bin")
    return Built(run, cc, folder / "libsoft_threshold.so", output, image)


def test_the_runner_loads_it(built: Built, tmp_path: Path) -> None:
    image = tmp_path / "x.bin"
    built.image.tofile(image)
    argv = (built.output / "trimtab-run", built.output / "net.ttm", "--input", image)
    ran = built.called(*argv, "--plugin", built.library, "--output-dir", tmp_path)
    assert ran.returncode == 0, ran.stdout
    actual = np.fromfile(tmp_path / "out0.bin", np.float32).reshape(built.expected.shape)
    np.testing.assert_allclose(actual, built.expected, rtol=1e-6, atol=1e-7)
    assert built.called(*argv).returncode == MISSING_OP
    twice = built.called(*argv, "--plugin", built.library, "--plugin", built.library)
    messages = json.loads(twice.stdout.splitlines()[-1])
    assert twice.returncode == messages["code"] == BAD_PLUGIN
    assert messages["message"].count(str(built.library)) == 2


def programs(built: Built, folder: Path) -> dict[str, Path]:
    """tests/host.c, compiled in a project of CMake and with what pkg-config says."""
    source = EXAMPLE / "tests"
    options = [f"-DCMAKE_PREFIX_PATH={built.output}", f"-DCMAKE_C_COMPILER={built.cc}"]
    if built.run:
        options += ["-DCMAKE_SYSTEM_NAME=Linux"]
    tree = folder / "tree"
    done(cmake_runner.cmake(), "-S", source, "-B", tree, *options)
    done(cmake_runner.cmake(), "--build", tree)
    require("pkg-config", "pkgconf")
    package = built.output / "lib" / "pkgconfig"
    flags = done("pkg-config", "--cflags", "--libs", "trimtab", PKG_CONFIG_PATH=package).split()
    path = f"-Wl,-rpath,{built.output / 'lib'}"
    done(built.cc, source / "host.c", "-o", folder / "host", *flags, path)
    return {"cmake": tree / "host", "pkg-config": folder / "host"}


def test_c_programs_find_the_shared_library_and_load_it(built: Built, tmp_path: Path) -> None:
    for way, program in some(programs(built, tmp_path).items()):
        argv = (program, built.library, built.output / "net.ttm")
        ran = built.called(*argv, input=built.image.tobytes())
        assert ran.returncode == 0, (way, ran.stderr)
        actual = np.frombuffer(ran.stdout, np.float32).reshape(built.expected.shape)
        np.testing.assert_allclose(actual, built.expected, rtol=1e-6, atol=1e-7)
        refused = built.called(program, "missing.so", built.output / "net.ttm")
        assert refused.returncode == 1
        assert b"missing.so" in refused.stderr


def test_the_shared_library_exports_only_its_api(built: Built) -> None:
    library = built.output / "lib" / "libtrimtab.so"
    listed = done("nm", "-D", "--defined-only", library).splitlines()
    shown = {line.split()[2].partition("@")[0] for line in listed if " A " not in line}
    header = (built.output / "include" / "trimtab.h").read_text()
    assert shown == {name for name in shown if f"{name}(" in header}
    assert {"trimtab_open_file", "trimtab_load_plugin", "trimtab_register_operator"} <= shown
    dynamic = done("readelf", "-d", library)
    assert "Library soname: [libtrimtab.so.0]" in dynamic
    assert "libstdc++" not in dynamic


@pytest.mark.slow
def test_a_static_runner_refuses_with_the_reason(tmp_path: Path) -> None:
    output = build(tmp_path, STATIC)
    argv = [str(output / "trimtab-run"), str(output / "net.ttm"), "--plugin", "libany.so"]
    refused = subprocess.run(argv, capture_output=True, text=True, check=False)
    messages = json.loads(refused.stdout.splitlines()[-1])
    assert refused.returncode == messages["code"] == STATIC_BINARY
    assert "a static binary cannot load plug-ins" in messages["message"]
    shared = inv("build", "--shared", "--profile", "full", "--toolchain", STATIC, cwd=tmp_path)
    assert shared.returncode == 2
    assert "static" in shared.stderr
