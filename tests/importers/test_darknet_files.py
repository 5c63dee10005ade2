"""Darknet files and heads: decoded boxes, raw heads, pairs of files, damage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers.darknet_writer import net, section, values, weights, write
from tests.importers.models import assert_close, golden, model
from tests.importers.opencv import opencv_darknet
from tests.ops.cases.case import Array
from trimtab import importers
from trimtab.errors import (
    DynamicShapeError,
    ImportModelError,
    ModelFileError,
    UnsupportedOperatorError,
)

ANCHORS = "10,14, 23,27, 37,58, 81,82, 135,169, 344,319"


def _image(n: int = 1) -> Array:
    return values(n * 3 * 32 * 48, 7).reshape(n, 3, 32, 48)


def _head(type: str, activation: str = "linear", **options: object) -> tuple[str, bytes]:
    """A network of one convolution and a head of three anchors and four classes."""
    text = net(48, 32, 3)
    text += section("convolutional", filters=27, size=1, stride=4, activation=activation)
    text += section(type, classes=4, **options)
    return text, weights(values(27, 1), values(81, 2) * np.float32(4))


HEADS = {
    "yolo": _head("yolo", mask="3,4,5", anchors=ANCHORS, num=6),
    "yolo with threshold": _head("yolo", mask="0,2,4", anchors=ANCHORS, num=6, thresh=0.5),
    "yolo with scale": _head("yolo", mask="0,1,2", anchors=ANCHORS, num=6, scale_x_y=1.2),
    "scaled yolo": _head(
        "yolo", "logistic", mask="0,1,2", anchors=ANCHORS, num=6, scale_x_y=2.0, new_coords=1
    ),
    "region": _head("region", anchors="1.3,1.2, 3.4,4.4, 6.6,11", num=3, softmax=1),
    "region with threshold": _head(
        "region", anchors="1.3,1.2, 3.4,4.4, 6.6,11", num=3, softmax=1, thresh=0.1
    ),
}


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("images", [1, 2])
def test_a_head_is_decoded_as_opencv_decodes_it(name: str, images: int, tmp_path: Path) -> None:
    text, data = HEADS[name]
    x = _image(images)
    (expected,) = opencv_darknet(text, data, x)
    program = trimtab.load(write(tmp_path, text, data), {"data": x.shape})
    (actual,) = trimtab.Session(program).run({"data": x}).values()
    assert (expected[..., 5:] > 0).any()
    assert (expected[..., 5:] == 0).any()
    assert_close(actual, expected, 1e-5)


def test_several_heads_are_outputs_in_their_order_with_the_names_of_their_layers(
    tmp_path: Path,
) -> None:
    conv = section("convolutional", filters=27, size=1, stride=4, activation="linear")
    yolo = section("yolo", classes=4, mask="0,1,2", anchors=ANCHORS, num=6)
    text = (
        net(48, 32, 3) + conv + yolo + section("route", layers="-2") + section("upsample", stride=2)
    )
    text += conv.replace("stride=4", "stride=1") + yolo
    arrays = values(27, 1), values(81, 2), values(27, 3), values(729, 4)
    program = trimtab.load(write(tmp_path, text, weights(*arrays)))
    assert program.outputs == ["yolo_1", "yolo_5"]
    assert [program.vars[name].shape for name in program.outputs] == [(288, 9), (1152, 9)]
    results = list(trimtab.Session(program).run({"data": _image()}).values())
    for actual, expected in zip(
        results, opencv_darknet(text, weights(*arrays), _image()), strict=True
    ):
        assert_close(actual, expected, 1e-5)


def test_yolo_fastest_computes_its_golden_boxes_and_raw_heads() -> None:
    path = model("yolo_fastest_darknet", "yolo-fastest-1.1.cfg")
    (x,), outputs = golden(path)
    program = trimtab.load(path)
    assert (program.inputs, program.outputs) == (["data"], ["yolo_121", "yolo_130"])
    results = trimtab.Session(program).run({"data": x})
    for name in program.outputs:
        assert_close(results[name], outputs[name])
    raw = importers.load(path, outputs=["convolutional_120", "convolutional_129"])
    results = trimtab.Session(raw).run({"data": x})
    for name, head in (("convolutional_120", "yolo_121"), ("convolutional_129", "yolo_130")):
        assert_close(results[name].transpose(0, 2, 3, 1), outputs[f"head_before_{head}"])


def test_an_output_that_does_not_exist_is_an_error_that_names_similar_ones(tmp_path: Path) -> None:
    text, data = HEADS["yolo"]
    with pytest.raises(ImportModelError, match="'convolution_0'") as caught:
        importers.load(write(tmp_path, text, data), outputs=["convolution_0"])
    assert "convolutional_0" in caught.value.hint


def test_the_input_has_the_size_of_the_cfg_or_another_one(tmp_path: Path) -> None:
    text, data = HEADS["yolo"]
    path = write(tmp_path, text, data)
    assert trimtab.load(path).vars["data"].shape == (1, 3, 32, 48)
    assert trimtab.load(path, {"data": (1, 3, 64, 64)}).vars["yolo_1"].shape == (768, 9)
    with pytest.raises(ImportModelError, match="no input 'image'"):
        trimtab.load(path, {"image": (1, 3, 64, 64)})
    with pytest.raises(DynamicShapeError, match="'data'"):
        trimtab.load(write(tmp_path, text.replace("width=48", ""), data))


def test_network_and_weights_find_each_other(tmp_path: Path) -> None:
    text, data = HEADS["yolo"]
    write(tmp_path, text, data)
    assert trimtab.load(tmp_path / "net.weights").outputs == ["yolo_1"]
    (tmp_path / "net.weights").rename(tmp_path / "net_final.weights")
    assert trimtab.load(tmp_path / "net.cfg").outputs == ["yolo_1"]
    (tmp_path / "net_final.weights").unlink()
    with pytest.raises(ModelFileError, match="weights are missing"):
        trimtab.load(tmp_path / "net.cfg")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda d: d[:-4], "81 values, 80 remain"),
        (lambda d: d[:-3], "32-bit values"),
        (lambda d: d[:5], "shorter than its header"),
        (lambda d: d + bytes(8), "2 values remain"),
    ],
)
def test_weights_that_do_not_fit_are_refused(change: object, match: str, tmp_path: Path) -> None:
    text, data = HEADS["yolo"]
    assert callable(change)
    with pytest.raises(ModelFileError, match=match) as caught:
        trimtab.load(write(tmp_path, text, change(data)))
    assert "net.weights" in str(caught.value)


def test_all_unsupported_layers_are_named_at_once_with_their_lines(tmp_path: Path) -> None:
    text = net(12, 8, 6) + section("gru", output=5) + section("upsample", stride=2)
    text += section("route", layers="-2") + section("iseg")
    with pytest.raises(UnsupportedOperatorError, match="2 layers are") as caught:
        trimtab.load(write(tmp_path, text))
    assert "gru_0, line 7" in str(caught.value)
    assert "iseg_3, line 16" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "does not begin with"),
        ("[net]\n", "does not begin with"),
        ("[convolutional]\nfilters=3\n", "does not begin with"),
        ("filters=3\n", "line 1 is neither"),
        ("[net]\nwhat is this\n", "line 2 is neither"),
        (net(12, 8, 6) + section("maxpool", size="two"), "'size' is 'two'"),
        (net(12, 8, 6) + section("maxpool", size="inf"), "'size' is 'inf'"),
        (net(12, 8, 6) + section("maxpool", size=-1), "'size' is -1"),
        (net(12, 8, 6) + section("maxpool", size=2, padding=-5), "pads"),
        (net(12, 8, 6) + section("upsample", stride=100000), "too large"),
        (net(12, 8, 6) + section("route", layers="-2"), "layers before it are 0 to -1"),
        (
            net(12, 8, 6) + section("dropout") + section("route", layers="7"),
            "layers before it are 0 to 0",
        ),
        (net(12, 8, 6) + section("route"), "'layers' is missing"),
        (net(12, 8, 6) + section("yolo", classes=4), "does not fit 0 anchors"),
        (net(12, 8, 6) + section("yolo", classes=4, num=1, anchors="1,1"), "9 channels, not 6"),
        (net(12, 8, 6) + section("yolo", num=1, anchors="1,1", mask=3), "mask"),
        (net(12, 8, 6) + section("softmax", temperature=0), "temperature"),
        (net(12, 8, 6) + section("softmax", groups=7), "groups"),
        (net(12, 8, 6) + section("crop", crop_width=13, crop_height=2), "is not inside"),
        (net(12, 8, 6) + "[dropout]\n" * 20000, "20000 layers"),
        (net(12, 8, -6) + section("dropout"), "'data'"),
    ],
)
def test_mistakes_in_a_network_are_errors_with_their_place(
    text: str, match: str, tmp_path: Path
) -> None:
    with pytest.raises((ModelFileError, ImportModelError), match=match) as caught:
        trimtab.load(write(tmp_path, text, weights(values(3))))
    assert "net.cfg" in str(caught.value)
