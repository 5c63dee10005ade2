"""Arguments of a wrong type."""

from __future__ import annotations

from typing import Any

import pytest

import trimtab
from tests.quantization.small import DATA, network
from trimtab.errors import UsageError


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
