"""Each supported PNNX operator against recorded results of PyTorch."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers.pnnx_cases import Case, cases
from tests.importers.pnnx_torch import RESULTS, compute
from tests.importers.pnnx_writer import input_line, line, output_line, write
from tests.ops.cases.case import Array
from tests.some import some

TOLERANCE = 3e-6  # relative to the largest value


@cache
def _results() -> dict[str, Array]:
    with np.load(RESULTS) as file:
        return {name: file[name] for name in file.files}


def write_case(case: Case, folder: Path) -> Path:
    """The files of a network of this operator alone."""
    names = [f"x{i}" for i in range(len(case.shapes))]
    constants = [f"c{i}" for i in range(len(case.constants))]
    results = " ".join(f"y{i}" for i in range(case.tops))
    lines = [input_line(f"in_{n}", n, s) for n, s in zip(names, case.shapes, strict=True)]
    weights = {f"op.{name}": value for name, value in case.weights.items()}
    for name, value in zip(constants, case.constants.values(), strict=True):
        lines.append(line("pnnx.Attribute", name, "", name, weights={"data": value}))
        weights[f"{name}.data"] = value
    operands = [*names, *constants]
    keys = dict(zip(case.keys, operands, strict=True)) if case.keys else {}
    lines.append(
        line(case.type, "op", " ".join(operands), results, case.params, keys, case.weights)
    )
    return write(folder, [*lines, output_line("out", results)], weights)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_an_operator_computes_what_pytorch_computes(case: Case, tmp_path: Path) -> None:
    program = trimtab.load(write_case(case, tmp_path))
    inputs = dict(zip(program.inputs, case.inputs, strict=True))
    actual = list(trimtab.Session(program).run(inputs).values())
    expected_values = [_results()[f"{case.name}:{i}"] for i in range(case.tops)]
    for result, expected in some(zip(actual, expected_values, strict=True)):
        # A scalar of PyTorch is a vector of one element here.
        assert result.shape == (expected.shape or (1,))
        scale = max(float(abs(expected).max()), 1.0)
        np.testing.assert_allclose(result, expected, 0, TOLERANCE * scale)


def test_the_recorded_results_are_what_pytorch_computes_now() -> None:
    pytest.importorskip("torch", reason="PyTorch is the oracle; its results are recorded")
    for case in some(cases()):
        for i, value in some(enumerate(compute(case))):
            recorded = _results()[f"{case.name}:{i}"]
            np.testing.assert_allclose(value, recorded, 1e-5, 1e-5)
