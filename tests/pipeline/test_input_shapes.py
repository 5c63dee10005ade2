"""Shapes of graph inputs as text."""

from __future__ import annotations

import pytest

from trimtab.errors import UsageError
from trimtab.pipeline import input_shapes


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
