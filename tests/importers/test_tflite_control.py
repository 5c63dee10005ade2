"""Subgraphs of TFLite against LiteRT: control flow, and variables from run to run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.importers.test_tflite_operators import interpreted, interpreter_of
from tests.importers.tflite_control_cases import CONTROL, STREAMS, X
from tests.importers.tflite_writer import Model
from tests.some import some
from trimtab.errors import UnsupportedOperatorError

RUNS = 5


def saved(model: Model, folder: Path) -> Path:
    return model.write(folder)


@pytest.mark.parametrize("name", CONTROL)
def test_a_graph_within_a_network_computes_what_litert_computes(name: str, tmp_path: Path) -> None:
    model = CONTROL[name]
    program = trimtab.load(saved(model, tmp_path))
    results = trimtab.Session(program).run(dict(zip(program.inputs, model.feeds, strict=True)))
    for actual, expected in some(zip(results.values(), interpreted(model), strict=True)):
        assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(actual, expected, 1e-5, 1e-5)


@pytest.mark.parametrize("name", STREAMS)
def test_variables_last_from_run_to_run_until_a_reset(name: str, tmp_path: Path) -> None:
    model = STREAMS[name]()
    session = trimtab.Session(saved(model, tmp_path))
    rng = np.random.default_rng(1)
    frames = [rng.normal(i % 3 - 1, 1, X.shape).astype(np.float32) for i in range(RUNS)]
    for _ in range(2):
        interpreter = interpreter_of(model)
        for frame in some(frames):
            interpreter.set_tensor(interpreter.get_input_details()[0]["index"], frame)
            interpreter.invoke()
            results = session.run(frame).values()
            for actual, detail in some(zip(results, interpreter.get_output_details(), strict=True)):
                expected = interpreter.get_tensor(detail["index"])
                np.testing.assert_allclose(actual, expected, 1e-5, 1e-5)
        if name != "read_back":
            session.reset()


def test_a_loop_without_a_bound_is_refused_by_name(tmp_path: Path) -> None:
    model, condition, body = Model(), Model(), Model()
    x = condition.argument(dtype="float32")
    condition.outputs = condition.add(
        "LESS", [x, condition.constant(np.float32(9))], [()], "LessOptions", "bool"
    )
    x = body.argument(dtype="float32")
    body.outputs = body.add("ADD", [x, x], [()], "AddOptions")
    numbers = model.graph(condition), model.graph(body)
    model.outputs = model.add(
        "WHILE",
        [model.input(np.array(1, np.float32))],
        [()],
        "WhileOptions",
        CondSubgraphIndex=numbers[0],
        BodySubgraphIndex=numbers[1],
    )
    with pytest.raises(UnsupportedOperatorError, match="is computed, without a bound"):
        trimtab.load(saved(model, tmp_path))


def test_an_operator_of_a_branch_that_is_missing_is_named(tmp_path: Path) -> None:
    model, graph = Model(), Model()
    x = graph.argument(*X.shape)
    graph.outputs = graph.add("MULTINOMIAL", [x], [X.shape])
    number = model.graph(graph)
    operands = [model.input(np.array([True])), model.input(X)]
    fields: dict[str, Any] = {"ThenSubgraphIndex": number, "ElseSubgraphIndex": number}
    model.outputs = model.add("IF", operands, [X.shape], "IfOptions", **fields)
    with pytest.raises(
        UnsupportedOperatorError, match=r"\(MULTINOMIAL\) of graph 1: the engine has no"
    ):
        trimtab.load(saved(model, tmp_path))


def test_a_graph_that_uses_itself_is_refused(tmp_path: Path) -> None:
    model, graph = Model(), Model()
    x = graph.argument(*X.shape)
    fields: dict[str, Any] = {"Name": "itself", "DecompositionSubgraphIndex": 1}
    options = "StableHLOCompositeOptions"
    graph.outputs = graph.add("STABLEHLO_COMPOSITE", [x], [X.shape], options, **fields)
    model.graph(graph)
    model.outputs = model.add("STABLEHLO_COMPOSITE", [model.input(X)], [X.shape], options, **fields)
    with pytest.raises(
        UnsupportedOperatorError, match="more than 16 graphs are within one another"
    ):
        trimtab.load(saved(model, tmp_path))
