"""Builds tests/kernels/check_kernels.cpp, which compares every micro-kernel with float64
references, and runs it on this machine and on several cores under QEMU.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests import check_programs
from tests.devices.conftest import require
from tests.some import some
from trimtab import kernels, schema
from trimtab.build import toolchain
from trimtab.profile import find_profile

pytestmark = pytest.mark.build

# Cores with different features, fewest first: kernels whose instructions a core lacks must be
# skipped.
EMULATED = [
    ("aarch64-linux-musl", "cortex-a53"),
    ("aarch64-linux-musl", "cortex-a76"),
    ("aarch64-linux-musl", "max"),
    ("armv7-linux-musleabihf", "cortex-a8"),
]
OTHER_TOOLCHAINS = [
    ("riscv64-linux-musl", "rv64"),
    ("aarch64-linux-gnu", "cortex-a53"),
    ("arm-linux-gnueabihf", "cortex-a15"),
]
# Name suffixes of the kernels whose instructions a core lacks: a Cortex-A53 has neither f16
# arithmetic nor dot products, a Cortex-A76 no int8 matrix multiplication. A Cortex-A8 or A9 has no
# fused multiply-add, and runs all Armv7 kernels.
UNSUPPORTED = {
    "cortex-a53": ("_neonfp16", "_neondot", "_neoni8mm"),
    "cortex-a76": ("_neoni8mm",),
}


def program(name: str) -> Path:
    """The check program of one toolchain, with all kernels."""
    return check_programs.build(name, "check_kernels") / "check_kernels"


def check(command: list[str], isa: str = "") -> dict[str, str]:
    """Runs the program and returns the outcome by kernel; fails if a kernel is wrong."""
    environment = os.environ | {"TRIMTAB_ISA": isa}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=1200, check=False
    )
    lines = done.stdout.splitlines()
    failures = [line for line in lines if "FAILED" in line]
    assert not failures, "\n".join(failures)
    assert done.returncode == 0, f"stopped with {done.returncode} after: {lines[-1:]} {done.stderr}"
    rows = (re.fullmatch(r"(\w+) +[0-9a-f]{8} (ok|skipped):.*", line) for line in lines[:-1])
    return {row[1]: row[2] for row in rows if row}


def kernels_of(arch: str) -> set[str]:
    """Names of the kernels that operators call."""
    return {kernel.name for kernel in find_profile("full").kernels_for(arch)}


def instruments_of(arch: str) -> set[str]:
    """Names of the kernels that measure a machine, which only the host program contains."""
    families = {family for op in schema.operators().values() for family in op.families}
    return {kernel.name for kernel in kernels.instruments(arch, families)}


def emulator(name: str, core: str) -> list[str]:
    """QEMU's command line for a toolchain's programs on `core`."""
    qemu = toolchain.find_toolchain(name).emulator
    assert qemu is not None
    require(qemu.program, qemu.package)
    return [qemu.program, *(["-L", qemu.sysroot] if qemu.sysroot else []), "-cpu", core]


def test_every_kernel_that_this_machine_can_run_agrees_with_float64() -> None:
    outcome = check([str(program("host"))])
    arch = toolchain.find_toolchain("host").arch
    assert set(outcome) == kernels_of(arch) | instruments_of(arch)


@pytest.mark.parametrize("isa", ["portable", "avx2"])
def test_a_forced_instruction_set_hides_the_better_ones(isa: str) -> None:
    outcome = check([str(program("host"))], isa)
    rank = {name: row.rank for name, row in kernels.isas().items()}
    for name, result in some(outcome.items()):
        if rank[kernels.kernel(name).isa] > rank[isa]:
            assert result == "skipped", name


@pytest.mark.parametrize(
    ("name", "core"),
    [*EMULATED, *(pytest.param(*row, marks=pytest.mark.slow) for row in OTHER_TOOLCHAINS)],
)
def test_every_kernel_agrees_with_float64_on_an_emulated_core(
    name: str, core: str, pytestconfig: pytest.Config
) -> None:
    names = kernels_of(toolchain.find_toolchain(name).arch)
    if not pytestconfig.getoption("--full"):
        names -= checked_before(name, core) | checked_here()
    outcome = check([*emulator(name, core), str(program(name)), *sorted(names)])
    assert set(outcome) == names
    unsupported = {n for n in names if n.endswith(UNSUPPORTED.get(core, ()))}
    assert {n for n, result in outcome.items() if result == "skipped"} == unsupported


def checked_here() -> set[str]:
    """Names of the portable kernels, whose code this machine has checked; on other machines they
    take two thirds of the time, most of it for f16 in software.
    """
    return {name for name in kernels_of("x86_64") if kernels.kernel(name).isa == "portable"}


def checked_before(name: str, core: str) -> set[str]:
    """Names of the kernels that an earlier core of EMULATED runs with the same program."""
    cores = [other for used, other in EMULATED if used == name]
    earlier = cores[: cores.index(core)] if core in cores else []
    names = kernels_of(toolchain.find_toolchain(name).arch)
    return {
        kernel for c in earlier for kernel in names if not kernel.endswith(UNSUPPORTED.get(c, ()))
    }
