"""TFLite files: inputs, unsupported operators, damage, and a well-known network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.importers import damage
from tests.importers.caffe_writer import random
from tests.importers.formats import SHAPE, Format, Layer, fault, file
from tests.importers.models import assert_close
from tests.importers.test_tflite_operators import interpreted
from tests.importers.tflite_cases import CASES
from tests.importers.tflite_sequence_cases import lstm
from tests.importers.tflite_writer import Model
from tests.some import some
from trimtab.errors import ModelFileError, UnsupportedOperatorError

X = random(1, 8, 8, 3, seed=1)
CONV: dict[str, Any] = {"StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}


def _network() -> Model:
    """A residual block, a pool and a fully connected layer."""
    net = Model()
    x = net.input(X)
    weight, bias = net.constant(random(4, 3, 3, 3, seed=2)), net.constant(random(4, seed=3))
    shapes, relu = [(1, 8, 8, 4)], {**CONV, "FusedActivationFunction": 1}
    (a,) = net.add("CONV_2D", [x, weight, bias], shapes, "Conv2DOptions", **relu)
    depth = [net.constant(random(1, 3, 3, 4, seed=4)), net.constant(random(4, seed=5))]
    options = {**CONV, "DepthMultiplier": 1, "FusedActivationFunction": 3}
    (b,) = net.add("DEPTHWISE_CONV_2D", [a, *depth], shapes, "DepthwiseConv2DOptions", **options)
    (c,) = net.add("ADD", [a, b], [(1, 8, 8, 4)], "AddOptions")
    (d,) = net.add("MEAN", [c, net.constant([1, 2])], [(1, 4)], "ReducerOptions")
    matrix = net.constant(random(5, 4, seed=6))
    (e,) = net.add("FULLY_CONNECTED", [d, matrix, -1], [(1, 5)], "FullyConnectedOptions")
    net.outputs = net.add("SOFTMAX", [e], [(1, 5)], "SoftmaxOptions", Beta=1.0)
    return net


def _layers(folder: Path, layers: Sequence[Layer], outputs: Sequence[str]) -> Path:
    net = Model()
    places = {"x": net.input(np.zeros(SHAPE, np.float32))}
    for name in (*(name for one in layers for name in (one.reads, one.writes)), *outputs):
        if name not in places:
            places |= {name: net.add("", [], [SHAPE])[0]}
    for name, place in places.items():
        net.tensors[place].name = name
    net.ops = [(one.type, [places[one.reads]], [places[one.writes]], "", {}) for one in layers]
    net.outputs = [places[name] for name in outputs]
    return net.write(folder)


def _unsupported() -> Model:
    net = _network()
    (a,) = net.add("MULTINOMIAL", [0], [X.shape])
    (b,) = net.add("RELU", [a], [X.shape])
    operands = [net.constant([[0]]), net.constant(X[0, 0]), net.input(np.array([3], np.int32))]
    (c,) = net.add("SCATTER_ND", operands, [X.shape])
    net.outputs = [b, c]
    return net


def _int4(type: str) -> Model:
    net = Model()
    x, constant = net.input(X), net.constant(np.zeros(3, np.int8))
    net.tensors[constant].type = 17
    net.outputs = net.add(type, [x, constant], [X.shape])
    return net


def _int8() -> Model:
    """A convolution of int8 operands without a scale."""
    net = Model()
    x = net.input((X * 100).astype(np.int8))
    weight = net.constant(np.ones((4, 3, 3, 3), np.int8), (0.1,), (0,))
    net.outputs = net.add("CONV_2D", [x, weight], [(1, 8, 8, 4)], "Conv2DOptions", "int8", **CONV)
    return net


def _free() -> Model:
    net = Model()
    net.outputs = net.add("RELU", [net.input(X, signature=(-1, 8, -1, 3))], [X.shape])
    return net


_UNREADABLE: list[tuple[Model, str]] = [
    (_int4("ADD"), r"operator 0 \(ADD\).*element type int4"),
    (_int4("MULTINOMIAL"), r"operator 0 \(MULTINOMIAL\).*the engine has no such operator"),
    (_int8(), r"operands are i8"),
    (lstm(False, True, False, False, clip=0.25, steps=257), "clips its cell in 257 steps"),
]
_CONTENTS = b"", b"\x1c\0\0\0TFL3", b"\xff" * 4 + b"TFL3" + b"\xff" * 99

FORMAT = Format(
    network=_network().write,
    feeds={"input_0": X},
    expected=lambda _: {"softmax_12": interpreted(_network())[0]},
    layers=_layers,
    relu="RELU",
    place="operator {index} (",
    resized=(_free().write, (2, 8, 5, 3), (2, 8, 5, 3)),
    unsupported=fault(
        _unsupported().write,
        *("2 layers are", r"operator 6 \(MULTINOMIAL\)"),
        r"operator 8 \(SCATTER_ND\): its shape must be constant",
    ),
    unfit=[fault(_free().write, "does not fit", input_0=(2, 9, 5, 3))],
    mistakes={
        says: fault(net.write, says, kind=UnsupportedOperatorError) for net, says in _UNREADABLE
    }
    | {
        f"{len(c)} bytes": fault(
            file("net.tflite", partial(bytes, c)), "TFLite model", kind=ModelFileError
        )
        for c in _CONTENTS
    },
    models=lambda: {name: model.write for name, model in CASES.items()},
    assigns_once=False,
    structures={"net.tflite": damage.of_words},
)


def test_only_inputs_and_outputs_of_a_network_are_transposed(tmp_path: Path) -> None:
    net = _network()
    program = trimtab.load(net.write(tmp_path))
    assert Counter(op.type for op in program.ops)["transpose"] == 1
    session = trimtab.Session(program)
    assert not {"transpose", "convert_layout"} & {op.type for op in session.program.ops}
    results = session.run({program.inputs[0]: X})
    assert_close(results[program.outputs[0]], interpreted(net)[0], 1e-5)


@pytest.mark.parametrize("crops", [[[0, 0], [0, 0]], [[0, 1], [2, 0]]])
@pytest.mark.parametrize("depthwise", [False, True])
def test_space_to_batch_and_convolution_become_a_dilated_convolution(
    depthwise: bool, crops: list[list[int]], tmp_path: Path
) -> None:
    net = Model()
    x = net.input(X)
    block, pads = net.constant([2, 2]), net.constant(np.array([[2, 2], [2, 2]], np.int32))
    (blocks,) = net.add(
        "SPACE_TO_BATCH_ND", [x, block, pads], [(4, 6, 6, 3)], "SpaceToBatchNDOptions"
    )
    shape, kind = ((1, 3, 3, 3), "DepthwiseConv2D") if depthwise else ((3, 3, 3, 3), "Conv2D")
    weights = [net.constant(random(*shape, seed=2)), net.constant(random(3, seed=3))]
    name = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    more: dict[str, Any] = {"DepthMultiplier": 1} if depthwise else {}
    (y,) = net.add(
        name, [blocks, *weights], [(4, 4, 4, 3)], f"{kind}Options", Padding=1, **more, **CONV
    )
    end = net.constant(np.array(crops, np.int32))
    size = [8 - sum(pair) for pair in crops]
    net.outputs = net.add(
        "BATCH_TO_SPACE_ND", [y, block, end], [(1, *size, 3)], "BatchToSpaceNDOptions"
    )
    program = trimtab.load(net.write(tmp_path))
    (convolution,) = (op for op in program.ops if op.type == "conv")
    assert convolution.attributes["dilations"] == (2, 2)
    assert Counter(op.type for op in program.ops)["transpose"] == 2
    results = trimtab.Session(program).run({program.inputs[0]: X})
    assert_close(results[program.outputs[0]], interpreted(net)[0], 1e-5)


def test_images_that_are_outputs_keep_the_layout_of_the_file(tmp_path: Path) -> None:
    net = _network()
    net.outputs = [net.ops[0][2][0], net.outputs[0]]
    program = trimtab.load(net.write(tmp_path))
    results = trimtab.Session(program).run({program.inputs[0]: X})
    for name, expected in some(zip(program.outputs, interpreted(net), strict=True)):
        assert_close(results[name], expected, 1e-5)


def test_free_dimensions_are_by_default_those_of_the_shape(tmp_path: Path) -> None:
    assert trimtab.load(_free().write(tmp_path)).vars["input_0"].shape == (1, 8, 8, 3)


def test_computed_shapes_are_constant(tmp_path: Path) -> None:
    net = Model()
    x = net.input(X)
    (shape,) = net.add("SHAPE", [x], [(4,)], "ShapeOptions", dtype="int32", OutType=2)
    bounds = [net.constant([0]), net.constant([1]), net.constant([1])]
    (batch,) = net.add(
        "STRIDED_SLICE", [shape, *bounds], [()], "StridedSliceOptions", "int32", ShrinkAxisMask=1
    )
    rest = net.constant(np.array(-1, np.int32))
    (target,) = net.add(
        "PACK", [batch, rest], [(2,)], "PackOptions", "int32", ValuesCount=2, Axis=0
    )
    net.outputs = net.add("RESHAPE", [x, target], [(1, 192)])
    program = trimtab.load(net.write(tmp_path))
    assert [op.type for op in program.ops] == ["reshape"]
    assert program.vars[program.outputs[0]].shape == (1, 192)


def test_where_to_end_a_network_that_nearly_ends_in_an_unsupported_operator(
    tmp_path: Path,
) -> None:
    net = Model()
    (x,) = net.add("RELU", [net.input(X)], [X.shape])
    net.outputs = net.add("PosenetSegments", [x], [X.shape])
    path = net.write(tmp_path)
    with pytest.raises(UnsupportedOperatorError) as caught:
        trimtab.load(path)
    _, _, name = caught.value.hint.partition(" in Python, --tensor ")
    assert f"or end it before them: outputs=['{name}']" in caught.value.hint
    program = trimtab.load(path, outputs=[name])
    assert [op.type for op in program.ops] == ["relu"]
