"""Operator schemas: shared files, and errors in a file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trimtab import schema
from trimtab.errors import SchemaError

EPILOGUE = """
fuses_activation = true
[attributes.alpha]
type = "float"
doc = "first parameter"
default = 0.0
[plan.activation_kernel]
type = "kernel"
doc = "of the activation"
families = ["@activation"]
"""
WINDOW = '[attributes.pads]\ntype = "ints"\ndoc = "padding"\nlength = 4\n'
OWN = """
[[outputs]]
name = "y"
doc = "the result"
[attributes.group]
type = "int"
doc = "groups"
[plan.kernel]
type = "kernel"
doc = "of the operator"
families = ["gemm"]
"""


def written(folder: Path, include: str, more: str = "") -> Path:
    shared = folder / "shared"
    shared.mkdir()
    (shared / "epilogue.toml").write_text(EPILOGUE)
    (shared / "window.toml").write_text(WINDOW)
    path = folder / "made_up.toml"
    head = 'id = 900\ndoc = "made up"\nlayout = "any"\ndtypes = ["f32"]\n'
    path.write_text(f"{head}include = {include}\n{more}{OWN}")
    return path


def test_attributes_of_the_operator_come_before_those_it_includes(tmp_path: Path) -> None:
    op = schema.read_operator(written(tmp_path, '["window", "epilogue"]'))
    names = [(a.name, a.plan) for a in op.attributes]
    assert names == [
        ("group", False),
        ("pads", False),
        ("alpha", False),
        ("kernel", True),
        ("activation_kernel", True),
    ]
    assert op.fuses_activation
    assert op.families == ("gemm", "@activation")


def test_attributes_may_be_included_under_other_names_without_the_keys_beside_them(
    tmp_path: Path,
) -> None:
    op = schema.read_operator(written(tmp_path, '["epilogue", "last_:epilogue"]'))
    names = [
        "group",
        "alpha",
        "last_alpha",
        "kernel",
        "activation_kernel",
        "last_activation_kernel",
    ]
    assert [a.name for a in op.attributes] == names
    op = schema.read_operator(tmp_path / "made_up.toml")
    assert op.fuses_activation


def test_a_schema_without_includes_has_only_its_own_attributes(tmp_path: Path) -> None:
    op = schema.read_operator(written(tmp_path, "[]"))
    assert [a.name for a in op.attributes] == ["group", "kernel"]
    assert not op.fuses_activation


@pytest.mark.parametrize(
    ("include", "more", "reason"),
    [
        ('["epilog"]', "", r"includes 'epilog'.*the files are: .*epilogue, .*window"),
        ('["window", "window"]', "", r"repeats keys of .*window.toml: pads"),
        ('["epilogue"]', "fuses_activation = false\n", r"repeats keys of .*: fuses_activation"),
    ],
    ids=["unknown", "twice", "own key"],
)
def test_an_invalid_include_is_an_error_that_names_the_file(
    tmp_path: Path, include: str, more: str, reason: str
) -> None:
    with pytest.raises(SchemaError, match=rf"(?s)made_up.toml: {reason}"):
        schema.read_operator(written(tmp_path, include, more))


def test_shared_files_are_no_operators_and_every_one_is_used() -> None:
    folder = Path(__file__).parents[2] / "runtime" / "ops"
    shared = {path.stem for path in (folder / "shared").glob("*.toml")}
    assert shared.isdisjoint(schema.operators())
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("*.toml")]
    included = "\n".join(line for t in texts for line in t.splitlines() if "include = " in line)
    assert [name for name in sorted(shared) if included.count(f'"{name}"') < 2] == []


def test_multiply_accumulates_are_elements_of_one_port_times_dimensions_of_another(
    tmp_path: Path,
) -> None:
    inputs = '\n[[inputs]]\nname = "w"\ndoc = "weights"\n'
    op = schema.read_operator(written(tmp_path, "[]", f'macs = "y * w[1:]"{inputs}'))
    assert op.macs is not None
    assert op.macs.count({"y": (2, 3, 4), "w": (9, 5, 7)}) == 2 * 3 * 4 * 5 * 7


def test_multiply_accumulates_of_several_sums_are_added_and_those_of_absent_inputs_none(
    tmp_path: Path,
) -> None:
    inputs = "".join(f'\n[[inputs]]\nname = "{name}"\ndoc = "weights"\n' for name in "vw")
    rule = 'macs = "y[:1] * y[2:] * w + y * v[-1:]"'
    op = schema.read_operator(written(tmp_path, "[]", f"{rule}{inputs}"))
    assert op.macs is not None
    shapes = {"y": (2, 3, 4), "w": (5, 7), "v": (9, 8)}
    assert op.macs.count(shapes) == 2 * 4 * 5 * 7 + 2 * 3 * 4 * 8
    assert op.macs.count({**shapes, "v": ()}) == 2 * 4 * 5 * 7


@pytest.mark.parametrize("rule", ["y", "y * w[1:]", "y * y(1)", "y + y[1:]", "y * y + y"])
def test_an_invalid_macs_formula_is_an_error(rule: str, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="cannot parse macs") as error:
        schema.read_operator(written(tmp_path, "[]", f'macs = "{rule}"'))
    assert "made_up.toml" in error.value.where


@pytest.mark.parametrize(
    ("traits", "reason"),
    [
        ('kind = "ternary"', "kind = 'ternary' is not one of unary, binary"),
        ('kind = "unary"', "a unary operator has no attributes but alpha and beta"),
        ('kind = "binary"', "a binary operator has 2 inputs"),
        ("table = true", "only a unary operator can be computed by a table"),
        ("moves_if = [{ group = 1 }]", "moves_if needs kind"),
        ('clamp = ["low", 1.0]', "unknown attributes: low"),
        ('slope = "steep"', "unknown attributes: steep"),
        ("result_range = [1.0]", r"are \[lower, upper\]"),
    ],
)
def test_a_trait_that_contradicts_the_schema_is_an_error(
    traits: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(SchemaError, match=rf"made_up.toml: .*{reason}"):
        schema.read_operator(written(tmp_path, "[]", traits))


def test_a_movement_may_depend_on_attributes(tmp_path: Path) -> None:
    path = written(tmp_path, "[]", 'kind = "movement"\nmoves_if = [{ group = 1 }, { group = 3 }]')
    op = schema.read_operator(path)
    assert [op.moves({"group": n}) for n in (1, 2, 3)] == [True, False, True]


def test_a_clamp_has_bounds_from_numbers_and_attributes() -> None:
    relu, clip = schema.operator("relu"), schema.operator("clip")
    assert relu.bounds({}) == (0.0, float("inf"))
    assert clip.bounds({"alpha": -1.0, "beta": 6.0}) == (-1.0, 6.0)
    assert schema.operator("tanh").bounds({}) is None


RUN_TIME = """
run_time = true
{id}
doc = "made up"
layout = "{layout}"
dtypes = ["f32"]
[[inputs]]
name = "x"
doc = "input"
{port}
[[outputs]]
name = "y"
doc = "result"
[attributes.size]
type = "{type}"
doc = "a size"
{attribute}
"""


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, ""),
        ({"id": "id = 40000"}, "must have the id that follows from its name"),
        ({"layout": "any"}, "must have layout"),
        ({"port": "in_place = true"}, r"cannot have an operand with in_place \(x\)"),
        ({"type": "double"}, "can only have attributes of the types .*size"),
        ({"type": "ints", "attribute": "length = 2"}, "can only have attributes of the types"),
        ({"attribute": "range = [1, 9]"}, "can only have attributes of the types"),
    ],
)
def test_an_operator_at_run_time_has_only_what_a_shared_library_is_told(
    tmp_path: Path, changes: dict[str, str], problem: str
) -> None:
    words = {"id": "", "layout": "plain", "port": "", "type": "int", "attribute": ""}
    path = tmp_path / "made_up.toml"
    path.write_text(RUN_TIME.format(**words | changes))
    if not problem:
        assert schema.read_plugin_operator(path).run_time
        return
    with pytest.raises(SchemaError, match=problem):
        schema.read_plugin_operator(path)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('layout = "any"', 'layout = "tall"', "unknown layout 'tall'"),
        ('dtypes = ["f32"]', 'dtypes = ["f31"]', r"unknown dtypes \['f31'\]"),
    ],
)
def test_an_unknown_layout_or_dtype_is_an_error(
    tmp_path: Path, old: str, new: str, reason: str
) -> None:
    path = written(tmp_path, "[]")
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(SchemaError, match=reason):
        schema.read_operator(path)


def test_a_plug_in_that_replaces_an_operator_has_the_id_of_that(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "runtime" / "ops" / "ceil.toml").read_text()
    path = tmp_path / "ceil.toml"
    path.write_text("replaces = 'ceil'\n" + re.sub(r"^id = .*\n", "", text))
    assert schema.read_plugin_operator(path).id == schema.operator("ceil").id
    path.rename(tmp_path / "ceiling.toml")
    assert schema.read_plugin_operator(tmp_path / "ceiling.toml").id >= 0x8000
