"""Record attributes and 64-bit numbers: schema, encoding and generated C++."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab import schema
from trimtab.build import codegen
from trimtab.errors import ProgramError, SchemaError
from trimtab.program import attributes

SCHEMA = """
id = 40000
doc = "d"
layout = "any"
dtypes = ["f32"]
[[inputs]]
name = "x"
doc = "x"
[[outputs]]
name = "y"
doc = "y"
[attributes.seed]
type = "uint"
doc = "seed"
[attributes.ratio]
type = "double"
doc = "ratio"
default = 0.1
[attributes.bands]
type = "records"
doc = "bands"
default = []
[attributes.bands.fields.offset]
type = "float"
doc = "offset"
[attributes.bands.fields.mode]
type = "enum"
doc = "mode"
values = ["wide", "narrow"]
default = "wide"
[attributes.bands.fields.widths]
type = "ints"
doc = "widths"
"""
BANDS = [{"offset": 0.5, "widths": [2, 1]}, {"offset": -1.0, "widths": [], "mode": "narrow"}]


def operator(folder: Path, text: str = SCHEMA) -> schema.Operator:
    (folder / "banded.toml").write_text(text)
    return schema.read_operator(folder / "banded.toml")


def test_encoded_attributes_are_decoded_again(tmp_path: Path) -> None:
    op = operator(tmp_path)
    values = attributes.complete(op, {"seed": 2**64 - 1, "bands": BANDS})
    assert values["ratio"] == 0.1
    assert values["bands"][0] == {"offset": 0.5, "mode": "wide", "widths": (2, 1)}
    assert attributes.decode(op, attributes.encode(op, values)) == values
    assert hash(values["bands"]) == hash(attributes.complete(op, values)["bands"])


def test_the_encoding_follows_the_format(tmp_path: Path) -> None:
    """docs/model-format.md: three slots, then two records of three slots, then their lists."""
    op = operator(tmp_path)
    block = attributes.encode(op, attributes.complete(op, {"seed": 7, "bands": BANDS}))
    words = [int.from_bytes(block[i : i + 4], "little") for i in range(0, len(block), 4)]
    slots, first, second, tail = words[:6], words[6:12], words[12:18], words[18:]
    assert slots[:2] == [7, 0]
    assert block[8:16] == bytes.fromhex("9a9999999999b93f")  # 0.1 in IEEE 754
    assert slots[4:] == [24, 2]
    assert first == [0x3F000000, 0, 0, 0, 72, 2]
    assert second == [0xBF800000, 0, 1, 0, 88, 0]
    assert tail == [2, 0, 1, 0]


@pytest.mark.parametrize(
    ("bands", "message"),
    [
        ([{"offset": 1.0}], "lacks widths"),
        ([{"offset": 1.0, "widths": [1], "slope": 2}], "has no slope"),
        ([{"offset": 1.0, "widths": [1], "mode": "odd"}], "not one of wide, narrow"),
        ([3], "3 is not a record of offset, mode, widths"),
    ],
)
def test_an_invalid_record_is_refused(tmp_path: Path, bands: list[object], message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        attributes.complete(operator(tmp_path), {"seed": 0, "bands": bands})


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_number_of_more_than_64_bits_is_refused(tmp_path: Path, seed: int) -> None:
    with pytest.raises(ProgramError, match="out of range"):
        attributes.complete(operator(tmp_path), {"seed": seed})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('type = "float"', 'type = "records"', "unknown type 'records'"),
        ('type = "float"', 'type = "kernel"', "unknown type 'kernel'"),
        ('type = "records"', 'type = "ints"', "only an attribute of type records has fields"),
        ('type = "uint"', 'type = "records"', "only an attribute of type records has fields"),
    ],
)
def test_an_invalid_schema_of_records_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(SchemaError, match=message):
        operator(tmp_path, SCHEMA.replace(old, new, 1))


def test_fields_are_a_part_of_the_schema_s_hash(tmp_path: Path) -> None:
    other = SCHEMA.replace("fields.offset", "fields.shift")
    assert operator(tmp_path).schema_hash != operator(tmp_path, other).schema_hash


def test_each_record_has_a_struct_and_its_rows_follow_those_of_the_list(tmp_path: Path) -> None:
    header = codegen.attributes_header(operator(tmp_path))
    assert "struct BandedBands {" in header
    assert "RecordList<BandedBands> bands;" in header
    assert "BandedBandsMode mode;" in header
    assert "uint64_t seed;" in header
    assert "double ratio;" in header
