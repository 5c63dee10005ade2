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


def test_a_single_score_is_no_class(tmp_path: Path) -> None:
    program = trimtab.load(classifier(tmp_path))
    program.outputs = program.block.add_op(
        "slice", program.outputs, {"starts": (0,), "ends": (1,), "axes": (1,)}
    )
    sight = trimtab.run(program, picture(16, 16), "scale(1/255)")
    assert sight.best == []
    assert [values.shape for values in sight.results.values()] == [(1, 1)]
