"""ONNX files with float16 tensors, against onnxruntime."""

from __future__ import annotations

import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.ops import half, oracle
from tests.ops.cases import all_cases
from tests.ops.cases.case import Array, Case, Const, Graph, ints, normal
from trimtab.errors import ImportModelError
from trimtab.importers import load
from trimtab.planner.plan_file import Plan
from trimtab.session import Session, optimize
from trimtab.target import Target

HALF, FLOAT, BRAIN = (
    TensorProto.FLOAT16,
    TensorProto.FLOAT,
    TensorProto.BFLOAT16,
)
_SOME = all_cases()[::11]


def assert_near(actual: dict[str, Array], expected: dict[str, Array]) -> None:
    """Asserts equal names, types and shapes, and values within two roundings of float16."""
    assert list(actual) == list(expected)
    for name, want in expected.items():
        assert (actual[name].dtype, actual[name].shape) == (want.dtype, want.shape)
        if want.dtype.kind != "f":
            np.testing.assert_array_equal(actual[name], want)
            continue
        largest = np.abs(want[np.isfinite(want)], dtype=np.float64).max(initial=1e-4)
        np.testing.assert_allclose(
            actual[name].astype(np.float64), want.astype(np.float64), 2**-9, 2**-9 * largest
        )


@pytest.mark.parametrize("keeps_io", [False, True])
@pytest.mark.parametrize("case", _SOME, ids=lambda case: case.id)
def test_models_that_were_converted_to_float16_compute_what_onnxruntime_computes(
    case: Case, keeps_io: bool
) -> None:
    from onnxruntime.transformers import float16

    source = onnx.ModelProto()
    source.CopyFrom(case.model)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # constants that float16 cannot hold are clamped
        model = float16.convert_float_to_float16(source, keep_io_types=keeps_io)
        types = {value.name: value.type.tensor_type.elem_type for value in model.graph.input}
        # Values that float16 holds: a cast of inputs makes no ties for TopK.
        halves = {
            name: x.astype(np.float16) if x.dtype == np.float32 else x
            for name, x in case.inputs.items()
        }
        feeds = {
            name: x if types[name] == HALF else x.astype(case.inputs[name].dtype)
            for name, x in halves.items()
        }
    try:
        expected = oracle.run(model, feeds)
    except Exception as error:  # onnxruntime's own class
        pytest.skip(f"onnxruntime does not run it: {str(error)[:80]}")
    assert_near(Session(load(model)).run(feeds), expected)


