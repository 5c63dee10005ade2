"""ncnn files: pairs, variants, names, shapes, damage."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import trimtab
from tests.importers import (
    damage,
    ncnn_cases,
    ncnn_rare_cases,
    test_ncnn_detection,
    test_ncnn_regions,
)
from tests.importers.caffe_writer import random
from tests.importers.formats import (
    MISSING,
    SHAPE,
    Fault,
    Format,
    Layer,
    Write,
    edited,
    fault,
    file,
    without,
)
from tests.importers.ncnn_writer import Tagged, head, line, run_ncnn, write
from tests.ops.cases.case import Array
from trimtab.errors import (
    DynamicShapeError,
    ImportModelError,
    UnsupportedOperatorError,
)
from trimtab.importers.ncnn_ops import spec
from trimtab.importers.ncnn_ops.param import ParamLayer

X = random(3, 6, 8, seed=3)
WEIGHTS = (Tagged(random(4, 3, 3, 3, seed=1)), random(4, seed=2), random(4, seed=4), random(4))


def _network(data: str = head({"data": X.shape})[0]) -> list[str]:
    """Layers with weights of both kinds, a split, a constant, and two ends."""
    return [
        data,
        line("Convolution", "data", "conv", {0: 4, 1: 3, 5: 1, 6: 108}),
        line("Scale", "conv", "scaled", {0: 4, 1: 1}),
        line("Split", "scaled", "a b"),
        line("Pooling", "a", "pool", {0: 1, 4: 1}),
        line("ReLU", "b", "relu"),
    ]


def _written(lines: Sequence[str], weights: Sequence[Array | Tagged] = ()) -> Write:
    """Writes lines and weights."""
    return lambda folder: write(folder, lines, weights)


def _expected(path: Path) -> Mapping[str, Array]:
    pool, relu = run_ncnn(path, {"data": X}, ["pool", "relu"])
    return {"pool": pool[np.newaxis], "relu": relu[np.newaxis]}


def _layers(folder: Path, layers: Sequence[Layer], outputs: Sequence[str]) -> Path:
    lines = [line(one.type, one.reads, one.writes, name=one.name) for one in layers]
    return write(folder, [*head({"x": SHAPE[1:]}), *lines])


_UNSUPPORTED = [
    *head({"data": X.shape}),
    line("Unheard", "data", "a"),
    line("ReLU", "a", "b"),
    line("Spectrogram", "b", "c"),
    line("Interp", "data", "d", {0: 5, 1: 2.0, 2: 2.0}),
    line("ReLU", "data", "e", {7: 5}),
    line("InnerProduct", "data", "f", {0: 4, 2: 576, 8: 1}),
]
_MAGIC = (7767517).to_bytes(4, "little")
_EXPRESSIONS = (
    *("+(0w", "0w 0h", "bad(0w)", "9w", "/(1,0)", "-(0w,0w),1"),
    "+(1," * 200 + "1" + ")" * 200,
)


def _expression(text: str) -> Fault:
    lines = [*head({"data": X.shape}), line("Reshape", "data", "y", {6: text})]
    return fault(_written(lines), r"'y' \(Reshape\)", kind=ImportModelError)


def _models() -> Mapping[str, Write]:
    result = {}
    for case in (*ncnn_cases.cases(), *ncnn_rare_cases.cases()):
        shapes = {name: value.shape for name, value in case.inputs.items()}
        tops = "y" if case.tops == 1 else " ".join(f"y{i}" for i in range(case.tops))
        layer = line(case.type, " ".join(shapes), tops, case.params)
        result[f"{case.type}-{case.id}"] = _written([*head(shapes), layer], case.weights)
    rows = head({"x0": (27, 5, 7), "x1": (27, 10, 14)})
    for type, params in test_ncnn_detection.YOLO.items():
        result[type] = _written([*rows, line(type, "x0 x1", "y", params)])
    result["Proposal"] = _written(test_ncnn_regions.lines((2, 3)))
    result["SPP"] = _written([*head({"x": (3, 5, 7)}), line("SPP", "x", "y", {1: 3})])
    return result


_net = _written(_network(), WEIGHTS)
_EDITS = [
    ("7767517", "7767518", "first line"),
    ("7767517\n6 7", "7767517\n7 7", "7 layers are announced, 6 follow"),
    ("7767517\n6 7", "7767517\nsix", "numbers of layers"),
    ("Pooling pool 1 1 a pool", "Pooling pool 1", "expected a type"),
    ("Pooling pool 1 1 a pool", "Pooling pool 1 999999999 a pool", "are announced"),
    ("Pooling pool 1 1 a pool", "Pooling pool 1 4 a pool", "are announced, 4 are named"),
    ("Pooling pool 1 1 a", "Pooling pool 1 1 z", "'z' is not defined"),
    ("ReLU relu 1 1 b relu", "ReLU relu 1 1 b pool", "'pool' is defined twice"),
    ("0=1 4=1", "0=one 4=1", "not an integer"),
    ("0=1 4=1", "0=1 4", "expected parameters"),
    ("0=1 4=1", "-23300=3,1,1 4=1", "announces"),
    ("0=4 1=3 5=1", "0=5 1=3 5=1", "108 weights, 135"),
    ("0=4 1=3 5=1 6=108", "0=4 1=3 5=1 6=1000000000000", "announces"),
    ("0=4 1=3 5=1", "0=1000000000000 1=3 5=1", "announces"),
    ("0=4 1=3 5=1", "0=-4 1=3 5=1", "groups do not divide"),
    ("1=3 5=1", "1=3 3=0 5=1", "strides"),
    ("1=3 5=1", "1=3 4=4000000000 5=1", "pads|range"),
    ("1=3 5=1", "1=3 9=3 5=1", "activation 3"),
    ("Scale scaled 1 1 conv scaled 0=4", "Scale scaled 1 1 conv scaled 0=3", "3 channels"),
    ("2=3 1=6 0=8", "2=3 1=6 0=2000000000", "too large|range|illegal|negative"),
    ("2=3 1=6 0=8", "2=3 1=6 0=-8", "not positive"),
]

FORMAT = Format(
    network=_net,
    feeds={"data": X[np.newaxis]},
    expected=_expected,
    layers=_layers,
    relu="ReLU",
    resized=(_written(_network("Input data 0 1 data"), WEIGHTS), (1, 3, 9, 9), (1, 4, 7, 7)),
    unsupported=fault(
        _written(_UNSUPPORTED, WEIGHTS),
        *("5 layers are", r"'a' \(Unheard\), line 4", r"'c' \(Spectrogram\)"),
        *("its resize_type is 5", "7=5", r"'f' \(InnerProduct\)"),
        never="'b'",
    ),
    free=fault(
        _written(_network("Input data 0 1 data 0=-233 1=-233 2=3"), WEIGHTS),
        r"'data'.*\[1, 3, \?, \?\]",
        hint="data=1,3,224,224",
    ),
    unfit=[
        fault(_net, "cannot have the shape", hint="batch of 1", data=(2, 3, 9, 9)),
        fault(_written(_network("Input data 0 1 data")), "'data'", kind=DynamicShapeError),
    ],
    mistakes={
        **edited(_net, _EDITS),
        **{text[:20]: _expression(text) for text in _EXPRESSIONS},
        "binary form": fault(
            file("net.param.bin", lambda: (7767517).to_bytes(4, "little")), "binary form"
        ),
        "int8": fault(
            _written(_network(), (Tagged(random(4, 3, 3, 3) * 100, "i8"), *WEIGHTS[1:])),
            "8-bit integers",
            kind=UnsupportedOperatorError,
        ),
    },
    weights=[
        fault(without(_net, "net.bin"), MISSING, hint=".bin"),
        fault(_written(_network(), WEIGHTS[:2]), r"'scaled'.* 0 bytes remain"),
    ],
    models=_models,
    structures={"net.param": damage.of_text},
    declares_outputs=False,
)


def test_the_parameters_that_handlers_read_are_in_the_table() -> None:
    readers = {name for name in vars(ParamLayer) if name[0] != "_"}
    read: set[str] = set()
    for path in Path(spec.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                name = node.args[0] if node.func.attr in readers and node.args else None
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    read.add(name.value)
    assert {"kernel_w", "size_expr", "constant_broadcast_type_C"} <= read
    assert read <= {name for names in spec.PARAMETERS.values() for name in names}


def test_constants_and_layers_that_only_name_results_are_read(tmp_path: Path) -> None:
    lines = [
        *head({"data": X.shape}),
        line("MemoryData", "", "c", {0: 8, 1: 6, 2: 3}),
        line("BinaryOp", "data c", "sum"),
        line("DeepCopy", "sum", "copy"),
        line("Noop", "copy sum", "output"),
    ]
    constant = random(3, 6, 8, seed=7)
    program = trimtab.load(write(tmp_path, lines, (constant,)))
    assert program.outputs == ["copy", "sum"]
    results = trimtab.Session(program).run({"data": X[np.newaxis]})
    for name in program.outputs:
        np.testing.assert_allclose(results[name][0], X + constant, 1e-6)


def test_lines_after_the_announced_ones_are_ignored(tmp_path: Path) -> None:
    path = write(tmp_path, _network(), WEIGHTS)
    path.write_text(path.read_text() + "Noop end 2 1 pool relu output\nUnheard of 0 0\n")
    assert trimtab.load(path).outputs == ["pool", "relu"]


def test_arrays_of_both_styles_and_hints_of_tools_are_read(tmp_path: Path) -> None:
    (data,) = head({"data": X.shape})
    texts = ("-23300=2,1,-233", "0=1,-233")
    for text in texts:
        cut = f"Slice cut 1 2 data a b {text} -23330=8,3,8,6,1,3,8,6,2 31=5"
        program = trimtab.load(write(tmp_path, [data, cut]))
        assert [program.vars[name].shape[1] for name in ("a", "b")] == [1, 2]
