"""The files of a model: all that are read, wherever they lie, and no others."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import trimtab
from tests.importers.caffe_writer import field as message_field
from tests.importers.paddle_writer import Net as PaddleNet
from tests.importers.sources import FORMATS
from tests.ops.cases.case import Array
from trimtab import importers, plan_cache
from trimtab.errors import ImportModelError, ModelFileError
from trimtab.importers._snapshot import Snapshot
from trimtab.importers.onnx_ops import external

WEIGHTS = np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2)


def paddle(layout: str) -> Callable[[Path], Path]:
    def of(folder: Path) -> Path:
        net = PaddleNet({"x": np.zeros((1, 3, 4, 4), np.float32)}, {"w": WEIGHTS}, fetches=["y"])
        attributes = {"strides": [1, 1], "paddings": [0, 0], "dilations": [1, 1], "groups": 1}
        net.add("conv2d", {"Input": "x", "Filter": "w"}, {"Output": "y"}, **attributes)
        return net.write(folder, layout)

    return of


def tensor(name: str, values: Array, location: str) -> TensorProto:
    """A tensor whose elements are in another file."""
    outside = numpy_helper.from_array(values, name)
    outside.ClearField("raw_data")
    outside.data_location = TensorProto.EXTERNAL
    outside.external_data.add(key="location", value=location)
    return outside


def onnx_with(folder: Path, location: str, *, in_subgraph: str = "") -> Path:
    """A convolution whose weights are in a file; `in_subgraph`: the file of a constant of the
    branches of an If.
    """
    image, condition = (1, 3, 4, 4), helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, image)]
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"])]
    if in_subgraph:
        constant = tensor("k", np.arange(18, dtype=np.float32).reshape(1, 2, 3, 3), in_subgraph)
        branches = [
            helper.make_graph(
                [
                    helper.make_node("Constant", [], ["k"], value=constant),
                    helper.make_node(op, ["y", "k"], ["z"]),
                ],
                op,
                [],
                [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
            )
            for op in ("Add", "Mul")
        ]
        keys = dict(zip(("then_branch", "else_branch"), branches, strict=True))
        nodes.append(helper.make_node("If", ["c"], ["z"], **keys))
        inputs.append(condition)
    for name, count in ((location, 24), (in_subgraph, 18)):
        if name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(np.arange(count, dtype=np.float32).tobytes())
    output = helper.make_tensor_value_info("z" if in_subgraph else "y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", inputs, [output], [tensor("w", WEIGHTS, location)])
    path = folder / "net.onnx"
    opset = [helper.make_opsetid("", 17)]
    path.write_bytes(helper.make_model(graph, opset_imports=opset).SerializeToString())
    return path


CASES: dict[str, tuple[Callable[[Path], Path], set[str]]] = {
    "onnx": (FORMATS["onnx"].network, {"net.onnx"}),
    "onnx, data beside": (lambda f: onnx_with(f, "other.stem"), {"net.onnx", "other.stem"}),
    "onnx, data in folders": (
        lambda f: onnx_with(f, "a/w.bin", in_subgraph="a/b/k.bin"),
        {"net.onnx", "a/w.bin", "a/b/k.bin"},
    ),
    "ncnn": (FORMATS["ncnn"].network, {"net.param", "net.bin"}),
    "ncnn, another stem": (
        lambda f: FORMATS["ncnn"].network(f).rename(f / "graph.param"),
        {"graph.param", "net.bin"},
    ),
    "ncnn by its weights": (
        lambda f: FORMATS["ncnn"].network(f).with_suffix(".bin"),
        {"net.param", "net.bin"},
    ),
    "pnnx": (FORMATS["pnnx"].network, {"net.pnnx.param", "net.pnnx.bin"}),
    "caffe": (FORMATS["caffe"].network, {"net.prototxt", "net.caffemodel"}),
    "darknet": (FORMATS["darknet"].network, {"net.cfg", "net.weights"}),
    "paddle": (paddle("pdmodel"), {"net.pdmodel", "net.pdiparams"}),
    "paddle, combined": (paddle("combined"), {"__model__", "__params__"}),
    "paddle, split": (paddle("split"), {"__model__", "w"}),
}


def constants(path: Path) -> list[bytes]:
    program = trimtab.load(path, cache=False)
    return [var.data.tobytes() for var in program.vars.values() if var.data is not None]


@pytest.mark.parametrize("name", CASES)
def test_a_model_is_loaded_from_its_files_alone_and_needs_each(name: str, tmp_path: Path) -> None:
    writer, expected = CASES[name]
    folder, alone = tmp_path / "first [v2]", tmp_path / "second"
    folder.mkdir()
    path = writer(folder)
    before = constants(path)
    for other in ("readme.md", "net.log", "plan.toml", "net.onnx.bak"):
        (folder / other).write_text("not a part of the model")
    parts = importers.files(path)
    assert {file.relative_to(folder).as_posix() for file in parts} == expected
    for file in parts:
        copy = alone / file.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    assert constants(alone / path.name) == before
    for file in parts:
        part = alone / file.relative_to(folder)
        content = part.read_bytes()
        part.unlink()
        with pytest.raises((ModelFileError, ImportModelError)):
            importers.load(alone / path.name, cache=False).vars  # noqa: B018
        part.write_bytes(content)


@pytest.mark.parametrize("name", CASES)
def test_a_change_of_any_file_is_another_model_and_its_place_is_not(
    name: str, tmp_path: Path
) -> None:
    writer, _ = CASES[name]
    (tmp_path / "first").mkdir()
    path = writer(tmp_path / "first")

    def digest(at: Path) -> str:
        return Snapshot(at, importers.files(at)).digest()

    before, parts = digest(path), importers.files(path)
    for file in parts:
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
        assert Snapshot(path, parts).digest() != before, file.name
        content[-1] ^= 1
        file.write_bytes(content)
    assert digest(path) == before
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    assert digest(tmp_path / "second" / path.name) == before


@pytest.mark.parametrize("name", ["ncnn, another stem", "paddle, split", "onnx, data beside"])
def test_new_weights_are_loaded_after_old_ones(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv(plan_cache.VARIABLE)
    writer, _ = CASES[name]
    path = writer(tmp_path)
    (weights,) = (file for file in importers.files(path) if file != path)

    def outputs() -> list[bytes]:
        session = trimtab.Session(trimtab.load(path))
        ((name, x),) = session.inputs.items()
        values = np.arange(np.prod(x.shape), dtype=np.float32).reshape(x.shape)
        return [y.tobytes() for y in session.run({name: values}).values()]

    before = outputs()
    assert outputs() == before
    content = bytearray(weights.read_bytes())
    content[-2] ^= 0x40  # in the exponent of the last float
    weights.write_bytes(content)
    assert outputs() != before


@pytest.mark.parametrize("layout", ["pdmodel", "combined", "split"])
def test_a_folder_stands_for_the_files_of_its_program(layout: str, tmp_path: Path) -> None:
    path = paddle(layout)(tmp_path / "net")
    (tmp_path / "net" / "notes.txt").write_text("not a part of the model")
    files = importers.files(tmp_path / "net")
    assert files == importers.files(path)
    assert path in files


@pytest.mark.parametrize(
    "location", ["../w.bin", "/etc/passwd", "a/../../w.bin", "missing", "a\0", "x" * 5000]
)
def test_files_outside_of_the_model_s_folder_are_not_its_own(location: str, tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(WEIGHTS.tobytes())
    path = onnx_with(tmp_path / "net", "inside")
    model = onnx.load(path, load_external_data=False)
    model.graph.initializer[0].external_data[0].value = location
    path.write_bytes(model.SerializeToString())
    assert importers.files(path) == [path]


def test_a_damaged_model_has_the_files_that_can_be_told(tmp_path: Path) -> None:
    path = onnx_with(tmp_path, "w.bin")
    content = path.read_bytes()
    for end in range(0, len(content), 7):
        path.write_bytes(content[:end])
        assert importers.files(path) in ([path], [path, tmp_path / "w.bin"])
    path.write_bytes(b"\x3a\xff\xff\xff\xff\x0f" * 50)
    assert external.files(path) == []


def test_a_deep_model_ends_the_search(tmp_path: Path) -> None:
    path, name = tmp_path / "net.onnx", b"w.bin"
    (tmp_path / name.decode()).touch()
    entry = message_field(13, message_field(1, b"location") + message_field(2, name))
    for depth, expected in ((0, [tmp_path / "w.bin"]), (20, [tmp_path / "w.bin"]), (3000, [])):
        graph = message_field(5, entry)
        for _ in range(depth):  # a graph in an attribute of a node
            graph = message_field(1, message_field(5, message_field(6, graph)))
        path.write_bytes(message_field(7, graph))
        assert external.files(path) == expected


def test_every_format_tells_its_files() -> None:
    modules = importers.importers()
    assert modules
    assert [name for name, module in modules.items() if not callable(module.files)] == []