def network(opset: int = 17) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A float16 network of convolutions, as `model.half()` exports it."""
    g = Graph(opset)
    x = normal(1, 8, 24, 24).astype(np.float16)
    first = Const((normal(32, 8, 3, 3) * 0.2).astype(np.float16))
    y = g.node("Relu", g.node("Conv", x, first, pads=[1] * 4))
    g.node("Conv", y, Const((normal(32, 32, 3, 3) * 0.1).astype(np.float16)), pads=[1] * 4)
    return g.model(), g.inputs


def test_inputs_and_outputs_stay_float16_and_the_network_computes_in_float32() -> None:
    model, feeds = network()
    program = load(model)
    assert [program.vars[name].dtype for name in (*program.inputs, *program.outputs)] == ["f16"] * 2
    types = {program.vars[op.outputs[0]].dtype for op in program.ops if op.type == "conv"}
    assert types == {"f32"}
    assert_near(Session(program).run(feeds), oracle.run(model, feeds))


def test_a_float16_network_in_precision_f16_has_no_conversions() -> None:
    model, feeds = network()
    session = Session(load(model), plan=Plan(precision="f16"))
    assert [op.type for op in session.program.steps if op.type == "cast"] == []
    (actual,), (expected,) = session.run(feeds).values(), oracle.run(model, feeds).values()
    assert actual.dtype == expected.dtype
    half.assert_near(actual.astype(np.float32), expected.astype(np.float32))


def test_in_precision_f16_conversions_stay_only_beside_operators_in_float32(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    half.convert_for_nothing(monkeypatch)
    g = Graph()
    relu = g.node("Relu", normal(1, 4, 6, 6).astype(np.float16))
    g.node("ReduceSum", relu, ints(3))  # has no f16 kernel
    g.node("Neg", "n1")
    g.node("Cast", relu, to=FLOAT)
    g.node("Identity", relu)
    model = g.model("n2", "n3", "n4", relu)
    session = Session(load(model), plan=Plan(precision="f16"))
    for name, expected in oracle.run(model, g.inputs).items():
        actual = session.run(g.inputs)[name]
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual.astype(np.float32), expected, 2e-3, 2e-3)
    casts = [op.inputs[0] for op in session.program.steps if op.type == "cast"]
    assert len(casts) == 3  # before and after the sum, and to the float32 output


def test_a_constant_that_float16_cannot_hold_becomes_infinite_without_a_warning() -> None:
    g = Graph()
    large = Const(np.array([1e5, -1e9, 2.0], np.float32))
    mask = g.node("Cast", large, to=HALF)
    g.node("Add", normal(2, 3).astype(np.float16), mask)
    model = g.model()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        actual = Session(load(model)).run(g.inputs)
    assert_near(actual, oracle.run(model, g.inputs))


def test_outputs_that_are_inputs_or_constants_are_float16() -> None:
    g = Graph()
    x = g.value(normal(2, 3).astype(np.float16))
    g.node("Identity", x)
    g.node("Identity", Const(normal(2).astype(np.float16)))
    g.node("Cast", x, to=FLOAT)
    model = g.model("n0", "n1", "n2")
    assert_near(Session(load(model)).run(g.inputs), oracle.run(model, g.inputs))


def test_integers_become_float16_and_float16_becomes_integers() -> None:
    g = Graph()
    g.node("Cast", np.arange(6, dtype=np.int64), to=HALF)
    g.node("Mul", "n0", np.full(6, 0.75, np.float16))
    g.node("Cast", "n1", to=TensorProto.INT32)
    g.node("CastLike", np.arange(6, dtype=np.float32), "n0")
    model = g.model("n1", "n2", "n3")
    assert_near(Session(load(model)).run(g.inputs), oracle.run(model, g.inputs))


def test_bfloat16_constants_are_computed_in_float32() -> None:
    weights = helper.make_tensor("w", BRAIN, [3], [1.5, -2.0, 0.25])
    nodes = [
        helper.make_node("Cast", ["w"], ["v"], to=FLOAT),
        helper.make_node("Mul", ["x", "v"], ["y"]),
    ]
    values = [helper.make_tensor_value_info(name, FLOAT, [2, 3]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = normal(2, 3)
    actual = Session(load(model)).run({"x": x})["y"]
    np.testing.assert_array_equal(actual, x * np.array([1.5, -2.0, 0.25], np.float32))


@pytest.mark.parametrize(
    ("place", "kind", "name"),
    [
        ("input", BRAIN, "bfloat16"),
        ("input", TensorProto.FLOAT8E4M3FN, "float8_e4m3fn"),
        ("output", BRAIN, "bfloat16"),
        ("output", TensorProto.UINT64, "uint64"),
    ],
)
def test_inputs_and_outputs_of_other_floating_types_are_refused_by_name(
    place: str, kind: int, name: str
) -> None:
    nodes = [helper.make_node("Cast", ["x"], ["y"], to=kind if place == "output" else FLOAT)]
    x = helper.make_tensor_value_info("x", kind if place == "input" else FLOAT, [2])
    y = helper.make_tensor_value_info("y", kind if place == "output" else FLOAT, [2])
    graph = helper.make_graph(nodes, "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with pytest.raises(ImportModelError, match=f"{place} '[xy]' .*holds {name}"):
        load(model)


def test_float16_scales_of_a_quantized_network_are_read() -> None:
    g = Graph(opset=19)
    scale, point = Const(np.array(0.05, np.float16)), Const(np.array(3, np.int8))
    q = g.node("QuantizeLinear", normal(2, 6).astype(np.float16), scale, point)
    g.node("DequantizeLinear", q, scale, point)
    model = g.model()
    expected = oracle.run(model, g.inputs)
    actual = Session(load(model)).run(g.inputs)
    np.testing.assert_allclose(
        actual["n1"].astype(np.float32), expected["n1"].astype(np.float32), 0, 0.051
    )
    assert numpy_helper.from_array(actual["n1"]).data_type == HALF


def test_the_weights_of_a_float16_network_take_no_more_bytes_in_its_file() -> None:
    model, _ = network()
    planned = optimize(load(model), Target.of("aarch64", "cortex-a53"))
    constants = sum(var.bytes for var in planned.constants())
    assert constants == sum(len(i.raw_data) for i in model.graph.initializer)
