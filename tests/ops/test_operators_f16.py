"""Every operator vector in f16, against onnxruntime in f32 on operands that f16 holds.

Bounds are those of networks in f16: no element off by more than a share of the largest one, and a
cosine. Sums are taken as they stand: Winograd's transforms have an error of their own, which a
single layer of random weights shows (1.5 % of the largest element in F(4,3)). By default every
fifth vector of a family; `--full` takes all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import trimtab
from tests.ops import oracle
from tests.ops.cases import by_family
from tests.ops.cases.case import Array, Case
from trimtab import schema
from trimtab.bench.golden import HALF_COSINE, HALF_TOLERANCE
from trimtab.planner import algorithms, precision
from trimtab.planner.choices import Plan
from trimtab.program import Program

MOST = float(np.finfo(np.float16).max)
HALF = Plan(
    tuple(name for name in algorithms.found() if not name.startswith(("winograd", "strassen"))),
    precision="f16",
)

# Of an algorithm that is left out, or that the planner takes for larger layers only.
UNREACHED = frozenset(("conv_separable", "conv_winograd", "pack_winograd"))


@pytest.fixture(autouse=True)
def _all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Conversions cost nothing, so that even a small operator is worth its f16."""
    monkeypatch.setattr(precision, "_CONVERT", 0)
    monkeypatch.setattr(precision, "_CALL", 0)


def rounded(case: Case) -> Case:
    """The case with operands and constants that f16 holds exactly."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    # Sizes, which no kernel computes with.
    sizes = {name for node in model.graph.node if node.op_type == "Resize" for name in node.input}
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and tensor.name not in sizes:
            tensor.CopyFrom(
                numpy_helper.from_array(_held(numpy_helper.to_array(tensor)), tensor.name)
            )
    inputs = {name: _held(x) if x.dtype == np.float32 else x for name, x in case.inputs.items()}
    return replace(case, model=model, inputs=inputs)


def _held(x: Array) -> Array:
    with np.errstate(over="ignore"):
        return x.astype(np.float16).astype(np.float32)


def halves(program: Program) -> set[str]:
    """The types of operators that give f16."""
    return {
        op.type
        for op in program.ops
        if op.type != "cast" and any(program.vars[name].dtype == "f16" for name in op.outputs)
    }


def assert_near(got: Array, want: Array) -> None:
    """Within the bounds, where f16 has numbers; integers are the same."""
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if want.dtype != np.float32:
        np.testing.assert_array_equal(got, want)
        return
    held = np.isfinite(want) & (np.abs(want) <= MOST)
    a, b = got[held].astype(np.float64), want[held].astype(np.float64)
    assert np.all(np.isfinite(a))
    if a.size:
        largest = max(float(np.abs(b).max()), 2.0**-14)  # below, f16 has fewer bits
        assert np.abs(a - b).max() <= HALF_TOLERANCE * largest
        lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
        assert lengths < 1e-12 or a @ b >= HALF_COSINE * lengths


def planned(case: Case, folder: Path) -> trimtab.Session | None:
    """A session in f16; None where f16 cannot hold a constant of the case."""
    path = folder / "case.onnx"
    path.write_bytes(case.model.SerializeToString())
    if any(np.abs(c).max(initial=0) > MOST for c in _constants(case.model)):
        return None
    return trimtab.Session(trimtab.load(path), plan=HALF)


def _constants(model: onnx.ModelProto) -> Iterator[Array]:
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            yield numpy_helper.to_array(tensor)


@pytest.mark.parametrize("family", by_family())
def test_a_family_of_operators_in_f16_is_near_onnxruntime(
    family: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    wrong = {}
    for given in by_family()[family][:: 1 if pytestconfig.getoption("--full") else 5]:
        case = rounded(given)
        session = planned(case, tmp_path)
        if session is None or not halves(session.program):
            continue  # in f32, which test_operators.py covers
        try:
            wanted = oracle.expected(case)
            outputs = session.run(case.inputs)
            assert list(outputs) == list(wanted)
            for name, want in wanted.items():
                assert_near(outputs[name], want)
        except AssertionError as error:
            wrong[case.id] = str(error)
    assert wrong == {}


@pytest.mark.slow
def test_every_operator_with_an_f16_class_has_a_vector_that_reaches_it(tmp_path: Path) -> None:
    found: set[str] = set()
    for cases in by_family().values():
        for case in cases:
            session = planned(rounded(case), tmp_path)
            found |= halves(session.program) if session else set()
    typed = {op.name for op in schema.operators().values() if op.typed and "f16" in op.dtypes}
    assert typed - found == UNREACHED & typed
