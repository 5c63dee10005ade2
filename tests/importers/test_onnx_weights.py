"""Reading large weights beside the protobuf library: the same model as with it alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import trimtab
from trimtab.errors import ModelFileError
from trimtab.importers.onnx_ops import weights
from trimtab.zoo import cached

W = np.arange(4096, dtype=np.float32).reshape(64, 64)


def model(*tensors: TensorProto, **options: object) -> onnx.ModelProto:
    """y = x + the sum of all tensors' first rows, as a chain of Adds."""
    nodes, last = [], "x"
    for index, tensor in enumerate(tensors):
        nodes.append(helper.make_node("Add", [last, tensor.name], [f"y{index}"], f"add{index}"))
        last = f"y{index}"
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (64, 64))],
        [helper.make_empty_tensor_value_info(last)],
        tensors,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], **options)


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", ["squeezenet", "yolo_fastest"])
def test_the_parts_of_a_file_are_the_model(name: str) -> None:
    path = cached(name)
    split = weights.split(path)
    assert split is not None
    assert split.weights
    whole, parts = onnx.load_model(path), onnx.ModelProto.FromString(split.proto)
    for index, elements in split.weights.items():
        tensor = parts.graph.initializer[index]
        assert not tensor.HasField("raw_data")
        tensor.raw_data = elements.tobytes()
    assert parts == whole
    assert len(split.proto) < path.stat().st_size / 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.int32, np.int64])
def test_elements_of_each_type_are_read(tmp_path: Path, dtype: type) -> None:
    tensor = numpy_helper.from_array((W % 100).astype(dtype), "w")
    split = weights.split(written(tmp_path / "net.onnx", model(tensor).SerializeToString()))
    assert split is not None
    assert split.weights[0].dtype == dtype
    assert np.array_equal(split.weights[0], (W % 100).astype(dtype).ravel())


def test_only_large_weights_are_split_off(tmp_path: Path) -> None:
    small, large = (numpy_helper.from_array(w, n) for w, n in ((W[:1], "small"), (W, "large")))
    path = written(tmp_path / "net.onnx", model(small, large).SerializeToString())
    split = weights.split(path)
    assert split is not None
    assert [*split.weights] == [1]
    (operator, _) = trimtab.load(path).ops
    assert operator.type == "add"


def typed(tensor: TensorProto) -> None:
    tensor.float_data.extend(W.ravel())
    tensor.ClearField("raw_data")


def bfloat16(tensor: TensorProto) -> None:
    tensor.data_type = TensorProto.BFLOAT16
    tensor.raw_data = tensor.raw_data[::2]


def external(tensor: TensorProto) -> None:
    tensor.data_location = TensorProto.EXTERNAL


def segmented(tensor: TensorProto) -> None:
    tensor.segment.begin = 1


@pytest.mark.parametrize("change", [typed, bfloat16, external, segmented])
def test_tensors_of_another_form_are_left_to_the_library(
    tmp_path: Path, change: Callable[[TensorProto], None]
) -> None:
    tensor = numpy_helper.from_array(W, "w")
    change(tensor)
    path = written(tmp_path / "net.onnx", model(tensor).SerializeToString())
    assert weights.split(path) is None


def test_a_graph_in_two_parts_is_one_graph(tmp_path: Path) -> None:
    whole = model(numpy_helper.from_array(W, "a"), numpy_helper.from_array(W + 1, "b"))
    extra = onnx.ModelProto()
    extra.graph.initializer.append(whole.graph.initializer.pop())
    data = whole.SerializeToString() + extra.SerializeToString()
    split = weights.split(written(tmp_path / "net.onnx", data))
    assert split is not None
    assert [*split.weights] == [0, 1]
    assert np.array_equal(split.weights[1], (W + 1).ravel())
    parts = onnx.ModelProto.FromString(split.proto)
    assert [tensor.name for tensor in parts.graph.initializer] == ["a", "b"]


@pytest.mark.parametrize("length", [0, 1, 5, 100, 5000, -1, -100])
def test_a_truncated_file_is_an_error(tmp_path: Path, length: int) -> None:
    data = model(numpy_helper.from_array(W, "w")).SerializeToString()
    path = written(tmp_path / "net.onnx", data[:length])
    with pytest.raises(ModelFileError, match="is not an ONNX model, or is truncated"):
        trimtab.load(path)


def test_weights_that_do_not_match_their_shape_are_an_error(tmp_path: Path) -> None:
    tensor = numpy_helper.from_array(W, "w")
    tensor.dims[0] = 63
    path = written(tmp_path / "net.onnx", model(tensor).SerializeToString())
    with pytest.raises(ModelFileError, match=r"not \[63, 64\] elements of type float32") as error:
        trimtab.load(path)
    assert "initializer 'w'" in error.value.where


def test_a_model_with_functions_is_read_by_the_library(tmp_path: Path) -> None:
    function = helper.make_function(
        "local", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 17)],
    )  # fmt: skip
    net = model(numpy_helper.from_array(W, "w"), functions=[function])
    net.opset_import.append(helper.make_opsetid("local", 1))
    net.graph.node.append(helper.make_node("Twice", ["y0"], ["z"], domain="local"))
    net.graph.output[0].name = "z"
    program = trimtab.load(written(tmp_path / "net.onnx", net.SerializeToString()))
    constants = [var.data for var in program.constants()]
    assert any(data is not None and np.array_equal(data, W) for data in constants)
