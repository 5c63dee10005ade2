"""Small ONNX files that request much memory or time are refused early, with a message."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from trimtab import importers
from trimtab.errors import ImportModelError, ModelFileError

FLOAT = TensorProto.FLOAT


def saved(model: onnx.ModelProto, folder: Path) -> Path:
    path = folder / "small.onnx"
    path.write_bytes(model.SerializeToString())
    assert path.stat().st_size < 16_000
    return path


def network(nodes: list[onnx.NodeProto], *functions: onnx.FunctionProto) -> onnx.ModelProto:
    """A model x -> y of `nodes`."""
    x, y = (helper.make_tensor_value_info(name, FLOAT, [1, 4]) for name in "xy")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    graph = helper.make_graph(nodes, "g", [x], [y])
    return helper.make_model(graph, opset_imports=opsets, functions=functions)


def function(name: str, *calls: str) -> onnx.FunctionProto:
    """A model a -> b that calls functions one after the other."""
    places = ["a", *(f"t{i}" for i in range(len(calls) - 1)), "b"]
    nodes = [
        helper.make_node(call, [x], [y], domain="" if call == "Relu" else "own")
        for call, x, y in zip(calls, places[:-1], places[1:], strict=True)
    ]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, ["a"], ["b"], nodes, opsets)


def test_functions_that_expand_to_too_many_nodes_are_refused(tmp_path: Path) -> None:
    levels = 40
    functions = [function("f0", "Relu", "Relu")]
    functions += [function(f"f{i}", f"f{i - 1}", f"f{i - 1}") for i in range(1, levels)]
    call = helper.make_node(f"f{levels - 1}", ["x"], ["y"], domain="own")
    path = saved(network([call], *functions), tmp_path)
    with pytest.raises(ImportModelError, match=f"expand to {2**levels:,} nodes"):
        importers.load(path)


def test_functions_that_call_themselves_are_refused(tmp_path: Path) -> None:
    functions = [function("f", "g"), function("g", "f")]
    call = helper.make_node("f", ["x"], ["y"], domain="own")
    with pytest.raises(ImportModelError, match="calls itself"):
        importers.load(saved(network([call], *functions), tmp_path))


def test_functions_of_a_usual_depth_are_expanded(tmp_path: Path) -> None:
    functions = [function("f0", "Relu")]
    functions += [function(f"f{i}", f"f{i - 1}") for i in range(1, 20)]
    call = helper.make_node("f19", ["x"], ["y"], domain="own")
    program = importers.load(saved(network([call], *functions), tmp_path))
    assert [op.type for op in program.ops] == ["relu"]


def constant(name: str, *values: float, whole: bool = True) -> onnx.NodeProto:
    kind = TensorProto.INT64 if whole else FLOAT
    tensor = helper.make_tensor(name, kind, [len(values)], values)
    return helper.make_node("Constant", [], [name], value=tensor)


def doubled() -> list[onnx.NodeProto]:
    pairs = [constant("a0", *[1.0] * 256, whole=False), constant("b0", *[2.0] * 256, whole=False)]
    for i in range(1, 20):
        for name in "ab":
            before = [f"a{i - 1}", f"b{i - 1}"]
            pairs.append(helper.make_node("Concat", before, [f"{name}{i}"], axis=0))
    return [*pairs, helper.make_node("ReduceMax", ["a19"], ["m"])]


def expanded() -> list[onnx.NodeProto]:
    shape = helper.make_node("Expand", ["one", "shape"], ["m"])
    return [constant("one", 1.0, whole=False), constant("shape", 2**20, 2**20), shape]


def ranged() -> list[onnx.NodeProto]:
    ends = [
        helper.make_node("Constant", [], [name], value=helper.make_tensor(name, 7, [], [value]))
        for name, value in (("start", 0), ("end", 10**12), ("step", 1))
    ]
    return [*ends, helper.make_node("Range", ["start", "end", "step"], ["m"])]


def tiled() -> list[onnx.NodeProto]:
    tile = helper.make_node("Tile", ["one", "times"], ["m"])
    return [constant("one", 1.0, whole=False), constant("times", 10**11), tile]


@pytest.mark.parametrize("bomb", [doubled, expanded, ranged, tiled])
def test_constants_that_grow_without_end_are_refused(
    bomb: Callable[[], list[onnx.NodeProto]], tmp_path: Path
) -> None:
    nodes = [*bomb(), helper.make_node("Add", ["x", "m"], ["y"])]
    with pytest.raises(ImportModelError, match="far more than the weights"):
        importers.load(saved(network(nodes), tmp_path))


def test_a_pipe_is_refused_unread(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.onnx")
    with pytest.raises(ModelFileError, match="pipe"):
        importers.load(tmp_path / "x.onnx")


def external(folder: Path, dims: list[int], in_node: bool, **entries: str) -> Path:
    """A model x + w, whose w has its data in another file."""
    weights = onnx.TensorProto(name="w", data_type=FLOAT, dims=dims)
    weights.data_location = onnx.TensorProto.EXTERNAL
    for key, value in entries.items():
        weights.external_data.add(key=key, value=value)
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    if in_node:
        nodes.insert(0, helper.make_node("Constant", [], ["w"], value=weights))
    model = network(nodes)
    if not in_node:
        model.graph.initializer.append(weights)
    return saved(model, folder)


@pytest.mark.parametrize("in_node", [False, True])
def test_external_data_are_read_no_further_than_their_tensor(in_node: bool, tmp_path: Path) -> None:
    path = external(tmp_path, [4], in_node, location="data", offset="16")
    with (tmp_path / "data").open("wb") as file:
        file.write(bytes(16) + np.arange(4, dtype=np.float32).tobytes())
        file.truncate(2**40)  # without blocks: a terabyte that takes no space
    (weights,) = (var.data for var in importers.load(path).constants())
    np.testing.assert_array_equal(weights, [0, 1, 2, 3])


@pytest.mark.parametrize("in_node", [False, True])
@pytest.mark.parametrize(
    ("dims", "location", "message"),
    [
        ([2**34], "data", "17,179,869,184 elements, the limit is"),
        ([4], "x" * 5000, "cannot be read"),
        ([4], "null", "cannot be read"),
        ([4], "folder", "cannot be read"),
    ],
)
def test_external_data_that_cannot_be_read_are_refused(
    dims: list[int], location: str, message: str, in_node: bool, tmp_path: Path
) -> None:
    with (tmp_path / "data").open("wb") as file:
        file.truncate(2**40)
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ModelFileError, match=message) as caught:
        importers.load(external(tmp_path, dims, in_node, location=location))
    assert len(caught.value.what) < 400
