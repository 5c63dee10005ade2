"""Dispatch: one binary with every kernel uses the supported ones on each core.

Programs are planned for one core and run on another, under QEMU, where a kernel with unsupported
instructions dies with SIGILL. Operator vectors rotate through 1 to 4 threads; each core runs a
subset of them, and `--full` runs all.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest

import trimtab
from tests import check_programs
from tests.devices.conftest import require
from tests.ops import oracle
from tests.ops.cases import all_cases
from tests.ops.cases.case import Array
from trimtab import paths, zoo
from trimtab.bench.runner import Command, output_dims
from trimtab.build import builder, toolchain
from trimtab.program import Program
from trimtab.program.block import NUMPY_DTYPES
from trimtab.target import Target

pytestmark = pytest.mark.build

_EVERY = 41  # the stride through the vectors; prime, so that each core runs every kind
_V8_2 = {"neon", "fp16", "dotprod"}


@dataclass(frozen=True)
class Core:
    """A core by QEMU's name, its documented features, and the targets of the plans it runs."""

    toolchain: str
    name: str
    features: frozenset[str]
    plans: tuple[str, ...]

    @property
    def arch(self) -> str:
        """The architecture of the core's binaries."""
        return toolchain.find_toolchain(self.toolchain).arch

    def emulator(self) -> list[str]:
        """QEMU's command line; without QEMU the test is skipped, or fails under CI."""
        program = {"armv7": "qemu-arm"}.get(self.arch, f"qemu-{self.arch}")
        require(program, "qemu-user")
        return [program, "-cpu", self.name]


def core(toolchain: str, name: str, features: set[str], *plans: str) -> Core:
    return Core(toolchain, name, frozenset(features), plans)


def nightly(core: Core) -> pytest.ParameterSet:
    """A core that `--full` runs alone."""
    return pytest.param(core, marks=pytest.mark.slow)


_ARM8 = ("cortex-a53", "cortex-a55", "cortex-a76")
# A Cortex-A72 and an A9 take the same kernels as the core in front of them.
CORES = [
    core("aarch64-linux-musl", "cortex-a53", {"neon"}, *_ARM8),
    nightly(core("aarch64-linux-musl", "cortex-a72", {"neon"}, *_ARM8)),
    core("aarch64-linux-musl", "cortex-a76", _V8_2, *_ARM8),
    core("aarch64-linux-musl", "max", _V8_2 | {"i8mm"}, *_ARM8),
    core("armv7-linux-musleabihf", "cortex-a7", {"neon", "vfpv4"}, "cortex-a7", "cortex-a9"),
    core("armv7-linux-musleabihf", "cortex-a8", {"neon"}, "cortex-a8", "generic"),
    nightly(core("armv7-linux-musleabihf", "cortex-a9", {"neon"}, "cortex-a7", "cortex-a9")),
    core("host", "Nehalem", set(), "haswell", "skylake-avx512"),
    core("host", "Haswell", {"avx2", "fma"}, "haswell", "skylake-avx512"),
    nightly(core("riscv64-linux-musl", "rv64", set(), "generic")),
]


def runner_of(toolchain: str) -> Path:
    """The runner with every operator and kernel, for any core of the architecture."""
    return check_programs.build(toolchain, "trimtab-run") / "trimtab-run"


def compute(
    command: list[str],
    program: Program,
    inputs: Mapping[str, Array],
    threads: int,
    folder: Path,
) -> tuple[dict[str, Array], set[str]]:
    """The runner's outputs for a planned program, and the CPU features that it detected."""
    program.save(folder / "model.ttm")
    files = []
    for i, name in enumerate(program.inputs):
        files.append(str(folder / f"in{i}.bin"))
        Path(files[-1]).write_bytes(np.asarray(inputs[name], order="C").tobytes())
    launch = Command(
        "", str(folder / "model.ttm"), files, output_dir=str(folder), threads=threads
    ).argv()[1:]
    done = subprocess.run([*command, *launch], capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, f"stopped with {done.returncode}: {done.stderr.decode()[-300:]}"
    events = [json.loads(line) for line in done.stdout.splitlines()]
    dims = output_dims(events)
    outputs = {}
    for i, name in enumerate(program.outputs):
        var = program.vars[name]
        values = np.fromfile(folder / f"out{i}.bin", NUMPY_DTYPES[var.dtype])
        outputs[name] = values.reshape(dims.get(i, var.shape))
    return outputs, set(events[0]["cpu_features"])


@pytest.mark.parametrize("core", CORES, ids=lambda core: f"{core.arch} {core.name}")
def test_a_binary_with_every_kernel_takes_those_that_the_core_can_run(
    core: Core, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    if core.toolchain == "host" and core.arch != "x86_64":
        pytest.skip("this core is one of x86")
    command = [*core.emulator(), str(runner_of(core.toolchain))]
    targets = [Target.of(core.arch, cpu) for cpu in core.plans]
    every = 1 if pytestconfig.getoption("--full") else _EVERY
    wrong = {}
    # Each core starts at another vector, so that together they cover more.
    for i, case in enumerate(all_cases()[len(core.name) % every :: every]):
        threads, target = 1 + i % 4, targets[i // 4 % len(targets)]
        path = tmp_path / "case.onnx"
        path.write_bytes(case.model.SerializeToString())
        try:
            program = trimtab.optimize(trimtab.load(path), target)
            want = oracle.expected(case)
            outputs, features = compute(command, program, case.inputs, threads, tmp_path)
            assert features == core.features
            oracle.assert_agree(case, outputs, want)
        except AssertionError as error:
            wrong[f"{case.id}, {threads} threads, planned for {target.name}"] = str(error)
    assert wrong == {}


@pytest.mark.slow
def test_a_network_runs_on_portable_kernels_where_there_are_no_others(tmp_path: Path) -> None:
    emulator = core("riscv64-linux-musl", "rv64", set()).emulator()
    name = "mobilenet_v3_small"
    path = zoo.write(name, paths.cache() / "zoo")
    program = trimtab.optimize(trimtab.load(path), Target.of("riscv64"))
    build = builder.build(
        builder.BuildRequest(
            profile=trimtab.profile_of(program),
            output_dir=tmp_path / "build",
            toolchain="riscv64-linux-musl",
        )
    )
    inputs = dict(zoo.sample_input(name))
    outputs, features = compute([*emulator, str(build.runner)], program, inputs, 2, tmp_path)
    assert features == set()
    for key, want in oracle.run(onnx.load(path), inputs).items():
        np.testing.assert_allclose(outputs[key], want, rtol=0, atol=1e-4)
