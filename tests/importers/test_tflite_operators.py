"""Each supported TFLite operator against LiteRT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.importers.caffe_writer import random
from tests.importers.tflite_cases import CASES
from tests.importers.tflite_sequence_cases import lstm
from tests.importers.tflite_writer import Model
from tests.ops.cases.case import Array
from tests.some import some


def interpreter_of(model: Model) -> Any:
    """LiteRT's interpreter of a model."""
    litert = pytest.importorskip(
        "ai_edge_litert.interpreter", reason="ai-edge-litert is the oracle"
    )
    resolver = litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter: Any = litert.Interpreter(
        model_content=model.bytes(), experimental_op_resolver_type=resolver
    )
    interpreter.allocate_tensors()
    return interpreter


def interpreted(model: Model) -> list[Array]:
    """The outputs of LiteRT."""
    interpreter = interpreter_of(model)
    for detail, value in zip(interpreter.get_input_details(), model.feeds, strict=True):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


@pytest.mark.parametrize("name", CASES)
def test_an_operator_computes_what_litert_computes(name: str, tmp_path: Path) -> None:
    model = CASES[name]
    path = model.write(tmp_path)
    program = trimtab.load(path)
    assert [program.vars[i].shape for i in program.inputs] == [f.shape for f in model.feeds]
    results = trimtab.Session(program).run(dict(zip(program.inputs, model.feeds, strict=True)))
    for output, expected in zip(program.outputs, interpreted(model), strict=True):
        assert results[output].shape == expected.shape
        assert results[output].dtype == expected.dtype
        np.testing.assert_allclose(results[output], expected, 1e-4, 1e-5)


@pytest.mark.parametrize("memory", [1, 4])
@pytest.mark.parametrize("rank", [1, 2])
def test_a_filter_over_time_keeps_its_features(rank: int, memory: int, tmp_path: Path) -> None:
    model, filters = Model(), 3 * rank
    frames = [random(2, 5, seed=seed, low=-2, high=2) for seed in range(memory + 3)]
    shapes = ((filters, 5), (filters, memory), (3,))
    operands = [model.input(frames[0])]
    operands += [model.constant(random(*shape, seed=7 + len(shape))) for shape in shapes]
    operands.append(model.variable(2, filters * memory))
    fields: dict[str, Any] = {"Rank": rank, "FusedActivationFunction": 1}
    model.outputs = model.add("SVDF", operands, [(2, 3)], "SVDFOptions", **fields)
    path = model.write(tmp_path)
    session, interpreter = trimtab.Session(trimtab.load(path)), interpreter_of(model)
    for frame in some(frames):
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], frame)
        interpreter.invoke()
        expected = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        (y,) = session.run({"input_0": frame}).values()
        np.testing.assert_allclose(y, expected, 1e-5, 1e-5)


@pytest.mark.parametrize("peepholes", [False, True])
def test_merged_outputs_of_both_directions_are_side_by_side(
    peepholes: bool, tmp_path: Path
) -> None:
    path = lstm(True, False, peepholes, True).write(tmp_path)
    separate = lstm(True, False, peepholes, False)
    actual = trimtab.Session(trimtab.load(path)).run({"input_0": separate.feeds[0]})
    (y,) = actual.values()
    np.testing.assert_allclose(y, np.concatenate(interpreted(separate), -1), 1e-4, 1e-5)
