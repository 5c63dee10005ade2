"""Darknet files and heads: decoded boxes, raw heads, pairs of files, damage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers import damage, test_darknet_layers
from tests.importers.darknet_writer import net, section, values, weights, write
from tests.importers.formats import SHAPE, Format, Layer, Write, damaged, fault, texts, without
from tests.importers.models import assert_close, golden, model
from tests.importers.opencv import opencv_darknet
from tests.ops.cases.case import Array
from trimtab import importers
from trimtab.errors import ImportModelError

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


def _written(text: str, data: bytes | None = None) -> Write:
    return lambda folder: write(folder, text, data)


def _layers(folder: Path, layers: Sequence[Layer], outputs: Sequence[str]) -> Path:
    """Layers that read one another in order: they have no names."""
    _, channels, height, width = SHAPE
    text = net(width, height, channels)
    for layer in layers:
        text += section(layer.type, activation="relu")
    return write(folder, text)


def _models() -> Mapping[str, Write]:
    result = {name: _written(*head) for name, head in HEADS.items() if name != "yolo"}
    for name, (options, arrays) in test_darknet_layers.CONVOLUTIONS.items():
        text = test_darknet_layers.START + section("convolutional", **options)
        result[name] = _written(text, weights(*arrays))
    return result


_START = net(12, 8, 6)
_net = _written(*HEADS["yolo"])
_UNSUPPORTED = section("gru", output=5) + section("upsample", stride=2)
_UNSUPPORTED += section("route", layers="-2") + section("iseg")
_TEXTS = [
    ("", "does not begin with"),
    ("[net]\n", "does not begin with"),
    ("[convolutional]\nfilters=3\n", "does not begin with"),
    ("filters=3\n", "line 1 is neither"),
    ("[net]\nwhat is this\n", "line 2 is neither"),
    (net(12, 8, -6) + section("dropout"), "'data'"),
    (_START + section("maxpool", size="two"), "'size' is 'two'"),
    (_START + section("maxpool", size="inf"), "'size' is 'inf'"),
    (_START + section("maxpool", size=-1), "'size' is -1"),
    (_START + section("maxpool", size=2, padding=-5), "pads"),
    (_START + section("upsample", stride=100000), "too large"),
    (_START + section("route", layers="-2"), "layers before it are 0 to -1"),
    (_START + section("dropout") + section("route", layers="7"), "layers before it are 0 to 0"),
    (_START + section("route"), "'layers' is missing"),
    (_START + section("yolo", classes=4), "does not fit 0 anchors"),
    (_START + section("yolo", classes=4, num=1, anchors="1,1"), "9 channels, not 6"),
    (_START + section("yolo", num=1, anchors="1,1", mask=3), "mask"),
    (_START + section("softmax", temperature=0), "temperature"),
    (_START + section("softmax", groups=7), "groups"),
    (_START + section("crop", crop_width=13, crop_height=2), "is not inside"),
    (_START + "[dropout]\n" * 20000, "20000 layers"),
]

FORMAT = Format(
    network=_net,
    feeds={"data": _image()},
    expected=lambda _: {"yolo_1": opencv_darknet(*HEADS["yolo"], _image())[0]},
    layers=_layers,
    relu="activation",
    place="{type}_{index}",
    resized=(_net, (1, 3, 64, 64), (768, 9)),
    unsupported=fault(
        _written(_START + _UNSUPPORTED),
        *("2 layers are", "gru_0, line 7", "iseg_3, line 16"),
        never="upsample_1|route_2",
    ),
    free=fault(damaged(_net, "", lambda text: text.replace(b"width=48", b"")), "'data'"),
    mistakes=texts(_net, _TEXTS),
    weights=[
        fault(without(_net, "net.weights"), "weights are missing"),
        *(
            fault(damaged(_net, "net.weights", change), says, r"net\.weights")
            for change, says in (
                (lambda data: data[:-4], "81 values, 80 remain"),
                (lambda data: data[:-3], "32-bit values"),
                (lambda data: data[:5], "shorter than its header"),
                (lambda data: data + bytes(8), "2 values remain"),
            )
        ),
    ],
    models=_models,
    structures={"net.cfg": damage.of_text},
    names_values=False,
    assigns_once=False,
    declares_outputs=False,
)


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
