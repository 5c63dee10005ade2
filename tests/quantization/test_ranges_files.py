"""Invalid and edited files of ranges."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.quantization.small import DATA, network
from trimtab.errors import CalibrationError
from trimtab.quantization.observer import Range
from trimtab.quantization.ranges import Ranges

HEAD = 'network="n"\nmethod="m"\nsamples=1\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=", "not a TOML file"),
        (HEAD.replace("1", "-4") + "[ranges]\n[means]\n[factors]", "integer of at least 1"),
        (HEAD.replace("1", "true") + "[ranges]\n[means]\n[factors]", "integer of at least 1"),
        (HEAD + "[ranges]\na=[1.0, 2.0]\n[means]\n[factors]", "'a' is .*must contain 0"),
        (HEAD + "[ranges]\na=[0.0, 0.0]\n[means]\n[factors]", "'a' is .*too narrow"),
        (HEAD + "[ranges]\na=[0.0, 1e-300]\n[means]\n[factors]", "'a' is .*too narrow"),
        (HEAD + "[ranges]\na=[-1e39, 1e39]\n[means]\n[factors]", "'a' is .*two float32 numbers"),
        (HEAD + "[ranges]\n[means]\na=[1e300]\n[factors]", "means of 'a'"),
    ],
)
def test_invalid_ranges_are_refused_with_file_key_and_hint(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "ranges.toml"
    path.write_text(text)
    with pytest.raises(CalibrationError, match=message) as caught:
        Ranges.read(path)
    assert caught.value.where == str(path)
    assert "delete" in caught.value.hint


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"ranges": {"nosuch": Range(0, 1)}}, "ranges. has .nosuch., a tensor"),
        ({"means": {"nosuch": (1.0,)}}, "means. has .nosuch., a tensor"),
        ({"means": {"data": (1.0, 2.0)}}, "'data' has 2 means, but 3 channels"),
        ({"means": {"z": (1.0,)}}, "means. has .z., which no operator"),
        ({"factors": {"data": (1.0, 2.0, 3.0)}}, "the factors of 'data' do not fit"),
    ],
)
def test_ranges_of_another_network_are_refused_with_their_file_and_a_hint(
    changed: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "ranges.toml"
    Ranges("net", "mse", 1, **({"ranges": {}} | changed)).write(path)
    with pytest.raises(CalibrationError, match=message) as caught:
        trimtab.quantize(network(), {"data": DATA}, ranges=Ranges.read(path))
    assert caught.value.where == str(path)
    assert f"delete or rename {path}" in caught.value.hint


def test_each_line_of_a_file_of_ranges_may_be_deleted(tmp_path: Path) -> None:
    path, names = tmp_path / "ranges.toml", ["a", 'quo"ted\\', "b.c/d é", "\x7f\n"]
    ends = {name: Range(-1e-30, np.float64(2.5)) for name in names}
    numbers = dict.fromkeys(names, (0.1, 1e30, 3.0))
    unchanged = Ranges("n\tet", "mse", 9, ends, numbers, numbers)
    unchanged.write(path)
    assert Ranges.read(path) == unchanged
    lines = path.read_text().splitlines()
    assert sum(bool(re.search(r"= \[", line)) for line in lines) == 3 * len(names)
    for i, line in enumerate(lines):
        if "= [" in line:
            path.write_text("\n".join(lines[:i] + lines[i + 1 :]))
            left = Ranges.read(path)
            result = sum(len(part) for part in (left.ranges, left.means, left.factors))
            assert result == 3 * len(names) - 1
    assert tomllib.loads("\n".join(lines))["means"][names[0]] == list(numbers[names[0]])
