"""Properties of operators that follow from their schemas, on operators of the tree."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from trimtab import paths, schema
from trimtab.engine import engine
from trimtab.schema.model import DTYPES


@pytest.mark.parametrize(
    ("name", "attributes", "moves"),
    [
        ("transpose", {}, True),  # under all conditions
        ("relu", {}, False),
        ("pad", {"mode": "reflect", "value": 1.0}, True),
        ("pad", {"mode": "constant", "value": 0.0}, True),
        ("pad", {"mode": "constant", "value": 1.0}, False),
        ("resize", {"mode": "linear"}, False),
    ],
)
def test_an_operator_moves_elements_under_any_of_its_conditions(
    name: str, attributes: dict[str, object], moves: bool
) -> None:
    assert schema.operator(name).moves(attributes) == moves


def test_a_condition_with_two_attributes_holds_if_both_do() -> None:
    op = replace(schema.operator("pad"), moves_if=({"mode": "edge", "value": 0.0},))
    assert op.moves({"mode": "edge", "value": 0.0})
    assert not op.moves({"mode": "edge", "value": 1.0})


def test_the_engine_has_the_schemas_of_the_tree() -> None:
    assert engine().schema_hash() == schema.schema_hash()


def test_the_codes_of_element_types_are_those_of_the_engine() -> None:
    text = (paths.root() / "runtime" / "core" / "tensor.h").read_text()
    body = text.partition("enum class DType : uint8_t {")[2].partition("}")[0]
    codes = {name.lower(): int(code) for name, code in re.findall(r"k(\w+) = (\d+)", body)}
    assert codes == {"none": 0, **DTYPES}


def test_a_list_of_operands_has_no_end_also_after_single_ones() -> None:
    concat, conv = schema.operator("concat"), schema.operator("conv")
    assert concat.input_counts == (1, 255)
    assert conv.input_counts == (2, len(conv.inputs))
    assert replace(conv, inputs=(*conv.inputs, *concat.inputs)).input_counts == (3, 255)


def test_an_operand_for_sizes_keeps_older_model_files_readable() -> None:
    op = schema.operator("reshape")
    assert op.size_ports == {"tensor": 1, "terms": 2}
    assert replace(op, inputs=op.inputs[:1]).schema_hash == op.schema_hash


def test_the_ids_of_retired_operators_are_free() -> None:
    assert not {op.id for op in schema.operators().values()} & {*schema.RETIRED}
    assert not {*schema.operators()} & {*schema.RETIRED.values()}


@pytest.mark.parametrize(
    ("name", "run_time", "has_source", "is_generated"),
    [
        ("relu", False, False, True),
        ("relu", False, True, False),
        ("relu", True, False, False),
        ("conv", False, False, False),
    ],
)
def test_only_a_unary_operator_without_a_source_is_generated(
    name: str, run_time: bool, has_source: bool, is_generated: bool, tmp_path: Path
) -> None:
    path = tmp_path / f"{name}.toml"
    if has_source:
        path.with_suffix(".cpp").touch()
    op = replace(schema.operator(name), path=path, run_time=run_time)
    assert op.is_generated == is_generated
