"""Values of files and arguments in errors: they may have any length and any type."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from trimtab.errors import DeviceError, ProgramError, UsageError, whole_number
from trimtab.toml_table import TomlFile


@pytest.mark.parametrize("quote", ["'", '"', "`"])
def test_a_long_quoted_value_loses_its_middle(quote: str) -> None:
    value = "begin " + "x y " * 1250 + "end"
    error = ProgramError(
        f"no operator {quote}{value}{quote} here", hint=f"not {quote}{value}{quote}"
    )
    assert len(error.what) < 300
    assert error.what.startswith(f"no operator {quote}begin x y")
    assert "more characters" in error.what
    assert error.what.endswith(f"x y end{quote} here")
    assert len(error.hint) < 300


def test_a_value_that_can_be_read_stays_whole() -> None:
    text = f"cannot read '{'a b ' * 90}' or {'word ' * 500}"
    assert ProgramError(text).what == text


def test_a_long_word_and_a_long_file_name_are_not_the_same() -> None:
    error = ProgramError("x" * 5000, where="/" + "y" * 1000)
    assert len(error.what) < 300
    assert error.where == "/" + "y" * 1000


@dataclass(frozen=True)
class Options:
    """A file's keys."""

    count: int


def test_a_key_of_5000_characters_is_not_quoted_whole(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(f"{'k' * 5000} = 1\n")
    with pytest.raises(DeviceError, match="unknown key") as caught:
        TomlFile(tmp_path / "a.toml", DeviceError).record(Options)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("value", [1.5, "2", None, [1], float("nan"), 0, -1, 65, 2**70])
def test_a_count_is_a_whole_number_within_bounds(value: object) -> None:
    with pytest.raises(UsageError, match="threads must be"):
        whole_number("threads", value, 1, 64)


def test_integers_of_numpy_are_whole_numbers() -> None:
    import numpy as np

    assert whole_number("threads", np.int64(3), 1) == 3
    assert type(whole_number("threads", np.uint8(3), 1)) is int
