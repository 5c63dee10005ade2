"""ncnn files: pairs, variants, names, shapes, damage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers.caffe_writer import random
from tests.importers.models import assert_close
from tests.importers.ncnn_writer import Tagged, head, line, run_ncnn, write
from trimtab.errors import (
    DynamicShapeError,
    ImportModelError,
    ModelFileError,
    UnsupportedOperatorError,
)

X = random(3, 6, 8, seed=3)
WEIGHTS = (Tagged(random(4, 3, 3, 3, seed=1)), random(4, seed=2), random(4, seed=4), random(4))
CONV = line("Convolution", "data", "conv", {0: 4, 1: 3, 5: 1, 6: 108})
SCALE = line("Scale", "conv", "scaled", {0: 4, 1: 1})


def _lines() -> list[str]:
    """Layers with weights of both kinds, a split, a constant, and two ends."""
    return [
        *head({"data": X.shape}),
        CONV,
        SCALE,
        line("Split", "scaled", "a b"),
        line("Pooling", "a", "pool", {0: 1, 4: 1}),
        line("ReLU", "b", "relu"),
    ]


def test_a_network_computes_what_ncnn_computes(tmp_path: Path) -> None:
    path = write(tmp_path, _lines(), WEIGHTS)
    program = trimtab.load(path)
    assert (program.inputs, program.outputs) == (["data"], ["pool", "relu"])
    actual = trimtab.Session(program).run({"data": X[np.newaxis]})
    expected_values = run_ncnn(path, {"data": X}, ["pool", "relu"])
    for name, expected in zip(("pool", "relu"), expected_values, strict=True):
        assert_close(actual[name][0], expected, 1e-6)


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
    path = write(tmp_path, _lines(), WEIGHTS)
    path.write_text(path.read_text() + "Noop end 2 1 pool relu output\nUnheard of 0 0\n")
    assert trimtab.load(path).outputs == ["pool", "relu"]


def test_arrays_of_both_styles_and_hints_of_tools_are_read(tmp_path: Path) -> None:
    (data,) = head({"data": X.shape})
    texts = ("-23300=2,1,-233", "0=1,-233")
    for text in texts:
        cut = f"Slice cut 1 2 data a b {text} -23330=8,3,8,6,1,3,8,6,2 31=5"
        program = trimtab.load(write(tmp_path, [data, cut]))
        assert [program.vars[name].shape[1] for name in ("a", "b")] == [1, 2]


def test_shapes_have_a_batch_of_one_and_may_be_given(tmp_path: Path) -> None:
    path = write(tmp_path, ["Input data 0 1 data", *_lines()[1:]], WEIGHTS)
    with pytest.raises(DynamicShapeError, match="'data'"):
        trimtab.load(path)
    assert trimtab.load(path, {"data": (1, 3, 9, 9)}).vars["relu"].shape == (1, 4, 7, 7)
    with pytest.raises(ImportModelError, match="cannot have the shape") as caught:
        trimtab.load(path, {"data": (2, 3, 9, 9)})
    assert "batch of 1" in caught.value.hint
    with pytest.raises(ImportModelError, match="no input 'image'"):
        trimtab.load(path, {"image": (1, 3, 9, 9)})


def test_a_negative_size_of_an_input_is_a_free_one(tmp_path: Path) -> None:
    path = write(tmp_path, ["Input data 0 1 data 0=-233 1=-233 2=3", *_lines()[1:]], WEIGHTS)
    with pytest.raises(DynamicShapeError, match=r"\[1, 3, \?, \?\]") as caught:
        trimtab.load(path)
    assert "data=1,3,224,224" in caught.value.hint
    assert trimtab.load(path, {"data": (1, 3, 9, 9)}).vars["relu"].shape == (1, 4, 7, 7)


def test_network_and_weights_find_each_other(tmp_path: Path) -> None:
    path = write(tmp_path, _lines(), WEIGHTS)
    assert trimtab.load(tmp_path / "net.bin").outputs == ["pool", "relu"]
    (tmp_path / "net.bin").rename(tmp_path / "weights.bin")
    assert trimtab.load(tmp_path / "weights.bin").outputs == trimtab.load(path).outputs
    (tmp_path / "other.bin").write_bytes(b"")
    with pytest.raises(ModelFileError, match=r"other.bin, weights.bin"):
        trimtab.load(path)
    path.rename(tmp_path / "sub.text")
    with pytest.raises(ModelFileError, match=r"no .param"):
        trimtab.load(tmp_path / "weights.bin")


def test_missing_weights_are_an_error_that_says_where_to_put_them(tmp_path: Path) -> None:
    path = write(tmp_path, _lines(), WEIGHTS)
    (tmp_path / "net.bin").unlink()
    with pytest.raises(ModelFileError, match=r"'conv' .*: its weights are missing") as caught:
        trimtab.load(path)
    assert ".bin" in caught.value.hint


def test_the_binary_form_is_refused_with_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "net.param.bin"
    path.write_bytes((7767517).to_bytes(4, "little"))
    with pytest.raises(ModelFileError, match="binary form"):
        trimtab.load(path)


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, _lines(), WEIGHTS[:2])
    with pytest.raises(ModelFileError, match=r"'scaled'.* 0 bytes remain"):
        trimtab.load(path)


def test_all_unsupported_layers_are_named_at_once_with_their_lines(tmp_path: Path) -> None:
    lines = [
        *head({"data": X.shape}),
        line("Unheard", "data", "a"),
        line("ReLU", "a", "b"),
        line("Spectrogram", "b", "c"),
        line("Interp", "data", "d", {0: 5, 1: 2.0, 2: 2.0}),
        line("ReLU", "data", "e", {7: 5}),
        line("InnerProduct", "data", "f", {0: 4, 2: 576, 8: 1}),
    ]
    with pytest.raises(UnsupportedOperatorError, match="5 layers are") as caught:
        trimtab.load(write(tmp_path, lines, WEIGHTS))
    message = str(caught.value)
    parts = (
        "'a' (Unheard), line 4",
        "'c' (Spectrogram)",
        "its resize_type is 5",
        "7=5",
        "'f' (InnerProduct)",
    )
    assert all(part in message for part in parts)
    assert "'b'" not in message


def test_int8_weights_without_scales_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, _lines(), (Tagged(random(4, 3, 3, 3) * 100, "i8"), *WEIGHTS[1:]))
    with pytest.raises(UnsupportedOperatorError, match="8-bit integers"):
        trimtab.load(path)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
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
    ],
)
def test_mistakes_in_a_network_are_errors_with_their_place(
    old: str, new: str, match: str, tmp_path: Path
) -> None:
    path = write(tmp_path, _lines(), WEIGHTS)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises((ModelFileError, ImportModelError), match=match) as caught:
        trimtab.load(path)
    assert "net.param" in str(caught.value) or "net.bin" in str(caught.value)


def test_invalid_expressions_are_refused(tmp_path: Path) -> None:
    deep = "+(1," * 200 + "1" + ")" * 200
    for text in ("+(0w", "0w 0h", "bad(0w)", "9w", "/(1,0)", deep, "-(0w,0w),1"):
        lines = [*head({"data": X.shape}), line("Reshape", "data", "y", {6: text})]
        with pytest.raises(ImportModelError):
            trimtab.load(write(tmp_path, lines))
