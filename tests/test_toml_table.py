"""The reader of TOML files into dataclasses: accepted values, and the error of each wrong one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from trimtab.errors import UsageError
from trimtab.toml_table import Above, Minimum, TomlFile


@dataclass(frozen=True)
class Inner:
    size: Annotated[int, Minimum(1)]
    tag: str = ""


@dataclass(frozen=True)
class Outer:
    name: str
    doc: str
    ratio: Annotated[float, Above(0)] = 1.0
    mode: Literal["fast", "small"] = "fast"
    words: tuple[str, ...] = ()
    pair: tuple[int, str] | None = None
    flags: frozenset[str] = frozenset()
    spans: Annotated[tuple[tuple[int, int], ...], Minimum(0)] = ()
    inner: Inner | None = None
    by_name: Mapping[str, Inner] = field(default_factory=dict)
    one_of: str | int | bool = ""
    free: Any = None
    type_: str = field(default="", metadata={"key": "type"})


def read(tmp_path: Path, text: str) -> Outer:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return TomlFile(path, UsageError, hint="see docs").record(Outer, name=path.stem)


def test_every_kind_of_value_arrives_with_its_type(tmp_path: Path) -> None:
    text = """
        doc = "d"
        ratio = 2
        mode = "small"
        words = ["a", "b"]
        pair = [1, "x"]
        flags = ["f", "f"]
        spans = [[0, 3], [5, 6]]
        inner = { size = 4 }
        one_of = true
        free = [1, { a = 2 }]
        type = "t"
        [by_name.x]
        size = 5
        tag = "t"
    """
    assert read(tmp_path, text) == Outer(
        name="mine",
        doc="d",
        ratio=2.0,
        mode="small",
        words=("a", "b"),
        pair=(1, "x"),
        flags=frozenset({"f"}),
        spans=((0, 3), (5, 6)),
        inner=Inner(4),
        by_name={"x": Inner(5, "t")},
        one_of=True,
        free=[1, {"a": 2}],
        type_="t",
    )


def test_keys_without_a_value_take_the_default(tmp_path: Path) -> None:
    assert read(tmp_path, "doc = 'd'") == Outer("mine", "d")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "`doc` is missing"),
        ("doc = 1", "`doc` must be a string"),
        ("ratio = 0", "`ratio` must be a number above 0"),
        ("ratio = true", "`ratio` must be a number above 0"),
        ("mode = 'slow'", "`mode` must be one of fast, small"),
        ("words = 'a'", "`words` must be a list of strings"),
        ("words = [1]", "`words` must be a string"),
        ("pair = [1]", "`pair` must be a list"),
        ("spans = [[-1, 2]]", "`spans` must be an integer of at least 0"),
        ("inner = 3", "`inner` must be a table"),
        ("inner = { size = 0 }", r"`inner\.size` must be an integer of at least 1"),
        ("inner = {}", r"`inner\.size` is missing"),
        ("by_name.x.size = 'a'", r"`by_name\.x\.size` must be an integer"),
        ("one_of = 1.5", "`one_of` must be a string or an integer or true or false"),
        ("doc = ", "not a TOML file"),
        ("doc = " + "[" * 100_000, "not a TOML file"),
        ("ratio = 1" + "0" * 400, "`ratio` must be a number above 0"),
    ],
)
def test_a_wrong_value_is_refused_by_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    doc = "" if "doc" in text or not text else "doc = 'd'\n"
    with pytest.raises(UsageError, match=message) as caught:
        read(tmp_path, doc + text)
    assert caught.value.where == str(tmp_path / "mine.toml")
    assert caught.value.hint == "see docs"


@pytest.mark.parametrize(
    ("text", "unknown", "suggestion"),
    [
        ("wrods = []", "unknown key `wrods`", "did you mean `words`?"),
        ("inner = { sise = 1 }", r"unknown key `inner\.sise`", "did you mean `inner.size`?"),
        ("name = 'x'", "unknown key `name`", "the keys are doc, ratio"),
        ("q = 1\nz = 2", "unknown keys `q`, `z`", "the keys are doc, ratio"),
    ],
)
def test_an_unknown_key_suggests_the_nearest_one(
    tmp_path: Path, text: str, unknown: str, suggestion: str
) -> None:
    with pytest.raises(UsageError, match=unknown) as caught:
        read(tmp_path, "doc = 'd'\n" + text)
    assert suggestion in caught.value.hint
    assert caught.value.hint.endswith("see docs")


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the file: No such file"):
        TomlFile(tmp_path / "absent.toml", UsageError).record(Inner)
    (tmp_path / "pipe.toml").symlink_to("/dev/null")
    with pytest.raises(UsageError, match="is not a file"):
        TomlFile(tmp_path / "pipe.toml", UsageError).record(Inner)


def test_a_file_with_placeholders_is_edited_before_it_is_parsed(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("size = {size}\n")
    file = TomlFile(tmp_path / "x.toml", UsageError, edit=lambda t: t.replace("{size}", "3"))
    assert file.record(Inner) == Inner(3)
