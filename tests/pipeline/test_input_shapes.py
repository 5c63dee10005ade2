"""Shapes of graph inputs as text."""

from __future__ import annotations

import pytest

from trimtab.errors import UsageError
from trimtab.pipeline import input_shapes
from trimtab.pipeline.calibration import Calibration


def test_shapes_are_read_by_the_names_of_the_inputs_and_written_alike() -> None:
    shapes = input_shapes.parse(["data=1,3,224,224", "a=b=1"])
    assert shapes == {"data": (1, 3, 224, 224), "a=b": (1,)}
    assert input_shapes.parse(["rate=16000", "flag=0"]) == {"rate": (16000,), "flag": (0,)}
    assert input_shapes.text(shapes) == "data=1,3,224,224 a=b=1"


@pytest.mark.parametrize("text", ["data", "data=", "=1,2", "data=1,x", "data=1,0", "data=-1"])
def test_other_texts_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="cannot read the input shape") as refused:
        input_shapes.parse([text])
    assert "NAME=1,3,224,224" in refused.value.hint


def test_two_shapes_of_one_input_are_refused() -> None:
    with pytest.raises(UsageError, match="the input 'x' has two shapes"):
        input_shapes.parse(["x=1", "y=1", "x=1"])


def test_shapes_cameras_and_views_of_pictures_are_told_apart() -> None:
    texts = ["a=1,3,8,8", "b=camera(nv12, 64x48) | yolo", "c=ssd", "yolo=1..4,3", "s=1,4@next"]
    shapes, cameras, views = input_shapes.parse_all(texts)
    assert set(shapes) == {"a", "yolo", "s"}
    assert (cameras["b"].format, cameras["b"].fit) == ("nv12", "letterbox")
    assert views["c"].scale == (1 / 127.5,)
    views = input_shapes.parse_all(["letterbox(auto, 114) | bgr", "x=auto"]).views
    assert (views[""].channels, views["x"].follows_model) == ("bgr", True)


@pytest.mark.parametrize("texts", [["yolo", "ssd"], ["x=yolo", "x=auto"], ["resize(0)"]])
def test_views_that_are_malformed_or_double_are_refused(texts: list[str]) -> None:
    with pytest.raises(UsageError):
        input_shapes.parse_all(texts)


def test_a_view_without_pictures_is_refused() -> None:
    _, _, views = input_shapes.parse_all(["yolo"])
    with pytest.raises(UsageError, match="there are none"):
        Calibration(samples="arrays.npz").with_views(views)
