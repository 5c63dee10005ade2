"""Inputs of `Session.run`, and the errors for invalid ones."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import trimtab
from trimtab.errors import UsageError
from trimtab.program import Program


@pytest.fixture(scope="module")
def session() -> trimtab.Session:
    """sum = left + right."""
    program = Program("sum")
    for name in ("left", "right"):
        program.add_input(name, (2, 3))
    program.outputs = program.block.add_op("add", ["left", "right"])
    return trimtab.Session(program)


LEFT = np.arange(6, dtype=np.float32).reshape(2, 3)
RIGHT = np.array([[8, 4, 2], [1, 0.5, 0.25]], np.float32)


@pytest.mark.parametrize(
    "left",
    [
        LEFT,
        LEFT.tolist(),
        LEFT.astype(np.float64),
        LEFT.astype(np.int8),
        np.asfortranarray(LEFT),
        np.repeat(LEFT, 2, axis=1)[:, ::2],
    ],
    ids=["float32", "lists", "float64", "int8", "columns first", "every other column"],
)
def test_array_likes_are_inputs(session: trimtab.Session, left: Any) -> None:
    outputs = session.run({"right": RIGHT, "left": left})
    assert list(outputs) == list(session.output_names)
    np.testing.assert_array_equal(outputs[session.output_names[0]], LEFT + RIGHT)


def test_any_mapping_is_an_input_and_outputs_belong_to_the_caller(session: trimtab.Session) -> None:
    name = session.output_names[0]
    first = session.run(MappingProxyType({"left": LEFT, "right": RIGHT}))[name]
    session.run({"left": RIGHT, "right": RIGHT})
    np.testing.assert_array_equal(first, LEFT + RIGHT)


@pytest.mark.parametrize(
    ("inputs", "message", "hint"),
    [
        ({"left": LEFT}, "inputs are missing: right", "left, right"),
        ({}, "inputs are missing: left, right", "left, right"),
        ({"left": LEFT, "top": LEFT}, "unknown inputs: top", "left, right"),
        ({"left": LEFT, "right": LEFT, "top": LEFT}, "unknown inputs: top", "left, right"),
        (
            {"left": LEFT, "right": LEFT.T},
            r"input 'right' has shape \(3, 2\), the model expects \(2, 3\)",
            "inputs=",
        ),
        ({"left": 1, "right": LEFT}, r"input 'left' has shape \(\)", "inputs="),
        ({"left": LEFT[None], "right": LEFT}, r"has shape \(1, 2, 3\)", "inputs="),
    ],
)
def test_other_inputs_are_refused(
    session: trimtab.Session, inputs: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        session.run(inputs)
    assert hint in str(caught.value.hint)


def test_non_numbers_raise_numpys_error(session: trimtab.Session) -> None:
    with pytest.raises(ValueError, match="could not convert"):
        session.run({"left": [["a", "b", "c"]] * 2, "right": RIGHT})
