"""Pictures that are shown to a network in Python."""

from __future__ import annotations

from pathlib import Path

import onnx.parser
import pytest
from PIL import Image

import trimtab
from tests.sight.networks import classifier, picture
from trimtab.errors import UsageError
from trimtab.sight import advice
from trimtab.sight import run as show


def test_in_python_a_file_or_an_array_is_shown(tmp_path: Path) -> None:
    model, path = classifier(tmp_path), tmp_path / "photo.png"
    Image.fromarray(picture(32, 16)).save(path)
    of_file, of_array = (trimtab.run(model, one, "imagenet") for one in (path, picture(32, 16)))
    assert of_file.best == of_array.best
    assert len(of_file.best) == 4


@pytest.mark.parametrize(
    ("view", "head", "shape", "message"),
    [
        ("auto", "auto", (1, 3, 16, 16), "does not say how pictures become its input"),
        ("imagenet", "yolov8", (1, 3, 16, 16), "yolov8"),
        ("other=imagenet", "auto", (1, 3, 16, 16), "other"),
        ("imagenet", "auto", (4, 3, 16, 16), "no input takes one picture"),
        ("imagenet", "auto", (1, 3, 1, 1), "--input image=1,3,224,224"),
        ("imagenet | what", "auto", (1, 3, 16, 16), "what"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, view: str, head: str, shape: tuple[int, ...], message: str
) -> None:
    model = classifier(tmp_path, shape)
    with pytest.raises(UsageError) as caught:
        trimtab.run(model, picture(16, 16), view, head)
    assert message in f"{caught.value} {caught.value.hint}"


def test_a_network_says_whether_and_how_it_takes_pictures(tmp_path: Path) -> None:
    header = '<ir_version: 9, opset_import: ["": 17]>'
    without = onnx.parser.parse_model(header + "g (float[1, 1] x) => (float[1, 1] y) {y = Relu(x)}")
    with pytest.raises(UsageError, match="no input takes a picture") as caught:
        trimtab.run(without, picture(16, 16))
    assert "x [1, 1]" in str(caught.value)
    assert advice(trimtab.load(without)) == str(caught.value)
    assert "does not say how a picture becomes image" in advice(trimtab.load(classifier(tmp_path)))


def test_a_picture_is_not_all_that_two_towers_take() -> None:
    program = trimtab.Program("towers")
    program.add_input("pixels", (1, 3, 16, 16))
    program.add_input("tokens", (1, 8))
    program.outputs = program.block.add_op("relu", ["pixels"])
    with pytest.raises(UsageError, match="beside the picture pixels, the network takes tokens"):
        show(program, picture(16, 16), "imagenet")


def test_an_embedding_is_no_class(tmp_path: Path) -> None:
    """The file beside the model says what the network is for."""
    model = classifier(tmp_path)
    content = '{"architectures": ["CLIPVisionModelWithProjection"]}'
    (tmp_path / "config.json").write_text(content)
    assert not trimtab.run(model, picture(32, 16), "imagenet").best


def test_a_single_score_is_no_class(tmp_path: Path) -> None:
    program = trimtab.load(classifier(tmp_path))
    program.outputs = program.block.add_op(
        "slice", program.outputs, {"starts": (0,), "ends": (1,), "axes": (1,)}
    )
    sight = trimtab.run(program, picture(16, 16), "scale(1/255)")
    assert sight.best == []
    assert [values.shape for values in sight.results.values()] == [(1, 1)]
