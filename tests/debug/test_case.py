"""Cases: a folder holds one operator, its operands and its right results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.debug.networks import small
from trimtab import passes
from trimtab.debug import regions
from trimtab.debug.case import SavedCase
from trimtab.errors import DivergingOperatorError, ModelFileError
from trimtab.pipeline.recipe import Recipe
from trimtab.planner.plan_file import Choice, Plan


def saved(folder: Path, cpu: str = "zen4") -> SavedCase:
    """A case of the pooling of the small network, with a plan of that and of another operator."""
    program = passes.optimize(small())
    pool = next(op for op in program.ops if op.type == "max_pool")
    x = np.random.default_rng(1).standard_normal((1, 32, 7, 6)).astype(np.float32)
    part = regions.region(program, {*pool.inputs}, pool.outputs)
    plan = Plan(operators={pool.name: Choice(), "another": Choice()})
    right = [np.zeros((1, 32, 4, 3), np.float32)]
    case = SavedCase.of(part, {pool.inputs[0]: x}, right, plan, Recipe(cpu=cpu), "max_pool m")
    case.write(folder)
    return case


def test_a_case_is_read_as_it_was_written(tmp_path: Path) -> None:
    case, again = saved(tmp_path / "case"), SavedCase.read(tmp_path / "case")
    for own, other in zip(
        [*case.inputs, *case.expected], [*again.inputs, *again.expected], strict=True
    ):
        np.testing.assert_array_equal(own, other)
    facts = again.operator, again.device, again.toolchain, again.cpu, again.threads
    assert facts == ("max_pool m", "local", "host", "zen4", 1)
    assert [op.type for op in again.part.ops] == [op.type for op in case.part.ops]
    assert "another" not in again.plan.operators


def repeat(folder: Path) -> subprocess.CompletedProcess[str]:
    """`./inv test --case`, which finds the engine as the tests have built it."""
    argv = [sys.executable, "-P", "-m", "lab", "test", "--device=local", f"--case={folder}"]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=600)


def test_a_folder_that_is_no_case_is_refused(tmp_path: Path) -> None:
    done = repeat(tmp_path)
    assert done.returncode == ModelFileError.exit_code
    assert "it is not a case of an operator" in done.stderr


@pytest.mark.build
def test_the_task_of_tests_repeats_a_case_on_a_device(tmp_path: Path) -> None:
    saved(tmp_path / "case", cpu="")
    done = repeat(tmp_path / "case")  # zeros are expected
    assert done.returncode == DivergingOperatorError.exit_code
    assert "max_pool m on local" in done.stderr
    assert "the kernels of its plan: element" in done.stdout


def test_a_case_whose_arrays_do_not_fit_is_refused(tmp_path: Path) -> None:
    saved(tmp_path / "case")
    np.savez(tmp_path / "case" / "inputs.npz", a000=np.zeros(3, np.float32))
    with pytest.raises(ModelFileError, match="arrays do not fit"):
        SavedCase.read(tmp_path / "case")
