"""Every micro-kernel against float64, on this machine and under QEMU with several cores.

The checks themselves are tests/kernels/check_kernels.cpp; here it is built and run.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests import check_programs
from tests.devices.conftest import require
from trimtab import kernels, schema
from trimtab.build import toolchain
from trimtab.profile import find_profile

pytestmark = pytest.mark.build

# Cores with differing features, those with fewer first: kernels whose instructions a core lacks
# must be skipped, not run.
EMULATED = [
    ("aarch64-linux-musl", "cortex-a53"),
    ("aarch64-linux-musl", "cortex-a76"),
    ("aarch64-linux-musl", "max"),
    ("armv7-linux-musleabihf", "cortex-a9"),
    ("armv7-linux-musleabihf", "cortex-a7"),
]
OTHER_TOOLCHAINS = [
    ("riscv64-linux-musl", "rv64"),
    ("aarch64-linux-gnu", "cortex-a53"),
    ("arm-linux-gnueabihf", "cortex-a15"),
]
# The kernels, by the end of their name, whose instructions a core lacks: a Cortex-A9 has NEON
# without the fused multiply-add that our Armv7 kernels use, a Cortex-A53 neither arithmetic in f16
# nor dot products, a Cortex-A76 no products of matrices.
LACKS = {
    "cortex-a9": ("_neonv7",),
    "cortex-a53": ("_neonfp16", "_neondot", "_neoni8mm"),
    "cortex-a76": ("_neoni8mm",),
}


def program(name: str) -> Path:
    """The check program of one toolchain, with all kernels."""
    return check_programs.build(name, "check_kernels") / "check_kernels"


def check(command: list[str], isa: str = "") -> dict[str, str]:
    """Runs the program; the outcome of every kernel by its name. Fails when one is wrong."""
    environment = os.environ | {"TRIMTAB_ISA": isa}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=1200, check=False
    )
    lines = done.stdout.splitlines()
    wrong = [line for line in lines if "FAILED" in line]
    assert not wrong, "\n".join(wrong)
    assert done.returncode == 0, f"stopped with {done.returncode} after: {lines[-1:]} {done.stderr}"
    rows = (re.fullmatch(r"(\w+) +[0-9a-f]{8} (ok|skipped):.*", line) for line in lines[:-1])
    return {row[1]: row[2] for row in rows if row}


def kernels_of(arch: str) -> set[str]:
    """The kernels that operators call."""
    return {kernel.name for kernel in find_profile("full").kernels_for(arch)}


def instruments_of(arch: str) -> set[str]:
    """The kernels that measure a machine: only the program for this one holds them."""
    families = {family for op in schema.operators().values() for family in op.families}
    return {kernel.name for kernel in kernels.instruments(arch, families)}


def emulator(name: str, core: str) -> list[str]:
    """The command line of QEMU for a toolchain's programs."""
    found = toolchain.find_toolchain(name).emulator
    assert found is not None
    require(found.program, found.package)
    return [found.program, *(["-L", found.sysroot] if found.sysroot else []), "-cpu", core]


def test_every_kernel_that_this_machine_can_run_agrees_with_float64() -> None:
    outcome = check([str(program("host"))])
    arch = toolchain.find_toolchain("host").arch
    assert set(outcome) == kernels_of(arch) | instruments_of(arch)


@pytest.mark.parametrize("isa", ["portable", "avx2"])
def test_a_forced_instruction_set_hides_the_better_ones(isa: str) -> None:
    outcome = check([str(program("host"))], isa)
    rank = {name: row.rank for name, row in kernels.isas().items()}
    for name, result in outcome.items():
        if rank[kernels.kernel(name).isa] > rank[isa]:
            assert result == "skipped", name


@pytest.mark.parametrize(
    ("name", "core"),
    [*EMULATED, *(pytest.param(*row, marks=pytest.mark.slow) for row in OTHER_TOOLCHAINS)],
)
def test_every_kernel_agrees_with_float64_on_an_emulated_core(
    name: str, core: str, pytestconfig: pytest.Config
) -> None:
    kept = kernels_of(toolchain.find_toolchain(name).arch)
    chosen = kept if pytestconfig.getoption("--full") else kept - checked_before(name, core)
    outcome = check([*emulator(name, core), str(program(name)), *sorted(chosen)])
    assert set(outcome) == chosen
    lacking = {n for n in chosen if n.endswith(LACKS.get(core, ()))}
    assert {n for n, result in outcome.items() if result == "skipped"} == lacking


def checked_before(name: str, core: str) -> set[str]:
    """The kernels that an earlier core of EMULATED runs, with the same program."""
    cores = [other for used, other in EMULATED if used == name]
    earlier = cores[: cores.index(core)] if core in cores else []
    kept = kernels_of(toolchain.find_toolchain(name).arch)
    return {kernel for c in earlier for kernel in kept if not kernel.endswith(LACKS.get(c, ()))}
