"""Operator vectors in f16 and int8 on several cores, under QEMU, and on this machine.

One binary with every kernel uses the supported ones on each core, as in test_dispatch.py; programs
are planned for several cores. f16 is compared with onnxruntime in f32, within the bounds of f16;
int8 with onnxruntime on the same QDQ file. Each core runs a few vectors; `--full` runs all.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.ops import half, oracle, qdq
from tests.ops.cases import all_cases
from tests.ops.cases.case import Array, Case
from tests.ops.test_dispatch import Core, compute, core, runner_of
from tests.ops.test_quantized import WITH_SUMS, real_sums
from tests.some import some
from trimtab.program import Program
from trimtab.target import Target

pytestmark = pytest.mark.build

_EVERY = 89  # the stride through the vectors; prime, so that each core runs every kind
_V8_2 = {"neon", "fp16", "dotprod"}
_ARM8 = ("cortex-a53", "cortex-a55", "cortex-a76")

INTEGERS = [
    core("aarch64-linux-musl", "cortex-a53", {"neon"}, *_ARM8),
    core("aarch64-linux-musl", "cortex-a76", _V8_2, *_ARM8),
    core("aarch64-linux-musl", "max", _V8_2 | {"i8mm"}, *_ARM8, "neoverse-v1"),
    core("armv7-linux-musleabihf", "cortex-a7", {"neon", "vfpv4"}, "cortex-a7", "cortex-a9"),
    core("armv7-linux-musleabihf", "cortex-a8", {"neon"}, "cortex-a8"),
    core("host", "Haswell", {"avx2", "fma"}, "haswell", "zen4"),
]
# Targets of f16 plans. On a core without f16 arithmetic other kernels replace the planned ones. No
# Armv7 core has it.
HALVES = [
    core("aarch64-linux-musl", "cortex-a53", {"neon"}, "cortex-a55", "cortex-a76"),
    core("aarch64-linux-musl", "cortex-a76", _V8_2, "cortex-a55", "cortex-a76"),
    core("aarch64-linux-musl", "max", _V8_2 | {"i8mm"}, "cortex-a55", "cortex-a76"),
    core("host", "Haswell", {"avx2", "fma"}, "haswell"),
]


@cache
def _vector(index: int, folder: Path) -> Case | None:
    """A vector in int8; several cores run the same one."""
    return qdq.quantized(all_cases()[index], folder)


@cache
def _expected(index: int, folder: Path) -> dict[str, Array]:
    case = _vector(index, folder)
    assert case
    return oracle.expected(case)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all tests."""
    return tmp_path_factory.mktemp("vectors")


def _some(name: str, config: pytest.Config) -> Iterator[tuple[int, int]]:
    """(vector, thread count) pairs; each core starts at another vector."""
    every = 1 if config.getoption("--full") else _EVERY
    yield from enumerate(range(len(name) % every, len(all_cases()), every))


def _planned(case: Case, target: Target, folder: Path) -> Program:
    path = folder / "case.onnx"
    path.write_bytes(case.model.SerializeToString())
    return trimtab.optimize(trimtab.load(path), target)


def _is_elsewhere(core: Core) -> bool:
    return core.toolchain == "host" and core.arch != "x86_64"


@pytest.mark.parametrize("core", INTEGERS, ids=lambda core: f"{core.arch} {core.name}")
def test_int8_vectors_equal_onnxruntime_on_every_core(
    core: Core, shared: Path, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    if _is_elsewhere(core):
        pytest.skip("this core is one of x86")
    command = [*core.emulator(), str(runner_of(core.toolchain))]
    targets = [Target.of(core.arch, cpu) for cpu in core.plans]
    wrong, count = {}, 0
    for turn, index in _some(core.name, pytestconfig):
        case = _vector(index, shared)
        if case is None:
            continue
        threads, target = 1 + turn % 4, targets[count % len(targets)]
        count += 1
        try:
            program = _planned(case, target, tmp_path)
            want = _expected(index, shared)
            outputs, features = compute(command, program, case.inputs, threads, tmp_path)
            assert features == core.features
            qdq.assert_near(case, outputs, want)
        except AssertionError as error:
            wrong[f"{case.id}, {threads} threads, planned for {target.name}"] = str(error)
    assert wrong == {}
    assert count > 1


@pytest.mark.parametrize("core", INTEGERS, ids=lambda core: f"{core.arch} {core.name}")
def test_float32_outputs_of_int8_operators_are_exact_on_every_core(
    core: Core, tmp_path: Path
) -> None:
    if _is_elsewhere(core):
        pytest.skip("this core is one of x86")
    command = [*core.emulator(), str(runner_of(core.toolchain))]
    for turn, name in some(enumerate(WITH_SUMS)):
        model, feeds, want = real_sums(name, per_channel=turn % 2 == 0)
        target = Target.of(core.arch, core.plans[turn % len(core.plans)])
        program = trimtab.optimize(trimtab.load(model), target)
        outputs, _ = compute(command, program, feeds, 1 + turn % 4, tmp_path)
        (actual,) = outputs.values()
        np.testing.assert_array_equal(actual, want, f"{name}, planned for {target.name}")


@pytest.mark.parametrize("isa", ["avx2", "avx512vnni"])
def test_int8_vectors_equal_onnxruntime_on_this_machine(
    isa: str,
    shared: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pytestconfig: pytest.Config,
) -> None:
    if isa not in Target.host().isas:
        pytest.skip(f"this machine lacks {isa}, which QEMU does not emulate")
    monkeypatch.setenv("TRIMTAB_ISA", isa)
    wrong, count = {}, 0
    for turn, index in _some(isa, pytestconfig):
        case = _vector(index, shared)
        if case is None:
            continue
        count += 1
        try:
            program = _planned(case, Target.host(), tmp_path)
            outputs = trimtab.Session(program, 1 + turn % 4).run(case.inputs)
            qdq.assert_near(case, outputs, _expected(index, shared))
        except AssertionError as error:
            wrong[case.id] = str(error)
    assert wrong == {}
    assert count > 1


@pytest.mark.parametrize("core", HALVES, ids=lambda core: f"{core.arch} {core.name}")
def test_f16_vectors_are_near_onnxruntime_on_every_core(
    core: Core, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    if _is_elsewhere(core):
        pytest.skip("this core is one of x86")
    half.convert_for_nothing(monkeypatch)
    command = [*core.emulator(), str(runner_of(core.toolchain))]
    targets = [Target.of(core.arch, cpu) for cpu in core.plans]
    wrong, count = {}, 0
    for turn, index in _some(core.name, pytestconfig):
        case = half.rounded(all_cases()[index])
        threads, target = 1 + turn % 4, targets[count % len(targets)]
        program = half.planned(case, tmp_path, target)
        if program is None or not half.halves(program):
            continue
        count += 1
        try:
            expected = oracle.expected(case)
            outputs, features = compute(command, program, case.inputs, threads, tmp_path)
            assert features == core.features
            added_up = half.largest_sum(case)
            for name, want in expected.items():
                half.assert_near(outputs[name], want, added_up)
        except AssertionError as error:
            wrong[f"{case.id}, {threads} threads, planned for {target.name}"] = str(error)
    assert wrong == {}
    assert count > 1
