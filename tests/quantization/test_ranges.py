"""Ranges and their file."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.errors import CalibrationError
from trimtab.quantization.observer import Range
from trimtab.quantization.ranges import Ranges

HEAD = 'network="n"\nmethod="m"\nsamples=1\n'


def test_ranges_are_written_and_read(tmp_path: Path) -> None:
    result = {"a/b.c": Range(-1.5, 0.1 + 0.2), 'quoted "x"': Range(0, 1e-30)}
    unchanged = Ranges("net", "mse", 9, result, {"a/b.c": (0.1, -1e-9)})
    unchanged.write(tmp_path / "ranges.toml")
    assert Ranges.read(tmp_path / "ranges.toml") == unchanged


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "network = 3",
        HEAD + "ranges=3\n[means]\n[factors]",
        HEAD + "[means]\n[factors]\n[ranges]\na=[1]",
        HEAD + "[means]\n[factors]\n[ranges]\na=[2,1]",
        HEAD + "[means]\n[factors]\n[ranges]\na=[nan,1]",
        HEAD + "[ranges]\na=[0,1]\n[factors]\n[means]\na=3",
        HEAD + "[ranges]\na=[0,1]\n[means]\n[factors]\na=[1,0]",
        HEAD + "more=1\n[means]\n[factors]\n[ranges]\na=[0,1]",
    ],
)
def test_invalid_files_of_ranges_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "ranges.toml").write_text(text)
    with pytest.raises(CalibrationError) as caught:
        Ranges.read(tmp_path / "ranges.toml")
    assert caught.value.where == str(tmp_path / "ranges.toml")
