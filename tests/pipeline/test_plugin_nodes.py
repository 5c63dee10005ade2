"""ONNX nodes of plug-ins: their own references, functions of numpy, compute the expected output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.importers import registered_parsers
from trimtab import GraphBuilder, Layer, operator_cases, operator_parser, plugins
from trimtab.bench.oracle import onnx_golden
from trimtab.errors import ImportModelError
from trimtab.pipeline import plugin_nodes

forgotten = registered_parsers.forgotten  # lets parsers end with their test


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """y = leak(x) - 1, where `leak` is a node of a plug-in that becomes two operators."""

    @operator_parser(framework="onnx", origin="my.domain.Leak", op=("leaky_relu", "sub"))
    def parse(layer: Layer, graph: GraphBuilder) -> Any:
        leaky = graph.add("leaky_relu", layer.x(0), alpha=layer.float("slope"))
        return graph.add("sub", leaky, graph.constant(1.0, "one"))

    node = helper.make_node("Leak", ["x"], ["y"], domain="my.domain", slope=0.25)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, (2, 3)) for name in "xy")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my.domain", 1)]
    graph = helper.make_graph([node], "net", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


def referring(monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any] | None) -> None:
    """Makes `function` the reference of `leaky_relu`."""
    references = {"leaky_relu": function}
    monkeypatch.setattr(plugin_nodes, "reference_of", references.get)


def test_the_reference_of_the_plug_in_computes_its_operator(
    network: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not what the engine computes: the values come from this function.
    referring(monkeypatch, lambda x, alpha: np.where(x < 0, alpha * x, 3 * x))
    golden = onnx_golden(network, {}, plugin_nodes.plugin_nodes())
    (x,), (y,) = golden.inputs, golden.outputs
    np.testing.assert_allclose(y, np.where(x < 0, 0.25 * x, 3 * x) - 1, rtol=1e-6)
    assert y.dtype == np.float32
    assert "sub on the host (not independent)" in golden.oracle


def test_an_operator_without_a_reference_runs_here_and_the_record_says_so(
    network: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    referring(monkeypatch, None)
    golden = onnx_golden(network, {}, plugin_nodes.plugin_nodes())
    (x,), (y,) = golden.inputs, golden.outputs
    np.testing.assert_allclose(y, np.where(x < 0, 0.25 * x, x) - 1, rtol=1e-6)
    assert "leaky_relu, sub on the host (not independent)" in golden.oracle


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x, "no parameter alpha"),
        (lambda x, alpha: x[:1], r"computes \[\[1, 3\]\], the operator \[\[2, 3\]\]"),
    ],
)
def test_a_reference_that_does_not_fit_the_operator_is_an_error(
    network: Path, monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], message: str
) -> None:
    referring(monkeypatch, function)
    with pytest.raises(ImportModelError, match=message):
        onnx_golden(network, {}, plugin_nodes.plugin_nodes())


def test_the_first_case_with_a_function_is_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    def right(x: Any) -> Any:
        return x

    class Module:
        CASES = (
            operator_cases.OperatorCase("twist", [], [np.zeros(1)]),
            operator_cases.OperatorCase("other", [], lambda: None),
            operator_cases.OperatorCase("twist", [], right),
        )

    monkeypatch.setattr(plugins, "files_in", lambda room: [(None, room)])
    monkeypatch.setattr(plugins, "module", lambda *_: Module)
    assert operator_cases.reference_of("twist") is right
    assert operator_cases.reference_of("unknown") is None
