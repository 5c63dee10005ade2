"""Arguments of a wrong type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab
from trimtab.errors import UsageError
from trimtab.program import Program

DATA = np.random.default_rng(1).normal(0, 1, (6, 3, 4, 6)).astype(np.float32)


def network() -> Program:
    program = Program("net")
    x = program.add_input("data", (1, 3, 4, 6))
    weights = program.block.add_constant(np.ones((2, 3, 1, 1), np.float32))
    (y,) = program.block.add_op("conv", [x, weights], None, ["y"])
    program.block.add_op("relu", [y], None, ["z"])
    program.outputs = ["z"]
    return program


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (None, "the samples are None"),
        ({"data": [1, 2]}, "'data' are a list"),
        (3, "the samples are a.* int"),
    ],
)
def test_samples_of_a_wrong_type_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        trimtab.quantize(network(), arguments)
    assert caught.value.hint


def test_an_array_alone_is_the_samples_of_a_network_with_one_input() -> None:
    alone, named = (trimtab.quantize(network(), data) for data in (DATA, {"data": DATA}))
    assert alone.ranges == named.ranges
    assert "ranges" not in repr(alone)  # of all tensors


def test_a_path_of_ranges_is_refused() -> None:
    with pytest.raises(UsageError, match=r"ranges are a str"):
        trimtab.quantize(network(), {"data": DATA}, ranges="r.toml")  # type: ignore[arg-type]
