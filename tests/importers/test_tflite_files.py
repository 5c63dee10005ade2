"""TFLite files: inputs, unsupported operators, damage, and a well-known network."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.importers.caffe_writer import random
from tests.importers.models import assert_close
from tests.importers.test_tflite_operators import interpreted
from tests.importers.tflite_sequence_cases import lstm
from tests.importers.tflite_writer import Model
from tests.some import some
from trimtab.errors import (
    ImportModelError,
    ModelFileError,
    UnsupportedOperatorError,
)

X = random(1, 8, 8, 3, seed=1)
CONV: dict[str, Any] = {"StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}


def _network() -> Model:
    """A residual block, a pool and a fully connected layer."""
    net = Model()
    x = net.input(X)
    weight, bias = net.constant(random(4, 3, 3, 3, seed=2)), net.constant(random(4, seed=3))
    (a,) = net.add(
        "CONV_2D",
        [x, weight, bias],
        [(1, 8, 8, 4)],
        "Conv2DOptions",
        FusedActivationFunction=1,
        **CONV,
    )
    depth, depth_bias = net.constant(random(1, 3, 3, 4, seed=4)), net.constant(random(4, seed=5))
    (b,) = net.add(
        "DEPTHWISE_CONV_2D",
        [a, depth, depth_bias],
        [(1, 8, 8, 4)],
        "DepthwiseConv2DOptions",
        DepthMultiplier=1,
        FusedActivationFunction=3,
        **CONV,
    )
    (c,) = net.add("ADD", [a, b], [(1, 8, 8, 4)], "AddOptions")
    (d,) = net.add("MEAN", [c, net.constant([1, 2])], [(1, 4)], "ReducerOptions")
    matrix = net.constant(random(5, 4, seed=6))
    (e,) = net.add("FULLY_CONNECTED", [d, matrix, -1], [(1, 5)], "FullyConnectedOptions")
    net.outputs = net.add("SOFTMAX", [e], [(1, 5)], "SoftmaxOptions", Beta=1.0)
    return net


def _write(net: Model, folder: Path) -> Path:
    path = folder / "net.tflite"
    path.write_bytes(net.bytes())
    return path


def test_only_inputs_and_outputs_of_a_network_are_transposed(tmp_path: Path) -> None:
    net = _network()
    program = trimtab.load(_write(net, tmp_path))
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
    program = trimtab.load(_write(net, tmp_path))
    (convolution,) = (op for op in program.ops if op.type == "conv")
    assert convolution.attributes["dilations"] == (2, 2)
    assert Counter(op.type for op in program.ops)["transpose"] == 2
    results = trimtab.Session(program).run({program.inputs[0]: X})
    assert_close(results[program.outputs[0]], interpreted(net)[0], 1e-5)


def test_images_that_are_outputs_keep_the_layout_of_the_file(tmp_path: Path) -> None:
    net = _network()
    net.outputs = [net.ops[0][2][0], net.outputs[0]]
    program = trimtab.load(_write(net, tmp_path))
    results = trimtab.Session(program).run({program.inputs[0]: X})
    for name, expected in some(zip(program.outputs, interpreted(net), strict=True)):
        assert_close(results[name], expected, 1e-5)


def test_free_dimensions_can_be_given_and_fixed_ones_cannot(tmp_path: Path) -> None:
    net = Model()
    x = net.input(X, signature=(-1, 8, -1, 3))
    net.outputs = net.add("RELU", [x], [X.shape])
    path = _write(net, tmp_path)
    assert trimtab.load(path).vars["input_0"].shape == (1, 8, 8, 3)
    assert trimtab.load(path, {"input_0": (2, 8, 5, 3)}).vars["input_0"].shape == (2, 8, 5, 3)
    with pytest.raises(ImportModelError, match="does not fit"):
        trimtab.load(path, {"input_0": (2, 9, 5, 3)})
    with pytest.raises(ImportModelError, match="no input 'image'"):
        trimtab.load(path, {"image": (2, 8, 5, 3)})


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
    program = trimtab.load(_write(net, tmp_path))
    assert [op.type for op in program.ops] == ["reshape"]
    assert program.vars[program.outputs[0]].shape == (1, 192)


def test_all_unsupported_operators_are_named_at_once(tmp_path: Path) -> None:
    net = _network()
    (a,) = net.add("MULTINOMIAL", [0], [X.shape])
    (b,) = net.add("RELU", [a], [X.shape])
    operands = [net.constant([[0]]), net.constant(X[0, 0]), net.input(np.array([3], np.int32))]
    (c,) = net.add("SCATTER_ND", operands, [X.shape])
    net.outputs = [b, c]
    with pytest.raises(UnsupportedOperatorError, match="2 layers are") as caught:
        trimtab.load(_write(net, tmp_path))
    message = str(caught.value)
    assert "operator 6 (MULTINOMIAL)" in message
    assert "operator 8 (SCATTER_ND): its shape must be constant" in message


@pytest.mark.parametrize(
    ("type", "reason"),
    [("ADD", "element type number 17"), ("MULTINOMIAL", "the engine has no such operator")],
)
def test_an_operator_with_a_constant_that_cannot_be_read_is_named(
    type: str, reason: str, tmp_path: Path
) -> None:
    net = Model()
    x, constant = net.input(X), net.constant(np.zeros(3, np.int8))
    net.tensors[constant].type = 17  # int4
    net.outputs = net.add(type, [x, constant], [X.shape])
    path = tmp_path / "net.tflite"
    path.write_bytes(net.bytes())
    with pytest.raises(UnsupportedOperatorError) as error:
        trimtab.load(path)
    assert f"operator 0 ({type})" in str(error.value)
    assert reason in str(error.value)


def test_a_cell_that_is_clipped_in_many_steps_is_refused(tmp_path: Path) -> None:
    net = lstm(False, True, False, False, clip=0.25, steps=257)
    with pytest.raises(UnsupportedOperatorError, match="clips its cell in 257 steps"):
        trimtab.load(_write(net, tmp_path))


def test_where_to_end_a_network_that_nearly_ends_in_an_unsupported_operator(
    tmp_path: Path,
) -> None:
    net = Model()
    (x,) = net.add("RELU", [net.input(X)], [X.shape])
    net.outputs = net.add("PosenetSegments", [x], [X.shape])
    path = _write(net, tmp_path)
    with pytest.raises(UnsupportedOperatorError) as caught:
        trimtab.load(path)
    _, _, name = caught.value.hint.partition(" in Python, --tensor ")
    assert f"or end it before them: outputs=['{name}']" in caught.value.hint
    program = trimtab.load(path, outputs=[name])
    assert [op.type for op in program.ops] == ["relu"]


def test_int8_operands_without_a_scale_are_refused(tmp_path: Path) -> None:
    net = Model()
    x = net.input((X * 100).astype(np.int8))
    weight = net.constant(np.ones((4, 3, 3, 3), np.int8), (0.1,), (0,))
    net.outputs = net.add("CONV_2D", [x, weight], [(1, 8, 8, 4)], "Conv2DOptions", "int8", **CONV)
    with pytest.raises(UnsupportedOperatorError, match=r"operands are i8"):
        trimtab.load(_write(net, tmp_path))


@pytest.mark.parametrize("content", [b"", b"\x1c\0\0\0TFL3", b"\xff" * 4 + b"TFL3" + b"\xff" * 99])
def test_a_file_that_is_not_a_model_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="TFLite model") as caught:
        trimtab.load(path)
    assert str(path) in str(caught.value)
