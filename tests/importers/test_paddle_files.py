"""Paddle files: layouts, shapes, unsupported operators, damage, and well-known networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.importers import damage
from tests.importers.caffe_writer import random
from tests.importers.formats import SHAPE, Fault, Format, Layer, convolved, damaged, fault, without
from tests.importers.models import assert_close, golden, model
from tests.importers.paddle_record import CASES
from tests.importers.paddle_writer import Net, stream
from trimtab.errors import ImportModelError

X = random(1, 3, 6, 8, seed=3)
WEIGHTS, BIAS = random(4, 3, 3, 3, seed=1), random(4, seed=2)
CONV: dict[str, Any] = {"strides": [1, 1], "paddings": [0, 0], "dilations": [1, 1], "groups": 1}


def _net(*declared: int, bias: int = 4, **attributes: Any) -> Net:
    """A convolution, its bias as a separate operator, and an in-place activation; `declared`: the
    shape of the input, `attributes`: of the convolution.
    """
    parameters = {"weights": WEIGHTS, "bias": random(bias, seed=2)}
    net = Net({"x": X}, {**parameters, "an unused one": random(5)}, fetches=["sum"])
    net.declared = {"x": declared} if declared else {}
    convolution = {"Input": "x", "Filter": "weights"}
    net.add("conv2d", convolution, {"Output": "product"}, **{**CONV, **attributes})
    net.add("elementwise_add", {"X": "product", "Y": "bias"}, {"Out": "sum"}, axis=1)
    return net.add("relu", {"X": "sum"}, {"Out": "sum"})


def _layers(folder: Path, layers: Sequence[Layer], outputs: Sequence[str]) -> Path:
    net = Net({"x": np.zeros(SHAPE, np.float32)}, fetches=list(outputs))
    for one in layers:
        net.add(one.type, {"X": one.reads}, {"Out": one.writes})
    return net.write(folder)


def _unsupported() -> Net:
    net = _net()
    net.add("sequence_pool", {"X": "sum"}, {"Out": "a"})
    net.add("relu", {"X": "a"}, {"Out": "b"})
    net.add("pool2d", {"X": "x"}, {"Out": "c"}, pooling_type="median", ksize=[2, 2])
    net.add("conv2d", {"Input": "x", "Filter": "b"}, {"Output": "d"}, **CONV)
    return net.add("elementwise_floordiv", {"X": "x", "Y": "x"}, {"Out": "e"})


def _split(folder: Path) -> Path:
    return _net().write(folder, "split")


def _of_another(folder: Path) -> Path:
    """Writes a program, and the parameters of another one beside it."""
    path = _net().write(folder)
    path.write_bytes(_net(bias=5).program())
    return path


def _outside(folder: Path) -> Path:
    """Writes a program with a parameter whose file were in the folder above."""
    net = Net({"x": X}, {"../secret": X}, fetches=["y"])
    net.add("elementwise_add", {"X": "x", "Y": "../secret"}, {"Out": "y"})
    (folder / "net").mkdir()
    return net.write(folder / "net", "split")


def _changed(change: Callable[[bytes], bytes], says: str) -> Fault:
    return fault(damaged(_net().write, "net.pdiparams", change), says)


_ATTRIBUTES: list[tuple[dict[str, Any], str]] = [
    ({"strides": [0, 1]}, "stride"),
    ({"groups": 0}, "groups"),
    ({"groups": 2}, "groups"),
    ({"paddings": [-1, 0]}, "pads"),
    ({"paddings": [1, 2, 3]}, "paddings"),
    ({"dilations": [1000000, 1]}, "window|too large"),
    ({"strides": [1, 1, 1]}, "two values"),
    ({"strides": "both"}, "malformed"),
]
_END = sum(len(stream(value)) for value in _net().parameters.values())

FORMAT = Format(
    network=_net().write,
    feeds={"x": X},
    expected=lambda _: {"sum": convolved(X, WEIGHTS, BIAS)},
    layers=_layers,
    relu="relu",
    place="'{writes}' ({type})",
    resized=(_net(-1, 3, 6, 8).write, (2, 3, 6, 8), (2, 4, 4, 6)),
    unsupported=fault(
        _unsupported().write,
        *("3 layers are", r"operator 4 'a' \(sequence_pool\)", r"'c' \(pool2d\)", "median", "'e'"),
    ),
    free=fault(_net(-1, 3, -1, 8).write, r"\[\?, 3, \?, 8\]"),
    unfit=[fault(_net(-1, 3, 6, 8).write, "does not fit", x=(2, 3, 7, 8))],
    mistakes={
        "input without declaration": fault(
            damaged(_net().write, "net.pdmodel", lambda data: data.replace(b"\n\x01x", b"\n\x01w")),
            *("input 'x' is not declared",),
            kind=ImportModelError,
        ),
        **{
            f"attribute {i}, {says}": fault(
                _net(**attributes).write, says, r"'product' \(conv2d\)", kind=ImportModelError
            )
            for i, (attributes, says) in enumerate(_ATTRIBUTES)
        },
    },
    weights=[
        fault(without(_split, "weights"), "'weights'"),
        fault(_of_another, "the program has"),
        fault(_outside, "not a valid name for the file of a parameter"),
        _changed(lambda content: content + b"more", f"byte {_END}: 4 bytes remain"),
        _changed(lambda content: content[:-1], "'weights' cannot be read"),
        _changed(lambda content: content[:4] + b"\xff" * 8 + content[12:], "levels of detail"),
    ],
    models=lambda: {name: net.write for name, net in CASES.items()},
    structures={"net.pdmodel": damage.of_protobuf},
    assigns_once=False,
)

LAYOUTS = ("pdmodel", "combined", "split")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_layouts_of_files_are_one_program(layout: str, tmp_path: Path) -> None:
    path = _net().write(tmp_path / "net", layout)
    folder_too = (path, tmp_path / "net")
    parameters = {"pdmodel": "net.pdiparams", "combined": "__params__"}.get(layout)
    for given_path in (*folder_too, *([path.parent / parameters] if parameters else [])):
        program = trimtab.load(given_path)
        assert (program.name, program.inputs, program.outputs) == ("net", ["x"], ["sum"])
        assert [op.type for op in program.ops] == ["conv", "add", "relu"]
        assert_close(
            trimtab.Session(program).run({"x": X})["sum"], convolved(X, WEIGHTS, BIAS), 1e-5
        )


def test_a_combined_file_may_have_any_name_if_it_is_the_only_one(tmp_path: Path) -> None:
    path = _net().write(tmp_path, "combined")
    (tmp_path / "__params__").rename(tmp_path / "everything.bin")
    assert trimtab.load(path).outputs == ["sum"]


def test_addition_and_activation_become_part_of_the_convolution(tmp_path: Path) -> None:
    program = trimtab.load(_net().write(tmp_path))
    planned = trimtab.Session(program).program
    assert [op.type for op in planned.steps if op.type != "convert_layout"] == ["conv"]


def test_a_free_batch_is_one(tmp_path: Path) -> None:
    assert trimtab.load(_net(-1, 3, 6, 8).write(tmp_path)).vars["x"].shape == (1, 3, 6, 8)


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
