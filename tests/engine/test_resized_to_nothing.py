"""Inputs that are resized to no elements: results agree with onnxruntime's, or the size is refused,
and the model then computes what it did before.

Typical errors are divisions by zero and pointers before a tensor, which only `./inv sanitize`
detects reliably.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import trimtab
from tests.engine.raw_runs import run_arrays
from tests.fuzz import networks
from tests.ops import (
    half,
    oracle,
    test_folded,
    test_paired,
    test_quantized_between,
    test_quantized_slopes,
    test_quantized_winograd,
)
from tests.ops.cases import by_family
from tests.ops.cases.case import Array
from tests.ops.quantized import QuantizedGraph
from tests.some import some
from trimtab import _engine, modelfile
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.target import Target

pytestmark = pytest.mark.bounds

THREADS = 3
Inputs = dict[str, Array]


def sizes(inputs: Inputs) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Each input with each of its dimensions set to 0."""
    for name, x in inputs.items():
        for axis in range(x.ndim):
            yield name, (*x.shape[:axis], 0, *x.shape[axis + 1 :])


def expected(model: onnx.ModelProto, inputs: Inputs) -> dict[str, Array] | None:
    """onnxruntime's outputs for inputs of these sizes; None if it refuses them."""
    resized = onnx.ModelProto()
    resized.CopyFrom(model)
    del resized.graph.value_info[:]
    for value in resized.graph.input:
        for dim, size in zip(
            value.type.tensor_type.shape.dim, inputs[value.name].shape, strict=True
        ):
            dim.dim_value = size
    outputs = [onnx.helper.make_empty_tensor_value_info(o.name) for o in resized.graph.output]
    del resized.graph.output[:]
    resized.graph.output.extend(outputs)
    try:
        return oracle.run(resized, inputs)
    except Exception:  # onnxruntime's errors have no common class but this
        return None


def check(planned: Program, model: onnx.ModelProto, inputs: Inputs) -> int:
    """Resizes each input to nothing and back, and compares; returns the number of sizes that
    onnxruntime computes, too.
    """
    engine = _engine.Executor(modelfile.encode(planned), THREADS)
    names = list(planned.inputs)
    before = run_arrays(engine, [inputs[name] for name in names])
    compared = 0
    for name, shape in sizes(inputs):
        feeds = {**inputs, name: np.zeros(shape, inputs[name].dtype)}
        if is_resized(engine, names.index(name), shape):
            actual = run_arrays(engine, [feeds[n] for n in names])
            want = expected(model, feeds)
            for y, reference in zip(actual, (want or {}).values(), strict=want is not None):
                assert y.shape == reference.shape
                np.testing.assert_allclose(y, reference, rtol=1e-2, atol=1e-4)
            compared += want is not None
            assert is_resized(engine, names.index(name), inputs[name].shape)
        after = run_arrays(engine, [inputs[n] for n in names])
        assert [y.tobytes() for y in after] == [y.tobytes() for y in before]
    return compared


def is_resized(engine: _engine.Executor, index: int, shape: tuple[int, ...]) -> bool:
    """Resizes an input; whether the engine accepts the size."""
    try:
        engine.resize_input(index, shape)
    except _engine.EngineError:
        return False
    return True


@pytest.mark.parametrize("family", by_family())
def test_operators_of_nothing_compute_what_onnxruntime_computes(family: str) -> None:
    compared = 0
    for case in by_family()[family]:
        planned = trimtab.optimize(trimtab.load(case.model))
        compared += check(planned, case.model, case.inputs)
    # Recurrent operators refuse every size of 0: their weights and their first state fix two
    # dimensions of the sequence, and a sequence without steps has no last state.
    assert (compared > 0) == (family != "recurrent")


@pytest.mark.parametrize("family", by_family())
def test_operators_of_nothing_in_f16_have_the_shapes_of_onnxruntime(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half.convert_for_nothing(monkeypatch)
    for vector in some(by_family()[family][::5]):
        case = half.rounded(vector)
        planned = half.planned(case, tmp_path, Target.host())
        if planned and half.halves(planned):
            check(planned, case.model, case.inputs)


def integers() -> Iterator[tuple[str, tuple[onnx.ModelProto, Inputs, Plan | None]]]:
    """Convolutions of int8 values by all algorithms, and operators between them."""
    for name in test_folded.CASES:
        graph, y = test_folded.convolution(name, test_folded.CASES[name][0], real=False)
        yield f"folded-{name}", (graph.model(y), graph.feeds(), None)
    for name in test_paired.CASES:
        graph, y = test_paired.convolution(name, "any", np.int8)
        yield f"paired-{name}", (graph.model(y), graph.feeds(), None)
    for name in test_quantized_winograd.CASES:
        graph, y, _, _ = test_quantized_winograd.convolution(name, np.int8)
        plan = test_quantized_winograd.WINOGRAD
        yield f"winograd-{name}", (graph.model(y), graph.feeds(), plan)
    for name in test_quantized_slopes.WINDOWS:
        model, feeds, _ = test_quantized_slopes.case(name, "prelu")
        yield f"slopes-{name}", (model, feeds, None)
    for name, (build, _, _) in test_quantized_between.CASES.items():
        graph = QuantizedGraph()
        yield f"between-{name}", (graph.model(build(graph)), graph.feeds(), None)


INTEGERS = dict(integers())


@pytest.mark.parametrize("name", INTEGERS)
def test_int8_operators_of_nothing_compute_what_onnxruntime_computes(name: str) -> None:
    model, inputs, plan = INTEGERS[name]
    program = trimtab.load(model)
    plans = [plan]
    if name.startswith("paired") and "avx2" in Target.host().isas:
        plans.append(test_paired.paired(program))
    for choice in plans:
        check(trimtab.optimize(program, Target.host(threads=THREADS), choice), model, inputs)


def test_networks_of_all_precisions_and_plans_compute_as_before_after_any_size(
    tmp_path: Path,
) -> None:
    cases = {name: build() for name, build in networks.NETWORKS.items()}
    rng = np.random.default_rng(7)
    compared = resized = 0
    for name, planned in networks.programs(tmp_path):
        case = cases.get(name.partition("-")[0], networks.chain(name))
        compared += check(planned, case.model, case.inputs)
        engine = _engine.Executor(modelfile.encode(planned), THREADS)
        (x,) = case.inputs.values()
        before = run_arrays(engine, [x])
        for _ in range(10):
            n, h, w = (int(rng.choice([0, 1, 2, 3, 5, 8, 17])) for _ in range(3))
            if is_resized(engine, 0, (n, x.shape[1], h, w)):
                resized += 1
                run_arrays(engine, [rng.standard_normal((n, x.shape[1], h, w), np.float32)])
        assert is_resized(engine, 0, x.shape)
        assert [y.tobytes() for y in run_arrays(engine, [x])] == [y.tobytes() for y in before]
    assert min(compared, resized) > 0
