"""PNNX files: pairs, expressions, tuples, shapes, damage."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers import damage, pnnx_cases, test_pnnx_operators
from tests.importers.caffe_writer import random
from tests.importers.formats import (
    MISSING,
    SHAPE,
    Format,
    Layer,
    Write,
    convolved,
    damaged,
    edited,
    fault,
    without,
)
from tests.importers.pnnx_writer import input_line, line, output_line, write
from tests.ops.cases.case import Array
from trimtab.errors import ImportModelError

X = random(1, 3, 6, 8, seed=3)
W = {"weight": random(4, 3, 3, 3, seed=1), "bias": random(4, seed=2)}
WEIGHTS = {f"conv.{name}": value for name, value in W.items()}
CONV = {"in_channels": 3, "out_channels": 4, "kernel_size": (3, 3), "stride": (1, 1)}


def _network(*shape: int | str) -> list[str]:
    """A convolution and an activation; `shape`: of the input."""
    return [
        input_line("in0", "0", shape or X.shape),
        line("nn.Conv2d", "conv", "0", "1", CONV, weights=W),
        line("F.relu", "relu", "1", "2", keys={"input": "1"}),
        output_line("out0", "2"),
    ]


def _written(lines: Sequence[str], weights: Mapping[str, Array] | None = None) -> Write:
    """Writes lines and weights."""
    return lambda folder: write(folder, lines, weights)


def _expression(text: str, count: int = 1) -> list[str]:
    """A network with inputs `a`, `b`, ... and an expression."""
    names = "abcd"[:count]
    lines = [input_line(f"in{i}", name, (2, 3)) for i, name in enumerate(names)]
    lines.append(line("pnnx.Expression", "e", " ".join(names), "y", {"expr": text}))
    return [*lines, output_line("out", "y")]


def _layers(folder: Path, layers: Sequence[Layer], outputs: Sequence[str]) -> Path:
    lines = [line(one.type, one.name, one.reads, one.writes) for one in layers]
    ends = [output_line(f"out{i}", name) for i, name in enumerate(outputs)]
    return write(folder, [input_line("x", "x", SHAPE), *lines, *ends])


_UNSUPPORTED = [
    input_line("in0", "0", X.shape),
    line("nn.LSTM", "lstm", "0", "1"),
    line("F.relu", "relu", "1", "2"),
    line("F.fold", "fold", "2", "3"),
    line("F.interpolate", "up", "0", "4", {"mode": "bicubic", "size": (9, 9)}),
    line("pnnx.Expression", "e", "0", "5", {"expr": "asin(@0)"}),
    line("nn.ReLU", "odd", "0", "6", {"upside_down": True}),
    output_line("out", "3 4 5 6"),
]


def _compressed(_: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in WEIGHTS.items():
            archive.writestr(name, value.tobytes())
    return content.getvalue()


_net = _written(_network(), WEIGHTS)
_free = _written(_network(1, 3, "?", "?"), WEIGHTS)
_EDITS = [
    ("7767517", "7767518", "first line"),
    ("7767517\n4 3", "7767517\n5 3", "5 operators are announced, 4 follow"),
    ("7767517\n4 3", "7767517\n4", "numbers of operators"),
    ("F.relu relu 1 1 1 2", "F.relu relu 1", "expected a type"),
    ("F.relu relu 1 1 1 2", "F.relu relu 999999999 1 1 2", "are announced"),
    ("F.relu relu 1 1 1 2", "F.relu relu 1 1 9 2", "'9' is not defined"),
    ("F.relu relu 1 1 1 2", "F.relu relu 1 1 1 1", "'1' is defined twice"),
    ("pnnx.Output out0 1 0 2", "pnnx.Outpt out0 1 0 2", "no pnnx.Output"),
    ("@weight=(4,3,3,3)f32", "@weight=[4,3]", "expected a shape"),
    ("@weight=(4,3,3,3)f32", "@wait=(4,3,3,3)f32", "lacks its weights"),
    ("@weight=(4,3,3,3)f32", "@weight=(2,3,6,3)f32", "operator 'conv'"),
    ("#0=(1,3,6,8)f32", "#0=(1,3,2000000000,8)f32", "too large|range|illegal"),
    ("#0=(1,3,6,8)f32", "#0=(1,3,0,8)f32", "not positive"),
    ("#0=(1,3,6,8)f32", "#0=(1,3,6,8)i64", "type i64"),
    ("stride=(1,1)", "stride=(0,1)", "strides"),
    ("stride=(1,1)", "stride=(1,1,1)", "argument stride"),
    ("stride=(1,1)", "stride=up", "argument stride"),
    ("stride=(1,1)", "stride", "name=value"),
]
_SIZES = [
    ("@weight=(4,3,3,3)f32", "@weight=(4,3,3,9)f32", "bytes"),
    ("@weight=(4,3,3,3)f32", "@weight=(99999999999,9999999999,3,9)f32", "bytes"),
]
_EXPRESSIONS = (
    *("add(@0", "add(@0,@9)", "@0)", "add(" * 300, "div(1,0)", "pow(9,99999)", "[@0"),
    "size(@0,9)",
)
_NESTED = [
    input_line("in0", "0", (1, 2)),
    *(line("prim::TupleConstruct", f"t{i}", f"{i} {i}", f"{i + 1}") for i in range(60)),
    output_line("out", "60"),
]

_FLATTENED = [
    input_line("in0", "0", X.shape),
    line("torch.flatten", "flat", "0", "1", {"start_dim": 2, "end_dim": 1}),
    output_line("out", "1"),
]

FORMAT = Format(
    network=_net,
    feeds={"in0": X},
    expected=lambda _: {"out0": convolved(X, *W.values())},
    layers=_layers,
    relu="F.relu",
    resized=(_free, (2, 3, 9, 9), (2, 4, 7, 7)),
    unsupported=fault(
        _written(_UNSUPPORTED),
        *("5 layers are", r"'lstm' \(nn.LSTM\), line 4", r"'fold' \(F.fold\)", "bicubic"),
        *("'asin'", "upside_down"),
        never="'relu'",
    ),
    free=fault(_free, r"\[1, 3, \?, \?\]"),
    mistakes={
        **edited(_net, _EDITS),
        "axes in reverse": fault(
            _written(_FLATTENED), "first axis 2 is behind its last axis 1", kind=ImportModelError
        ),
        "nested lists": fault(_written(_NESTED), "more than 1000", kind=ImportModelError),
        **{
            text[:20]: fault(_written(_expression(text)), "operator 'e'", kind=ImportModelError)
            for text in _EXPRESSIONS
        },
    },
    weights=[
        fault(without(_net, "net.pnnx.bin"), MISSING, hint=".pnnx.bin"),
        *edited(_net, _SIZES).values(),
        fault(damaged(_net, "net.pnnx.bin", _compressed), "compressed"),
        fault(damaged(_net, "net.pnnx.bin", lambda _: b"PK"), "does not contain the weights"),
    ],
    models=lambda: {
        case.name: partial(test_pnnx_operators.write_case, case) for case in pnnx_cases.cases()
    },
    structures={"net.pnnx.param": damage.of_text, "net.pnnx.bin": damage.of_zip},
)


def _run(path: Path, *inputs: Array) -> list[Array]:
    program = trimtab.load(path)
    results = trimtab.Session(program).run(dict(zip(program.inputs, inputs, strict=True)))
    return list(results.values())


def test_names_of_tensors_are_unchanged(tmp_path: Path) -> None:
    assert "1" in trimtab.load(_net(tmp_path)).vars


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("add(@0,mul(@1,2))", lambda a, b: a + 2 * b),
        ("sub(1,div(@0,3.5e-1))", lambda a, b: 1 - a / 0.35),
        ("pow(sqrt(abs(@0)),2)", lambda a, b: abs(a)),
        ("pow(abs(@0),1.5)", lambda a, b: abs(a) ** 1.5),
        ("maximum(@0,minimum(@1,0.5))", lambda a, b: np.maximum(a, np.minimum(b, 0.5))),
        ("rsqrt(exp(neg(@0)))", lambda a, b: np.exp(a / 2)),
        ("reciprocal(add(square(@0),1))", lambda a, b: 1 / (a * a + 1)),
        ("round(mul(floor(@0),ceil(@1)))", lambda a, b: np.floor(a) * np.ceil(b)),
        ("add(sin(@0),cos(@1))", lambda a, b: np.sin(a) + np.cos(b)),
        ("log(add(tanh(@0),sigmoid(@1)))", None),
        ("mul(@0,size(@1,1))", lambda a, b: a * 3),
        ("mul(@0,int(floor_divide(size(@0,-1),2)))", lambda a, b: a),
    ],
)
def test_expressions_have_the_expected_values(text: str, reference: object, tmp_path: Path) -> None:
    a, b = random(2, 3, seed=1, low=0.1), random(2, 3, seed=2, low=0.1)
    (actual,) = _run(write(tmp_path, _expression(text, 2)), a, b)
    expected = (
        reference(a.astype(np.float64), b.astype(np.float64))
        if callable(reference)
        else np.log(np.tanh(a) + 1 / (1 + np.exp(-b)))
    )
    np.testing.assert_allclose(actual, expected, 1e-5, 1e-6)


def test_shapes_that_are_computed_from_shapes_are_constant(tmp_path: Path) -> None:
    lines = [
        input_line("in0", "0", X.shape),
        line("Tensor.size", "s", "0", "n", {"dim": 1}),
        line("pnnx.Expression", "e", "0 n", "shape", {"expr": "[size(@0,0),mul(@1,2),-1]"}),
        line("Tensor.reshape", "r", "0 shape", "1", keys={"input": "0", "shape": "shape"}),
        output_line("out0", "1"),
    ]
    (actual,) = _run(write(tmp_path, lines), X)
    np.testing.assert_array_equal(actual, X.reshape(1, 6, -1))


def test_constants_take_part_in_expressions(tmp_path: Path) -> None:
    scale = np.array([[1.0, 2.0, 3.0]], np.float64)
    steps = np.array([1, 2, 3], np.int64)
    lines = [
        input_line("in0", "a", (2, 3)),
        line("pnnx.Attribute", "scale", "", "b", weights={"data": scale}),
        line("pnnx.Attribute", "steps", "", "c", weights={"data": steps}),
        line("pnnx.Expression", "e", "a b c", "y", {"expr": "add(mul(@0,@1),@2)"}),
        output_line("out", "y"),
    ]
    a = random(2, 3)
    (actual,) = _run(write(tmp_path, lines, {"scale.data": scale, "steps.data": steps}), a)
    np.testing.assert_allclose(actual, a * scale + steps, 1e-6)


def test_tuples_are_constructed_and_unpacked(tmp_path: Path) -> None:
    lines = [
        input_line("in0", "0", X.shape),
        line("torch.chunk", "c", "0", "parts", {"chunks": 3, "dim": 1}),
        line("prim::ListUnpack", "u", "parts", "a b c"),
        line("prim::TupleConstruct", "t", "c a", "pair"),
        line("torch.cat", "cat", "parts", "all", {"dim": 1}),
        line("prim::TupleConstruct", "n", "pair all", "nested"),
        output_line("out", "nested"),
    ]
    program = trimtab.load(write(tmp_path, lines))
    assert program.outputs == ["out_0", "out_1", "out_2"]
    c, a, whole = _run(tmp_path / "net.pnnx.param", X)
    np.testing.assert_array_equal(c, X[:, 2:])
    np.testing.assert_array_equal(a, X[:, :1])
    np.testing.assert_array_equal(whole, X)


def test_several_axes_are_sliced_at_once(tmp_path: Path) -> None:
    params = {
        "dims": (1, 2, 3),
        "starts": (0, 1, 0),
        "ends": (0, -1, 2147483647),
        "steps": (1, 2, 3),
        "selects": (-1, 2147483647, 2147483647),
    }
    lines = [
        input_line("in0", "0", X.shape),
        line("Tensor.slice", "s", "0", "1", params, keys={"input": "0"}),
        line("Tensor.select", "t", "1", "2", {"dim": 0, "index": 0}),
        line("Tensor.expand", "x", "2", "3", {"sizes": (2, -1, -1)}),
        line("Tensor.repeat", "y", "3", "4", {"sizes": (1, 1, 2)}),
        output_line("out", "1 4"),
    ]
    cut, repeated = _run(write(tmp_path, lines), X)
    reference = X[:, -1, 1:-1:2, ::3]
    np.testing.assert_array_equal(cut, reference)
    np.testing.assert_array_equal(repeated, np.tile(reference.repeat(2, 0), (1, 1, 2)))
