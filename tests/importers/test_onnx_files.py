"""ONNX files: damage, external data, free dimensions, opsets, names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from tests.importers import damage
from tests.importers.formats import (
    SHAPE,
    Format,
    Layer,
    Write,
    damaged,
    fault,
    file,
    without,
)
from tests.importers.onnx_text import model_of
from tests.ops import oracle
from tests.ops.cases import all_cases
from tests.ops.cases.case import Const, Graph, ints, normal
from trimtab import importers
from trimtab.errors import (
    DynamicShapeError,
    ImportModelError,
    ModelFileError,
    TrimtabError,
    UnsupportedOperatorError,
)
from trimtab.importers import onnx as onnx_importer
from trimtab.importers.onnx_ops.node import HANDLERS
from trimtab.program import Program
from trimtab.session import Session

RELU = "(float[2, 3] x) => (y) { y = Relu (x) }"
DROPOUT = "(float[2, 3] x) => (y, mask) { y, mask = Dropout (x, half, training) }"
BATCHES = "(float[n, 4] a, float[n, 4] b) => (y) { y = Concat <axis = 1> (a, b) }"
FREE = "(float[n, 3, h, w] image, float[m, 10] row) => (a, b) { a = Relu (image) b = Relu (row) }"
IF = """(float[2, 3] x) => (y) { y = If (condition) <
    then_branch = yes () => (float[2, 3] a) { a = Relu (x) },
    else_branch = no () => (float[2, 3] b) { b = Neg (x) }> }"""
FUNCTION = """(float[2, 3] x) => (y) { y = com.microsoft.Twice (x) }
    <domain: "com.microsoft", opset_import: ["" : 17]> Twice (a) => (b) { b = Add (a, a) }"""
UNSUPPORTED = """(float[1, 2, 8, 8] x, int32[1, 2, 8, 8] i, float[1, 2, 3, 3, 4, 4] v,
    float[3, 2, 1, 1, 1, 1] w) => (a, b, c, d, e) {
    r = RandomUniformLike (x) a = Relu (r) u, b = Unique (x)
    c = Resize <mode = "linear"> (i, , scales) d = RandomNormalLike (c) e = Conv (v, w)
    f = com.microsoft.Fancy (x) }"""


def _network() -> ModelProto:
    g = Graph()
    x = g.node("Conv", normal(1, 3, 8, 8), Const(normal(4, 3, 3, 3)), Const(normal(4)))
    g.node("Gemm", g.node("Flatten", g.node("Relu", x)), Const(normal(144, 5)))
    return g.model()


def _with_dims(*dims: int | str | None) -> Write:
    """Writes the small network with another declared shape of its input."""
    model = _network()
    info = helper.make_tensor_value_info("x0", TensorProto.FLOAT, list(dims))
    model.graph.input[0].CopyFrom(info)
    return _written(model)


def _written(model: ModelProto) -> Write:
    return file("net.onnx", model.SerializeToString)


def _text(text: str, opset: int = 17, **constants: object) -> Write:
    return _written(model_of(f"net {text}", constants, opset))


def _external(folder: Path) -> Path:
    """Writes the small network with its weights in another file."""
    path = folder / "net.onnx"
    onnx.save(_network(), path, save_as_external_data=True, location="net.data", size_threshold=0)
    return path


def _outside(folder: Path) -> Path:
    """Writes a network whose weights are in the folder above its own."""
    (folder / "inner").mkdir()
    path = _external(folder / "inner")
    (folder / "inner" / "net.data").rename(folder / "net.d")
    path.write_bytes(path.read_bytes().replace(b"net.data", b"../net.d"))
    return path


def _layers(folder: Path, layers: Sequence[Layer], outputs: Sequence[str]) -> Path:
    nodes = [helper.make_node(a.type, [a.reads], [a.writes], a.name) for a in layers]
    x, *ends = (helper.make_tensor_value_info(n, TensorProto.FLOAT, SHAPE) for n in ("x", *outputs))
    opsets = [helper.make_opsetid("", 17)]
    graph = helper.make_graph(nodes, "layers", [x], ends)
    return _written(helper.make_model(graph, opset_imports=opsets))(folder)


def _first(count: int) -> Write:
    return damaged(_net, "", lambda content: content[:count])


_net, _free = _written(_network()), _with_dims("batch", 3, None, 8)
_halves = np.array([1, 1, 1, 0.6], np.float32)
_axes: dict[str, Any] = {
    "starts": np.array([0, 1]),
    "ends": np.array([2, 3]),
    "axes": np.array([1, -3]),
}
_MISTAKES: list[tuple[Write, str, type[TrimtabError]]] = [
    (_with_dims(1, 3, 9, 9), "node_n3", ImportModelError),
    (
        _text("(uint64[1, 2] x) => (y) { y = Relu (x) }"),
        "'x' is not a tensor of f32",
        ImportModelError,
    ),
    (
        _text("(float[1, 4, 4, 4] x) => (y) { y = Slice (x, starts, ends, axes) }", **_axes),
        "axis 1 is given twice",
        ImportModelError,
    ),
    (
        _text("(int64[2, 2] a, int64[2, 2] b) => (y) { y = MatMul (a, b) }"),
        "its operands are i64, not f32",
        UnsupportedOperatorError,
    ),
    (
        _text(
            "(float[1, 3, 2, 4, 4] x) => (y) { y = Conv <group = 2> (x, w) }",
            w=np.ones((4, 1, 1, 1, 1), np.float32),
        ),
        "groups",
        ImportModelError,
    ),
    (  # where ONNX and onnxruntime disagree
        _text(
            '(float[1, 1, 2, 4] x) => (y) { y = Resize <mode = "linear",'
            ' coordinate_transformation_mode = "align_corners"> (x, , scales) }',
            scales=_halves,
        ),
        "its scales give no integer size",
        UnsupportedOperatorError,
    ),
    (
        _text(DROPOUT, half=np.float32(0.5), training=np.array(True)),
        "training mode",
        UnsupportedOperatorError,
    ),
    *((_text(RELU, opset), f"opset {opset}", ImportModelError) for opset in (1, 5, 999)),
    *((_first(keep), "truncated", ModelFileError) for keep in (0, 1, 2, 10, 100, 400, -1)),
]

FORMAT = Format(
    network=_net,
    feeds={"x0": normal(1, 3, 8, 8)},
    expected=lambda _: oracle.run(_network(), {"x0": normal(1, 3, 8, 8)}),
    layers=_layers,
    relu="Relu",
    place="node '{name}'",
    resized=(_free, (1, 3, 8, 8), (1, 5)),
    unsupported=fault(
        _text(UNSUPPORTED, scales=np.array([1, 1, 2, 2], np.float32)),
        "6 nodes are not supported",
        r"'r': RandomUniformLike \(opset 17\)",
        r"'u': Unique \(opset 17\)",
        r"'c': Resize \(opset 17\): its mode is linear, and its operand is i32",
        r"'d': RandomNormalLike \(opset 17\)",
        r"'e': Conv \(opset 17\): it is 4-dimensional, and its weights are computed",
        r"'f': com\.microsoft\.Fancy",
        never="Relu",
    ),
    free=fault(_free, r"\[batch, 3, \?, 8\]", hint="inputs={'x0': (1, 3, 224, 8)}"),
    unfit=[
        *(
            fault(_free, "does not fit", x0=shape)
            for shape in ((1, 4, 8, 8), (1, 3, 8), (0, 3, 8, 8), (-1, 3, 8, 8))
        ),
        fault(_text(BATCHES), hint="a=[2, 4], b=[1, 4]", a=(2, 4), b=(1, 4)),
    ],
    mistakes={f"{i}, {s}": fault(w, s, kind=k) for i, (w, s, k) in enumerate(_MISTAKES)},
    weights=[
        fault(without(_external, "net.data"), r"net\.onnx"),
        fault(damaged(_external, "net.data", lambda content: content[:50]), r"net\.onnx"),
        fault(_outside, r"net\.onnx"),
    ],
    models=lambda: {case.id: _written(case.model) for case in all_cases()},
    replaces_names=False,
    structures={"net.onnx": damage.of_protobuf},
)


def load(model: onnx.ModelProto, directory: Path, **inputs: Sequence[int]) -> Program:
    return importers.load(_written(model)(directory), inputs)


def test_every_operator_that_is_handled_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "importers.md").read_text(encoding="utf-8")
    assert [name for name in HANDLERS if f"`{name}`" not in text] == []


def test_names_and_shapes_of_inputs_and_outputs_are_the_model_s(tmp_path: Path) -> None:
    program = load(_network(), tmp_path)
    assert (program.inputs, program.outputs) == (["x0"], ["n3"])
    assert program.vars["x0"].shape == (1, 3, 8, 8)
    assert program.vars["n3"].shape == (1, 5)
    assert [op.type for op in program.ops] == ["conv", "relu", "reshape", "gemm"]
    assert program.name == "net"


def test_weights_in_another_file_are_found_beside_the_model(tmp_path: Path) -> None:
    program = importers.load(_external(tmp_path))
    weights = {v.shape: v.data for v in program.constants() if v.data is not None}
    np.testing.assert_array_equal(weights[4, 3, 3, 3], normal(4, 3, 3, 3))


def test_an_input_without_any_shape_takes_the_given_one(tmp_path: Path) -> None:
    model = _network()
    model.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(DynamicShapeError, match="unknown"):
        load(model, tmp_path)
    assert load(model, tmp_path, x0=(1, 3, 8, 8)).vars["x0"].shape == (1, 3, 8, 8)


def test_initializers_that_are_also_inputs_are_constants(tmp_path: Path) -> None:
    model = _network()
    for tensor in model.graph.initializer:
        model.graph.input.append(
            helper.make_tensor_value_info(tensor.name, TensorProto.FLOAT, tensor.dims)
        )
    assert load(model, tmp_path).inputs == ["x0"]


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


def test_an_input_whose_value_is_given_becomes_a_constant(tmp_path: Path) -> None:
    g = Graph()
    g.node("Reshape", normal(2, 6), np.array([3, 4]))
    path = _written(g.model())(tmp_path)
    program = onnx_importer.load(path, {}, {"x1": np.array([3, 4])})
    assert program.inputs == ["x0"]
    assert program.vars[program.outputs[0]].shape == (3, 4)


def test_all_inputs_with_free_dimensions_are_named(tmp_path: Path) -> None:
    path = _text(FREE)(tmp_path)
    with pytest.raises(DynamicShapeError) as caught:
        importers.load(path)
    assert "--input image=1,3,224,224 --input row=1,10" in caught.value.hint
    with pytest.raises(DynamicShapeError, match="'row'") as caught:
        importers.load(path, {"image": (1, 3, 8, 8)})
    assert "image" not in str(caught.value.what)
    path = _text("(float[n, 4] x, float[2, n, 8] h) => (y) { y = Concat (x, h) }")(tmp_path)
    with pytest.raises(DynamicShapeError) as caught:
        importers.load(path)
    assert "--input x=1,4 --input h=2,1,8" in caught.value.hint


@pytest.mark.parametrize(
    ("inputs", "shapes"),
    [
        ("float[n, 3, 8, 8] a, float[n, 4] b", {"a": (1, 3, 8, 8), "b": (1, 4)}),
        ("float[batch_size, 4] a, float[batch_size, 4] b", {"a": (1, 4), "b": (1, 4)}),
        ("float[n, 4] a, float[n, 4] b", None),  # n may be a length
        ("float[n, 3, 8, 8] a, float[m, 3, 8, 8] b", None),
        ("float[n, 3, 8, 8] a, float[2, 4] b", None),
        ("float[n, 3, h, 8] a, float[n, 4] b", None),
    ],
)
def test_a_free_batch_of_a_command_is_one_and_other_free_sizes_are_refused(
    inputs: str, shapes: dict[str, tuple[int, ...]] | None, tmp_path: Path
) -> None:
    path = _text(f"({inputs}) => (c, d) {{ c = Relu (a) d = Relu (b) }}")(tmp_path)
    notes: list[str] = []
    with pytest.raises(DynamicShapeError):
        importers.load(path)
    if shapes is None:
        with pytest.raises(DynamicShapeError):
            importers.load_at_batch_one(path, {}, notes.append)
        assert not notes
        return
    program, complete = importers.load_at_batch_one(path, {}, notes.append)
    assert complete == shapes == {name: program.vars[name].shape for name in program.inputs}
    (note,) = notes
    assert all(f"{name}={','.join(map(str, shape))}" in note for name, shape in shapes.items())
    with pytest.raises(DynamicShapeError):
        importers.load_at_batch_one(path, {"a": shapes["a"]}, notes.append)


def test_an_if_with_a_constant_condition_becomes_its_branch(tmp_path: Path) -> None:
    program = importers.load(_text(IF, condition=np.array(False))(tmp_path))
    assert [op.type for op in program.ops] == ["neg"]
    assert program.outputs == ["y"]


def test_functions_of_the_model_are_expanded(tmp_path: Path) -> None:
    assert [op.type for op in importers.load(_text(FUNCTION)(tmp_path)).ops] == ["add"]


def test_the_mask_of_a_dropout_is_all_ones(tmp_path: Path) -> None:
    path = _text(DROPOUT, half=np.float32(0.5), training=np.array(False))(tmp_path)
    outputs = Session(importers.load(path)).run({"x": normal(2, 3)})
    np.testing.assert_array_equal(outputs["y"], normal(2, 3))
    assert outputs["mask"].all()
