"""ONNX's own tests pass or are unsupported, and the page of formats lists the operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import onnx
import pytest
from invoke.context import Context
from invoke.exceptions import Exit
from onnx import TensorProto, helper

from lab import committed
from lab.conformance import suites as conformance
from lab.conformance.suites import PASSED, UNSUPPORTED, WRONG, Array, DataSet, SuiteTest
from lab.docs import generator as pages
from tasks import namespace
from tests.some import some
from trimtab import importers
from trimtab.build import host_build
from trimtab.errors import UsageError
from trimtab.program import Program
from trimtab.tables import Table

# Numbers of tests that must pass; the others are unsupported.
MINIMUM = {"node": 1500, "pytorch-converted": 82, "pytorch-operator": 28, "light": 9}


def judge(suite: str, step: int = 1) -> Counter[str]:
    outcomes = [conformance.run(case) for case in [*conformance.cases([suite])][::step]]
    wrong = {o.name: o.reason for o in outcomes if o.status == WRONG}
    assert wrong == {}
    assert all(o.reason for o in outcomes if o.status == UNSUPPORTED)
    return Counter(o.status for o in outcomes)


@pytest.mark.parametrize("suite", ["pytorch-converted", "pytorch-operator"])
def test_models_exported_by_pytorch_pass_or_are_unsupported(suite: str) -> None:
    assert judge(suite)[PASSED] >= MINIMUM[suite]


def test_a_sample_of_onnx_s_operator_tests_passes_or_is_unsupported() -> None:
    assert judge("node", step=10)[PASSED] >= MINIMUM["node"] // 12


def test_the_tests_of_quantized_operators_have_the_committed_outcomes() -> None:
    own = {
        *("QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearMatMul"),
        *("ConvInteger", "MatMulInteger", "DynamicQuantizeLinear"),
    }
    current = conformance.rows(
        [conformance.run(case) for case in conformance.cases(["node"]) if case.operator in own]
    )
    baseline = conformance.CONFORMANCE.rows()
    assert {row.operator for row in current} == own
    assert not any(row.wrong for row in baseline)
    if committed.read(conformance.CONFORMANCE.name).versions["onnx"] == onnx.__version__:
        assert current == [row for row in baseline if row.suite == "node" and row.operator in own]


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["node", "light"])
def test_the_large_suites_of_onnx_pass_or_are_unsupported(suite: str) -> None:
    assert judge(suite)[PASSED] >= MINIMUM[suite]


def relu(want: Array) -> SuiteTest:
    x = np.array([-1, 2], np.float32)
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "relu",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    return SuiteTest("mine", "relu", "Relu", model, (DataSet({"x": x}, [want]),), 1e-3, 1e-7)


@pytest.mark.parametrize(
    ("want", "status", "reason"),
    [
        (np.array([0, 2], np.float32), PASSED, ""),
        (np.array([0, 2.1], np.float32), WRONG, "Not equal to tolerance"),
        (np.array([0, 2], np.float64), WRONG, "y is of float32, not float64"),
        (np.array([[0, 2]], np.float32), WRONG, "y has shape (2,), not (1, 2)"),
    ],
)
def test_values_types_and_shapes_are_compared(want: Array, status: str, reason: str) -> None:
    outcome = conformance.run(relu(want))
    assert outcome.status == status
    assert outcome.reason.startswith(reason)


def test_an_exception_while_running_is_wrong_not_unsupported() -> None:
    def fail(program: Program, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        raise ZeroDivisionError("by accident")

    outcome = conformance.run(relu(np.zeros(2, np.float32)), fail)
    assert (outcome.status, outcome.reason) == (WRONG, "ZeroDivisionError: by accident")


def test_the_first_input_of_a_test_is_never_a_constant() -> None:
    for case in some(conformance.cases(["pytorch-operator"])):
        for data in some(case.data_sets):
            outcome = conformance.run(case)
            assert not {*list(data.inputs)[:1]} & {*outcome.constants}


def test_the_error_of_an_unknown_suite_names_the_suites() -> None:
    with pytest.raises(UsageError, match="unknown suite 'nodes'") as caught:
        list(conformance.cases(["nodes"]))
    assert "pytorch-converted" in str(caught.value)


def test_outcomes_are_counted_by_suite_and_operator() -> None:
    outcomes = [conformance.run(relu(np.array([0, y], np.float32))) for y in (2, 3, 2)]
    operators, suites = conformance.tables(conformance.rows(outcomes))
    assert isinstance(operators, Table)
    assert isinstance(suites, Table)
    assert [*operators.rows] == [["mine", "Relu", 2, 1, 0]]
    assert [*suites.rows] == [("mine", 2, 1, 0)]


@pytest.mark.parametrize(("value", "code"), [(2.0, None), (3.0, 1)])
def test_the_task_fails_when_anything_is_wrong(
    value: float,
    code: int | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    case = relu(np.array([0, value], np.float32))
    monkeypatch.setattr(conformance, "cases", lambda suites: iter([case]))
    monkeypatch.setattr(host_build, "build_engine", lambda progress: None)
    exit_code = None
    try:
        namespace["conformance"].body(Context(), suite=[])
    except Exit as stopped:
        exit_code = stopped.code
    assert exit_code == code
    printed = capsys.readouterr().out
    assert "Relu" in printed
    assert ("wrong: mine relu: Not equal" in printed) == (code is not None)


def test_the_page_of_formats_names_operators_with_handlers() -> None:
    page = pages.blocks()["formats"].text()
    for suffix in importers.suffixes():
        assert f"`{suffix}`" in page
    for operator in ("Conv", "Convolution", "convolutional", "conv2d"):
        assert f"`{operator}`" in page
