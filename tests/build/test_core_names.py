"""The names of cores in compilers, QEMU and LLVM, as `cores/` states them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.devices.conftest import require
from trimtab import cores, paths
from trimtab.build import toolchain
from trimtab.cores import Core

pytestmark = pytest.mark.build

ZIG = {
    "aarch64": "aarch64-linux-musl",
    "armv7": "thumb-linux-musleabihf",
    "x86_64": "x86_64-linux-musl",
}
GCC = {
    "aarch64": "aarch64-linux-gnu-g++",
    "armv7": "arm-linux-gnueabihf-g++",
    "x86_64": "x86_64-linux-gnu-g++",
}
# GCC's release notes; none up to 15 knows Carmel.
SINCE = {
    "zen4": 13,
    "zen5": 14,
    "graniterapids": 13,
    "neoverse-v2": 13,
    "carmel": 99,
    **dict.fromkeys(("cortex-a520", "cortex-a720", "cortex-x3", "cortex-x4"), 14),
    **dict.fromkeys(("cortex-a725", "cortex-x925", "neoverse-n3", "neoverse-v3"), 15),
    **dict.fromkeys(("apple-m1", "apple-m2", "apple-m3"), 15),
    **dict.fromkeys(("apple-m4", "c1-nano", "c1-premium", "c1-pro", "c1-ultra"), 16),
}
NAMED = [core for core in cores.all_cores() if not core.is_generic]
PAIRS = [(core, arch) for core in NAMED for arch in core.features]

# The macro that a compiler defines for each feature: Arm C Language Extensions; GCC's manual.
MACROS = {
    "aarch64": {
        "neon": "__ARM_NEON",
        "fp16": "__ARM_FEATURE_FP16_VECTOR_ARITHMETIC",
        "dotprod": "__ARM_FEATURE_DOTPROD",
        "i8mm": "__ARM_FEATURE_MATMUL_INT8",
    },
    "armv7": {"neon": "__ARM_NEON", "vfpv4": "__ARM_FEATURE_FMA"},
    "x86_64": {
        "avx2": "__AVX2__",
        "fma": "__FMA__",
        "avx512f": "__AVX512F__",
        "avx512vl": "__AVX512VL__",
        "avx512dq": "__AVX512DQ__",
        "avx512bw": "__AVX512BW__",
        "avx512vbmi": "__AVX512VBMI__",
        "avx512vnni": "__AVX512VNNI__",
    },
}


def label(value: object) -> str:
    return value.name if isinstance(value, Core) else str(value)


def output(command: list[str], text: str = "", code: int = 0) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def known(command: list[str]) -> set[str]:
    """The words of a program's list of cores, after which it ends with an error."""
    return set(output(command, code=1).split())


@pytest.mark.parametrize(("core", "arch"), PAIRS, ids=label)
def test_zig_compiles_for_the_core_with_exactly_its_features(
    core: Core, arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"):
        monkeypatch.setenv(name, str(paths.zig_cache()))
    command = [str(toolchain.zig_program()), "c++", "-target", ZIG[arch]]
    command += [f"-mcpu={core.compiler_name('zig')}", "-E", "-dM", "-x", "c++", "/dev/null"]
    macros = set(re.findall(r"#define (\w+)", output(command)))
    assert core.features[arch] == {name for name, m in MACROS[arch].items() if m in macros}


@pytest.mark.parametrize(("core", "arch"), [pair for pair in PAIRS if pair[1] in GCC], ids=label)
def test_gcc_compiles_for_the_core(core: Core, arch: str, tmp_path: Path) -> None:
    gcc = require(GCC[arch], f"g++-{GCC[arch].removesuffix('-g++')}")
    name = core.compiler_name("gcc")
    if int(output([gcc, "-dumpversion"]).split(".")[0]) < SINCE.get(core.name, 0):
        pytest.skip(f"GCC knows {core.name} from version {SINCE[core.name]} on")
    flag = f"-march={name}" if arch == "x86_64" else f"-mcpu={name}"
    output([gcc, flag, "-c", "-x", "c++", "/dev/null", "-o", str(tmp_path / "nothing.o")])


@pytest.mark.parametrize("core", [core for core in NAMED if core.qemu], ids=label)
def test_qemu_has_the_model(core: Core) -> None:
    machine = {"armv7": "arm"}.get(arch := next(iter(core.features)), arch)
    assert core.qemu in known([require(f"qemu-{machine}", "qemu-user"), "-cpu", "help"])


@pytest.mark.parametrize("core", [core for core in NAMED if core.llvm_mca], ids=label)
def test_llvm_models_the_core(core: Core) -> None:
    assert core.llvm_mca is not None
    arch = next(iter(core.features))
    add = "add r0, r0, r1\n" if arch == "armv7" else "nop\n"
    command = [require("llvm-mca-19", "llvm-19"), f"-mtriple={arch}", "-iterations=1"]
    assert "Dispatch Width" in output([*command, f"-mcpu={core.llvm_mca.model}"], add)
    assert core.llvm_mca.model in known([*command, "-mcpu=help"])
