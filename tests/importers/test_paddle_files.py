"""Paddle files: layouts, shapes, unsupported operators, damage, and well-known networks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers.caffe_writer import random
from tests.importers.models import assert_close, golden, model
from tests.importers.paddle_writer import Net
from tests.ops.cases.case import Array
from trimtab.errors import (
    DynamicShapeError,
    ImportModelError,
    ModelFileError,
    UnsupportedOperatorError,
)

X = random(1, 3, 6, 8, seed=3)
LAYOUTS = ("pdmodel", "combined", "split")
CONV = {"strides": [1, 1], "paddings": [0, 0], "dilations": [1, 1], "groups": 1}


def _net() -> Net:
    """A convolution, its bias as a separate operator, and an in-place activation."""
    parameters = {"weights": random(4, 3, 3, 3, seed=1), "bias": random(4, seed=2)}
    net = Net({"x": X}, {**parameters, "an unused one": random(5)}, fetches=["sum"])
    net.add("conv2d", {"Input": "x", "Filter": "weights"}, {"Output": "product"}, **CONV)
    net.add("elementwise_add", {"X": "product", "Y": "bias"}, {"Out": "sum"}, axis=1)
    return net.add("relu", {"X": "sum"}, {"Out": "sum"})


def _expected() -> Array:
    net = _net()
    weights, bias = (net.parameters[n].astype(np.float64) for n in ("weights", "bias"))
    windows = np.lib.stride_tricks.sliding_window_view(X[0], (3, 3), (1, 2))
    result = np.einsum("cyxij,mcij->myx", windows, weights) + bias[:, None, None]
    return np.asarray(result.clip(0)[None], np.float32)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_layouts_of_files_are_one_program(layout: str, tmp_path: Path) -> None:
    path = _net().write(tmp_path / "net", layout)
    folder_too = (path, tmp_path / "net")
    parameters = {"pdmodel": "net.pdiparams", "combined": "__params__"}.get(layout)
    for given_path in (*folder_too, *([path.parent / parameters] if parameters else [])):
        program = trimtab.load(given_path)
        assert (program.name, program.inputs, program.outputs) == ("net", ["x"], ["sum"])
        assert [op.type for op in program.ops] == ["conv", "add", "relu"]
        assert_close(trimtab.Session(program).run({"x": X})["sum"], _expected(), 1e-5)


def test_a_combined_file_may_have_any_name_if_it_is_the_only_one(tmp_path: Path) -> None:
    path = _net().write(tmp_path, "combined")
    (tmp_path / "__params__").rename(tmp_path / "everything.bin")
    assert trimtab.load(path).outputs == ["sum"]


def test_addition_and_activation_become_part_of_the_convolution(tmp_path: Path) -> None:
    program = trimtab.load(_net().write(tmp_path))
    planned = trimtab.Session(program).program
    assert [op.type for op in planned.steps if op.type != "convert_layout"] == ["conv"]


def test_a_free_batch_is_one_and_other_free_dimensions_must_be_given(tmp_path: Path) -> None:
    net = _net()
    net.declared = {"x": (-1, 3, 6, 8)}
    path = net.write(tmp_path)
    assert trimtab.load(path).vars["x"].shape == (1, 3, 6, 8)
    assert trimtab.load(path, {"x": (2, 3, 6, 8)}).vars["sum"].shape == (2, 4, 4, 6)
    with pytest.raises(ImportModelError, match="does not fit"):
        trimtab.load(path, {"x": (2, 3, 7, 8)})
    with pytest.raises(ImportModelError, match="no input 'image'"):
        trimtab.load(path, {"image": (2, 3, 6, 8)})
    net.declared = {"x": (-1, 3, -1, 8)}
    with pytest.raises(DynamicShapeError, match=r"\[\?, 3, \?, 8\]"):
        trimtab.load(net.write(tmp_path))


def test_all_unsupported_operators_are_named_at_once(tmp_path: Path) -> None:
    net = _net()
    net.add("sequence_pool", {"X": "sum"}, {"Out": "a"})
    net.add("relu", {"X": "a"}, {"Out": "b"})
    net.add("pool2d", {"X": "x"}, {"Out": "c"}, pooling_type="median", ksize=[2, 2])
    net.add("conv2d", {"Input": "x", "Filter": "b"}, {"Output": "d"}, **CONV)
    net.add("elementwise_floordiv", {"X": "x", "Y": "x"}, {"Out": "e"})
    with pytest.raises(UnsupportedOperatorError, match="3 layers are") as caught:
        trimtab.load(net.write(tmp_path))
    message = str(caught.value)
    for part in ("operator 4 'a' (sequence_pool)", "'c' (pool2d)", "median", "'e'"):
        assert part in message


def test_missing_parameters_are_an_error_that_names_them(tmp_path: Path) -> None:
    path = _net().write(tmp_path, "split")
    (tmp_path / "weights").unlink()
    with pytest.raises(ModelFileError, match="'weights'"):
        trimtab.load(path)


def test_parameters_of_another_program_are_refused(tmp_path: Path) -> None:
    path = _net().write(tmp_path)
    parameters = tmp_path / "net.pdiparams"
    content = parameters.read_bytes()
    parameters.write_bytes(content + b"more")
    with pytest.raises(ModelFileError, match=f"4 bytes remain.*|.*byte {len(content)}"):
        trimtab.load(path)
    parameters.write_bytes(content[:-1])
    with pytest.raises(ModelFileError, match="'weights' cannot be read"):
        trimtab.load(path)
    net = _net()
    net.parameters["bias"] = random(5, seed=2)
    path.write_bytes(net.program())
    parameters.write_bytes(content)
    with pytest.raises(ModelFileError, match="the program has"):
        trimtab.load(path)


def test_the_name_of_a_parameter_cannot_leave_its_folder(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    net = Net({"x": X}, {"../secret": X}, fetches=["y"])
    net.add("elementwise_add", {"X": "x", "Y": "../secret"}, {"Out": "y"})
    path = tmp_path / "net" / "__model__"
    path.parent.mkdir()
    path.write_bytes(net.program())
    with pytest.raises(ModelFileError, match="not a valid name for the file of a parameter"):
        trimtab.load(path)


@pytest.mark.parametrize(
    ("attributes", "match"),
    [
        ({"strides": [0, 1]}, "stride"),
        ({"groups": 0}, "groups"),
        ({"groups": 2}, "groups"),
        ({"paddings": [-1, 0]}, "pads"),
        ({"paddings": [1, 2, 3]}, "paddings"),
        ({"dilations": [1000000, 1]}, "window|too large"),
        ({"strides": [1, 1, 1]}, "two values"),
        ({"strides": "both"}, "malformed"),
    ],
)
def test_impossible_attributes_are_refused(
    attributes: dict[str, object], match: str, tmp_path: Path
) -> None:
    net = _net()
    type, inputs, outputs, _ = net.ops[0]
    net.ops[0] = type, inputs, outputs, {**CONV, **attributes}
    with pytest.raises(ImportModelError, match=match) as caught:
        trimtab.load(net.write(tmp_path))
    assert "'product' (conv2d)" in str(caught.value)


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
def test_pad2d_of_old_programs_pads_as_numpy_does(mode: str, tmp_path: Path) -> None:
    net = Net({"x": X}, fetches=["y"])
    net.add("pad2d", {"X": "x"}, {"Out": "y"}, paddings=[1, 2, 3, 0], mode=mode, pad_value=0.5)
    amounts = ((0, 0), (0, 0), (1, 2), (3, 0))
    expected = (
        np.pad(X, amounts, constant_values=0.5)
        if mode == "constant"
        else np.pad(X, amounts, "reflect" if mode == "reflect" else "edge")
    )
    actual = trimtab.Session(trimtab.load(net.write(tmp_path))).run({"x": X})["y"]
    np.testing.assert_array_equal(actual, expected)


def test_a_hard_swish_with_other_bounds_follows_its_formula(tmp_path: Path) -> None:
    net = Net({"x": 3 * X}, fetches=["y"])
    net.add("hard_swish", {"X": "x"}, {"Out": "y"}, threshold=4.0, scale=5.0, offset=2.0)
    actual = trimtab.Session(trimtab.load(net.write(tmp_path))).run({"x": 3 * X})["y"]
    np.testing.assert_allclose(actual, 3 * X * (3 * X + 2).clip(0, 4) / 5, 0, 1e-6)


def test_damaged_sizes_are_refused_without_allocating(tmp_path: Path) -> None:
    path = _net().write(tmp_path)
    content = bytearray((tmp_path / "net.pdiparams").read_bytes())
    content[4:12] = b"\xff" * 8  # levels of detail of the first tensor
    (tmp_path / "net.pdiparams").write_bytes(content)
    with pytest.raises(ModelFileError, match="levels of detail"):
        trimtab.load(path)


@pytest.mark.parametrize(
    ("folder", "file"),
    [
        ("squeezenet_paddle_split", "model"),
        ("squeezenet_paddle_split", "model/__model__"),
        ("mtcnn_pnet_paddle_combined", "PNet.pdmodel"),
    ],
)
def test_real_networks_compute_their_golden_output(folder: str, file: str) -> None:
    path = model(folder, file)
    inputs, outputs = golden(model(folder, "golden.npz"))
    name = {"model": "data", "__model__": "data"}.get(path.name, "x")
    program = trimtab.load(path, {name: inputs[0].shape})
    results = trimtab.Session(program).run({name: inputs[0]})
    assert sorted(results) == sorted(outputs)
    for output, expected in outputs.items():
        assert_close(results[output], expected)
