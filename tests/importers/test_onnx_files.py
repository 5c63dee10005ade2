"""ONNX files: damage, external data, free dimensions, opsets, names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.ops.cases.case import Const, Graph, ints, normal
from trimtab import importers
from trimtab.errors import (
    DynamicShapeError,
    ImportModelError,
    ModelFileError,
    UnsupportedOperatorError,
)
from trimtab.importers import onnx as onnx_importer
from trimtab.importers.onnx_ops.node import HANDLERS
from trimtab.program import Program
from trimtab.session import Session


def small_network() -> onnx.ModelProto:
    g = Graph()
    x = g.node("Conv", normal(1, 3, 8, 8), Const(normal(4, 3, 3, 3)), Const(normal(4)))
    g.node("Gemm", g.node("Flatten", g.node("Relu", x)), Const(normal(144, 5)))
    return g.model()


def load(model: onnx.ModelProto, directory: Path, **inputs: Sequence[int]) -> Program:
    path = directory / "net.onnx"
    path.write_bytes(model.SerializeToString())
    return importers.load(path, inputs)


def test_every_operator_that_is_handled_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "importers.md").read_text(encoding="utf-8")
    assert [name for name in HANDLERS if f"`{name}`" not in text] == []


def with_dims(model: onnx.ModelProto, *dims: int | str | None) -> onnx.ModelProto:
    info = helper.make_tensor_value_info("x0", TensorProto.FLOAT, list(dims))
    model.graph.input[0].CopyFrom(info)
    return model


def test_names_and_shapes_of_inputs_and_outputs_are_the_model_s(tmp_path: Path) -> None:
    program = load(small_network(), tmp_path)
    assert (program.inputs, program.outputs) == (["x0"], ["n3"])
    assert program.vars["x0"].shape == (1, 3, 8, 8)
    assert program.vars["n3"].shape == (1, 5)
    assert [op.type for op in program.ops] == ["conv", "relu", "reshape", "gemm"]
    assert program.name == "net"


@pytest.mark.parametrize("keep", [0, 1, 2, 10, 100, 400, -1])
def test_a_truncated_file_is_an_error(tmp_path: Path, keep: int) -> None:
    data = small_network().SerializeToString()
    path = tmp_path / "net.onnx"
    path.write_bytes(data[:keep])
    with pytest.raises(ModelFileError, match="truncated") as caught:
        importers.load(path)
    assert str(path) in str(caught.value)


def test_a_directory_is_not_a_model(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").mkdir()
    with pytest.raises(ModelFileError, match="cannot be read"):
        importers.load(tmp_path / "net.onnx")


def test_weights_in_another_file_are_found_beside_the_model(tmp_path: Path) -> None:
    model = small_network()
    path = tmp_path / "net.onnx"
    onnx.save(model, path, save_as_external_data=True, location="net.data", size_threshold=0)
    program = importers.load(path)
    weights = {v.shape: v.data for v in program.constants() if v.data is not None}
    np.testing.assert_array_equal(weights[4, 3, 3, 3], normal(4, 3, 3, 3))


@pytest.mark.parametrize("damage", ["missing", "short"])
def test_missing_or_short_external_weights_are_an_error(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(
        small_network(), path, save_as_external_data=True, location="net.data", size_threshold=0
    )
    data = tmp_path / "net.data"
    if damage == "missing":
        data.unlink()
    else:
        data.write_bytes(data.read_bytes()[:50])
    with pytest.raises(ModelFileError) as caught:
        importers.load(path)
    assert str(path) in str(caught.value)


def test_external_weights_outside_the_model_s_directory_are_refused(tmp_path: Path) -> None:
    model = small_network()
    (tmp_path / "inner").mkdir()
    path = tmp_path / "inner" / "net.onnx"
    onnx.save(model, path, save_as_external_data=True, location="net.data", size_threshold=0)
    (tmp_path / "inner" / "net.data").rename(tmp_path / "net.data")
    data = path.read_bytes().replace(b"net.data", b"../net.d")
    (tmp_path / "net.d").write_bytes((tmp_path / "net.data").read_bytes())
    path.write_bytes(data)
    with pytest.raises(ModelFileError):
        importers.load(path)


def test_free_dimensions_are_an_error_that_says_how_to_give_them(tmp_path: Path) -> None:
    model = with_dims(small_network(), "batch", 3, None, 8)
    with pytest.raises(DynamicShapeError, match=r"\[batch, 3, \?, 8\]") as caught:
        load(model, tmp_path)
    assert "inputs={'x0': (1, 3, 224, 8)}" in str(caught.value)


def test_all_inputs_with_free_dimensions_are_named(tmp_path: Path) -> None:
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, "h", "w"])
    row = helper.make_tensor_value_info("row", TensorProto.FLOAT, ["m", 10])
    nodes = [helper.make_node("Relu", [i.name], [f"{i.name}_out"]) for i in (image, row)]
    results = [
        helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None) for node in nodes
    ]
    model = helper.make_model(helper.make_graph(nodes, "two", [image, row], results))
    with pytest.raises(DynamicShapeError) as caught:
        load(model, tmp_path)
    assert "--input image=1,3,224,224 --input row=1,10" in caught.value.hint
    with pytest.raises(DynamicShapeError, match="'row'") as caught:
        load(model, tmp_path, image=(1, 3, 8, 8))
    assert "image" not in str(caught.value.what)


def test_inputs_whose_batches_contradict_are_named(tmp_path: Path) -> None:
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in "ab"]
    node = helper.make_node("Concat", ["a", "b"], ["y"], axis=1)
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    model = helper.make_model(helper.make_graph([node], "two", inputs, [result]))
    with pytest.raises(ImportModelError) as caught:
        load(model, tmp_path, a=(2, 4), b=(1, 4))
    assert "a=[2, 4], b=[1, 4]" in caught.value.hint


def test_given_shapes_fill_free_dimensions(tmp_path: Path) -> None:
    model = with_dims(small_network(), "batch", 3, None, 8)
    program = load(model, tmp_path, x0=(1, 3, 8, 8))
    assert program.vars["x0"].shape == (1, 3, 8, 8)


def test_an_input_without_any_shape_takes_the_given_one(tmp_path: Path) -> None:
    model = small_network()
    model.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(DynamicShapeError, match="unknown"):
        load(model, tmp_path)
    assert load(model, tmp_path, x0=(1, 3, 8, 8)).vars["x0"].shape == (1, 3, 8, 8)


@pytest.mark.parametrize("shape", [(1, 4, 8, 8), (1, 3, 8), (0, 3, 8, 8), (-1, 3, 8, 8)])
def test_a_given_shape_that_does_not_fit_is_an_error(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    model = with_dims(small_network(), "batch", 3, None, 8)
    with pytest.raises(ImportModelError, match="does not fit"):
        load(model, tmp_path, x0=shape)


def test_a_shape_for_an_input_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ImportModelError, match="no input 'image'") as caught:
        load(small_network(), tmp_path, image=(1, 3, 8, 8))
    assert "x0" in str(caught.value)


@pytest.mark.parametrize("opset", [1, 5, 999])
def test_an_opset_outside_the_supported_ones_is_an_error(tmp_path: Path, opset: int) -> None:
    model = small_network()
    model.opset_import[0].version = opset
    with pytest.raises(ImportModelError, match=f"opset {opset}"):
        load(model, tmp_path)


def test_initializers_that_are_also_inputs_are_constants(tmp_path: Path) -> None:
    model = small_network()
    for tensor in model.graph.initializer:
        model.graph.input.append(
            helper.make_tensor_value_info(tensor.name, TensorProto.FLOAT, tensor.dims)
        )
    assert load(model, tmp_path).inputs == ["x0"]


def test_all_unsupported_nodes_are_reported_at_once(tmp_path: Path) -> None:
    g = Graph()
    x = g.node("RandomUniformLike", normal(1, 2, 8, 8))
    g.node("Relu", x)
    g.node("Unique", "x0", outputs=2)
    scales = Const(np.array([1, 1, 2, 2], np.float32))
    g.node("Resize", np.zeros((1, 2, 8, 8), np.int32), None, scales, mode="linear")
    g.node("RandomNormalLike", "n3")
    g.node("Conv", normal(1, 2, 3, 3, 4, 4), normal(3, 2, 1, 1, 1, 1))
    model = g.model("n1", "n2.1", "n3", "n4", "n5")
    model.graph.node.add(
        op_type="Fancy", domain="com.acme", name="extra", input=["x0"], output=["f"]
    )
    model.opset_import.add(domain="com.acme", version=1)
    with pytest.raises(UnsupportedOperatorError) as caught:
        load(model, tmp_path)
    text = str(caught.value)
    assert "6 nodes are not supported" in text
    for part in (
        "'node_n0': RandomUniformLike (opset 17)",
        "'node_n2': Unique (opset 17)",
        "'node_n3': Resize (opset 17): its mode is linear, and its operand is i32",
        "'node_n4': RandomNormalLike (opset 17)",
        "'node_n5': Conv (opset 17): it is 4-dimensional, and its weights are computed",
        "'extra': com.acme.Fancy",
    ):
        assert part in text
    assert "Relu" not in text


def test_an_element_type_that_the_engine_lacks_is_reported(tmp_path: Path) -> None:
    g = Graph()
    g.node("Relu", normal(1, 2).astype(np.uint64))
    with pytest.raises(ImportModelError, match="'x0' is not a tensor of f32"):
        load(g.model(), tmp_path)
    g = Graph()
    g.node("MatMul", np.zeros((2, 2), np.int64), np.zeros((2, 2), np.int64))
    with pytest.raises(UnsupportedOperatorError, match="its operands are i64, not f32"):
        load(g.model(), tmp_path)


def test_a_node_whose_input_nobody_computes_is_an_error_with_its_name(tmp_path: Path) -> None:
    model = small_network()
    model.graph.node[1].input[0] = "nowhere"
    with pytest.raises(ImportModelError, match="'nowhere' is not defined") as caught:
        load(model, tmp_path)
    assert "node_n1" in str(caught.value)


def test_an_output_that_nobody_computes_is_an_error(tmp_path: Path) -> None:
    model = small_network()
    model.graph.output[0].name = "nowhere"
    with pytest.raises(ImportModelError, match="output 'nowhere'"):
        load(model, tmp_path)


def test_shapes_that_do_not_fit_are_an_error_with_the_node_s_name(tmp_path: Path) -> None:
    with pytest.raises(ImportModelError, match="node_n3"):
        load(with_dims(small_network(), 1, 3, 9, 9), tmp_path)


def test_a_slice_with_a_repeated_axis_is_an_error(tmp_path: Path) -> None:
    graph = Graph()
    graph.node("Slice", normal(1, 4, 4, 4), ints(0, 1), ints(2, 3), ints(1, 2))
    model = graph.model()
    axes = model.graph.initializer[2]
    axes.CopyFrom(numpy_helper.from_array(np.array([1, -3]), axes.name))
    with pytest.raises(ImportModelError, match="axis 1 is given twice"):
        load(model, tmp_path)


def test_an_if_with_a_constant_condition_becomes_its_branch(tmp_path: Path) -> None:
    branches = {}
    for name, op in (("then_branch", "Relu"), ("else_branch", "Neg")):
        node = helper.make_node(op, ["x"], [f"{op}_out"])
        result = helper.make_tensor_value_info(f"{op}_out", TensorProto.FLOAT, [2, 3])
        branches[name] = helper.make_graph([node], name, [], [result])
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in "xy"]
    node = helper.make_node("If", ["condition"], ["y"], **branches)
    condition = helper.make_tensor("condition", TensorProto.BOOL, [], [False])
    model = helper.make_model(
        helper.make_graph([node], "g", info[:1], info[1:], [condition]),
        opset_imports=[helper.make_opsetid("", 17)],
    )
    program = load(model, tmp_path)
    assert [op.type for op in program.ops] == ["neg"]
    assert program.outputs == ["y"]


def test_functions_of_the_model_are_expanded(tmp_path: Path) -> None:
    domain = "local"
    function = helper.make_function(
        domain,
        "Twice",
        ["a"],
        ["b"],
        [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 17)],
    )
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in "xy"]
    node = helper.make_node("Twice", ["x"], ["y"], domain=domain)
    model = helper.make_model(
        helper.make_graph([node], "g", info[:1], info[1:]),
        functions=[function],
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)],
    )
    assert [op.type for op in load(model, tmp_path).ops] == ["add"]


def test_outputs_that_are_other_values_under_a_new_name_keep_their_names(tmp_path: Path) -> None:
    g = Graph()
    relu = g.node("Relu", normal(2, 3))
    g.node("Identity", "x0")
    g.node("Identity", relu)
    g.node("Identity", relu)
    g.node("Add", ints(1), ints(2))
    program = load(g.model("n1", "n2", "n3", "n4"), tmp_path)
    assert program.outputs == ["n1", "n2", "n3", "n4"]
    assert all(program.vars[name].data is None for name in program.outputs)


def test_a_node_may_have_the_name_of_another_node_s_output(tmp_path: Path) -> None:
    g = Graph()
    # Each becomes two operators; the inner one is named after the node.
    g.node("Conv", normal(1, 3, 8), Const(normal(4, 3, 3)))
    g.node("Relu", "n0")
    model = g.model("n1", "n0")
    model.graph.node[0].name = "n1"
    program = load(model, tmp_path)
    assert program.outputs == ["n1", "n0"]
    assert [op.outputs for op in program.ops if op.type == "relu"] == [["n1"]]
    assert program.vars["n0"].shape == (1, 4, 6)


def test_corners_are_not_aligned_where_onnx_and_onnxruntime_disagree(tmp_path: Path) -> None:
    g = Graph()
    scales = Const(np.array([1, 1, 1, 0.6], np.float32))
    x = normal(1, 1, 2, 4)
    align = "align_corners"
    g.node("Resize", x, None, scales, mode="linear", coordinate_transformation_mode=align)
    with pytest.raises(UnsupportedOperatorError, match="its scales give no integer size"):
        load(g.model(), tmp_path)


def test_an_input_whose_value_is_given_becomes_a_constant(tmp_path: Path) -> None:
    g = Graph()
    g.node("Reshape", normal(2, 6), np.array([3, 4]))
    path = tmp_path / "net.onnx"
    path.write_bytes(g.model().SerializeToString())
    program = onnx_importer.load(path, {}, {"x1": np.array([3, 4])})
    assert program.inputs == ["x0"]
    assert program.vars[program.outputs[0]].shape == (3, 4)


def test_dropout_in_training_mode_is_refused_and_the_mask_is_all_ones(
    tmp_path: Path,
) -> None:
    x, half = normal(2, 3), Const(np.array(0.5, np.float32))
    g = Graph()
    g.node("Dropout", x, half, Const(np.array(True)), outputs=2)
    with pytest.raises(UnsupportedOperatorError, match="training mode"):
        load(g.model("n0", "n0.1"), tmp_path)
    g = Graph()
    g.node("Dropout", x, half, Const(np.array(False)), outputs=2)
    outputs = Session(load(g.model("n0", "n0.1"), tmp_path)).run({"x0": x})
    np.testing.assert_array_equal(outputs["n0"], x)
    assert outputs["n0.1"].all()
