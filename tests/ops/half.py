"""Operator vectors in f16: their operands and the bounds of their errors."""

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
from tests.ops.cases.case import Array, Case
from trimtab.bench.golden import HALF_COSINE, HALF_TOLERANCE
from trimtab.planner import algorithms, precision
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.target import Target

_SUMS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
MOST = float(np.finfo(np.float16).max)
HALF = Plan(
    tuple(name for name in algorithms.registry() if not name.startswith(("winograd", "strassen"))),
    precision="f16",
)


def convert_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the cost of conversions to zero, so that the planner computes small operators in f16."""
    monkeypatch.setattr(precision, "CONVERT", 0)
    monkeypatch.setattr(precision, "CALL", 0)


def rounded(case: Case) -> Case:
    """The case with operands and constants rounded to f16."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    # Sizes, which no kernel computes with.
    sizes = {name for node in model.graph.node if node.op_type == "Resize" for name in node.input}
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and tensor.name not in sizes:
            tensor.CopyFrom(
                numpy_helper.from_array(_representable(numpy_helper.to_array(tensor)), tensor.name)
            )
    inputs = {
        name: _representable(x) if x.dtype == np.float32 else x for name, x in case.inputs.items()
    }
    return replace(case, source=model, inputs=inputs)


def _representable(x: Array) -> Array:
    with np.errstate(over="ignore"):
        return x.astype(np.float16).astype(np.float32)


def halves(program: Program) -> set[str]:
    """The types of the operators with f16 outputs."""
    return {
        op.type
        for op in program.ops
        if op.type != "cast" and any(program.vars[name].dtype == "f16" for name in op.outputs)
    }


def largest_sum(case: Case) -> float:
    """The largest magnitude of a convolution or GEMM of the case, before its activation.

    The error of cores that accumulate in f16 is proportional to it, even if a clip follows.
    """
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    sums = [node.output[0] for node in model.graph.node if node.op_type in _SUMS]
    del model.graph.output[:]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in sums)
    result = oracle.run(model, case.inputs).values() if sums else ()
    return max((float(np.abs(x[np.isfinite(x)]).max(initial=0)) for x in result), default=0.0)


def assert_near(actual: Array, want: Array, added_up: float = 0.0) -> None:
    """Asserts that results lie within the f16 bounds, and that integers are equal.

    `added_up`: the largest intermediate sum; two f16 ulps of it are added to the bound.
    """
    assert (actual.dtype, actual.shape) == (want.dtype, want.shape)
    if want.dtype != np.float32:
        np.testing.assert_array_equal(actual, want)
        return
    finite = np.isfinite(want) & (np.abs(want) <= MOST)
    a, b = actual[finite].astype(np.float64), want[finite].astype(np.float64)
    assert np.all(np.isfinite(a))
    if a.size:
        largest = max(float(np.abs(b).max()), 2.0**-14)  # below, f16 has fewer bits
        units = 2 * float(np.spacing(np.float16(min(added_up, MOST)))) if added_up else 0.0
        assert np.abs(a - b).max() <= HALF_TOLERANCE * largest + units
        lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
        assert lengths < 1e-12 or a @ b >= HALF_COSINE * lengths


def planned(case: Case, folder: Path, target: Target) -> Program | None:
    """The program planned in f16; None if a constant of the case is out of f16's range."""
    path = folder / "case.onnx"
    path.write_bytes(case.model.SerializeToString())
    if any(np.abs(c).max(initial=0) > MOST for c in _constants(case.model)):
        return None
    return trimtab.optimize(trimtab.load(path), target, HALF)


def _constants(model: onnx.ModelProto) -> Iterator[Array]:
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            yield numpy_helper.to_array(tensor)
