"""JSON without NaN and infinity, in every module that writes JSON, and read without a crash."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import numpy as np
import pytest

from trimtab import strict_json

JSON_CALLS = ("dump", "dumps", "load", "loads")
PACKAGE = Path(__file__).resolve().parents[1] / "trimtab"


def refuse(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), np.float64("nan")])
def test_a_number_that_is_not_finite_is_null_at_any_depth(number: float) -> None:
    value = {"a": [1, (number, 2.5)], "b": {"c": number}, "d": number, "e": "nan"}
    text = strict_json.dumps(value, indent=1)
    expected = {"a": [1, [None, 2.5]], "b": {"c": None}, "d": None, "e": "nan"}
    assert json.loads(text, parse_constant=refuse) == expected


def test_half_of_a_character_is_replaced_in_texts_and_keys() -> None:
    text = strict_json.dumps({"a\udfff": ["\ud800b", "\U0001f600"]}, ensure_ascii=False)
    assert text.encode().decode() == '{"a\ufffd": ["\ufffdb", "\U0001f600"]}'


def test_other_values_are_written_as_json_writes_them() -> None:
    value = {"a": [1, 2.5, True, None, "\u00e9\x1b"], "b": {}, "c": 1e300, "d": -0.0}
    assert strict_json.dumps(value, sort_keys=True) == json.dumps(value, sort_keys=True)


def test_no_module_writes_or_reads_json_in_another_way() -> None:
    others = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if "_resources" in path.parts or path.name == "strict_json.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in JSON_CALLS:
                if isinstance(node.value, ast.Name) and node.value.id == "json":
                    others.append(f"{path.name}:{node.lineno}")
            elif isinstance(node, ast.ImportFrom) and node.module == "json":
                others.append(f"{path.name}:{node.lineno}")
    assert others == []


@pytest.mark.parametrize("start", ["[", '{"a":', b"["])
def test_values_that_are_nested_too_deeply_are_a_value_error(start: str | bytes) -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        strict_json.loads(start * 200_000)


def test_other_texts_are_read_as_json_reads_them() -> None:
    text = '{"a": [1, 2.5, null, "\u00e9"], "b": NaN}'
    assert str(strict_json.loads(text)) == str(json.loads(text))
    assert strict_json.loads("NaN", parse_constant=len) == 3
    with pytest.raises(ValueError, match="Expecting value"):
        strict_json.loads("[1,")
