"""The contract of the importers' files: sentences that hold for every format.

Each format contributes `FORMAT` of its test_<format>_files.py, where tests of its own prove what is
peculiar to it. A new importer is under the contract as soon as it has that file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.importers import damage
from tests.importers.formats import SHAPE, Fault, Format, Layer, fault
from tests.importers.models import assert_close
from tests.importers.sources import FORMATS
from tests.some import some
from trimtab import importers
from trimtab.errors import (
    DynamicShapeError,
    ImportModelError,
    ModelFileError,
    TrimtabError,
    UnsupportedOperatorError,
)
from trimtab.importers import _walk

INVALID = ModelFileError, ImportModelError
SUFFIXES = {name: importers.importer(name).SUFFIXES for name in FORMATS}
TYPE = "unheard_of"


def those(holds: Callable[[Format], object]) -> pytest.MarkDecorator:
    """A parameter: the formats that a sentence is about."""
    formats = {name: format for name, format in FORMATS.items() if holds(format)}
    return pytest.mark.parametrize("format", formats.values(), ids=formats)


def faults(of: Callable[[Format], Any]) -> pytest.MarkDecorator:
    """A parameter: the faults of all formats."""
    every = {f"{n}: {id}": one for n, format in FORMATS.items() for id, one in of(format)}
    return pytest.mark.parametrize("fault", every.values(), ids=every)


every_format = those(lambda _: True)
with_names = those(lambda format: format.names_values)


def refusal(path: Path, kind: Any, **inputs: Any) -> TrimtabError:
    """The error for a file, which names its folder and what to do next."""
    caught: pytest.ExceptionInfo[TrimtabError]
    with pytest.raises(kind) as caught:
        trimtab.load(path, inputs)
    assert str(path.parent) in str(caught.value)
    assert caught.value.hint
    return caught.value


def assert_refused(fault: Fault, folder: Path, *kinds: type[TrimtabError]) -> None:
    error = refusal(fault.write(folder), fault.kind or kinds, **fault.inputs)
    message = str(error)
    assert [says for says in fault.says if not re.search(says, message, re.DOTALL)] == [], message
    assert not re.search(fault.never, message), message
    assert fault.hint in error.hint


def layers(format: Format, *rows: str, type: str = "") -> list[Layer]:
    """ReLUs, each as its name and the values that it reads and writes; or layers of a type."""
    return [Layer(type or format.relu, *row.split()) for row in rows]


def assert_relu(path: Path) -> None:
    """A network of nothing but ReLUs."""
    session = trimtab.Session(trimtab.load(path))
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(SHAPE)
    for value in some(session.run({session.input_names[0]: x}).values()):
        np.testing.assert_array_equal(value, x.clip(0))


@every_format
def test_a_network_computes_what_its_own_runtime_does(format: Format, tmp_path: Path) -> None:
    path = format.network(tmp_path)
    program, expected = trimtab.load(path), format.expected(path)
    assert (program.name, program.inputs) == (path.stem, [*format.feeds])
    assert program.outputs == [*expected]
    results = trimtab.Session(program).run(format.feeds)
    for name, value in some(expected.items()):
        assert_close(results[name], value, 1e-6)


@every_format
def test_a_given_shape_is_that_of_the_input(format: Format, tmp_path: Path) -> None:
    network, shape, expected = format.resized
    (name,) = format.feeds
    program = trimtab.load(network(tmp_path), {name: shape})
    assert program.vars[name].shape == shape
    assert program.vars[program.outputs[-1]].shape == expected


@those(lambda format: format.free)
def test_free_dimensions_are_refused_with_an_example(format: Format, tmp_path: Path) -> None:
    assert format.free
    assert_refused(format.free, tmp_path, DynamicShapeError)
    hint = refusal(format.free.write(tmp_path), DynamicShapeError).hint
    assert re.search(r"inputs={'(.+)': \(.*--input \1=", hint)


@every_format
def test_shapes_that_do_not_fit_an_input_are_refused(format: Format, tmp_path: Path) -> None:
    network, shape, _ = format.resized
    (name,) = format.feeds
    unknown = fault(network, "no input 'image'", hint=name, image=shape)
    for size in (0, -1):
        wrong = replace(unknown, says=["does not fit"], inputs={name: (*shape[:-1], size)}, hint="")
        assert_refused(wrong, tmp_path, ImportModelError)
    for one in (unknown, *format.unfit):
        assert_refused(one, tmp_path, ImportModelError)


@every_format
def test_all_unsupported_layers_are_named_at_once(format: Format, tmp_path: Path) -> None:
    assert_refused(format.unsupported, tmp_path, UnsupportedOperatorError)


@every_format
def test_layers_of_unknown_types_are_named(format: Format, tmp_path: Path) -> None:
    first, reader = layers(format, "one x a", "three b c")
    second, last = layers(format, "two a b", "four a d", type=TYPE)
    rows = [first, second, reader, last]
    error = refusal(format.layers(tmp_path, rows, ["c", "d"]), UnsupportedOperatorError)
    assert re.match("2 (layer|node)s are not supported", error.what)
    assert error.what.count(TYPE) == 2
    places = [format.place.format(index=i, **vars(row)) for i, row in enumerate(rows)]
    assert [one for one in places if one in error.what] == [places[1], places[3]]
    assert "not checked, because they read these results: 1 more" in error.what


TWICE = "is defined twice|has another source already|a cycle: "
# Networks of layers and their outputs: what their error says, whose fault is that of layer `two`,
# and the field of the formats that have such networks.
CHAINS = {
    "a value that nobody computes": (
        *(["two nowhere b"], ["b"], "'nowhere' is not defined", "names_values"),
    ),
    "a cycle": (
        *(["two b a", "one a b"], ["b"], "'b' is not defined|a cycle: one -> two -> one"),
        "names_values",
    ),
    "a layer that reads its result": (
        *(["two a a"], ["a"], "'a' is not defined|a cycle: two -> two", "names_values"),
    ),
    "a value of two layers": (["one x a", "two x a"], ["a"], TWICE, "assigns_once"),
    "an input that a layer computes": (["one x a", "two a x"], ["x"], TWICE, "assigns_once"),
    "an output that nobody computes": (
        *(["one x a"], ["nowhere"], "the output 'nowhere'|'nowhere' is not defined"),
        "declares_outputs",
    ),
    "no outputs": (["one x a"], [], "it has no (outputs|graph|pnnx.Output)", "declares_outputs"),
}


@pytest.mark.parametrize(
    ("format", "chain"),
    [(f, c) for c in CHAINS for f in FORMATS if getattr(FORMATS[f], CHAINS[c][-1])],
)
def test_values_without_exactly_one_source_are_errors_at_their_layer(
    format: str, chain: str, tmp_path: Path
) -> None:
    own = FORMATS[format]
    rows, outputs, says, _ = CHAINS[chain]
    chained = layers(own, *rows)
    kind = ImportModelError if outputs else INVALID
    message = str(refusal(own.layers(tmp_path, chained, outputs), kind))
    assert re.search(says, message)
    for i, row in enumerate(chained):
        is_at_fault = row.name == "two" and "a cycle: " not in message
        assert not is_at_fault or own.place.format(index=i, **vars(row)) in message


@those(lambda format: format.names_values and not format.assigns_once)
@pytest.mark.parametrize("rows", [("one x a", "two x a"), ("one x a", "two a x")])
def test_values_may_be_computed_again(rows: Sequence[str], format: Format, tmp_path: Path) -> None:
    chained = layers(format, *rows)
    assert_relu(format.layers(tmp_path, chained, [chained[-1].writes]))


@with_names
def test_layers_may_have_one_name(format: Format, tmp_path: Path) -> None:
    assert_relu(format.layers(tmp_path, layers(format, "one x a", "one a b"), ["b"]))


@those(lambda format: format.declares_outputs)
def test_an_output_may_be_declared_twice(format: Format, tmp_path: Path) -> None:
    assert_relu(format.layers(tmp_path, layers(format, "one x a"), ["a", "a"]))


@with_names
@pytest.mark.parametrize("rows", [("QQ x a", "two a b"), ("one x QQ", "two QQ b")])
def test_a_name_that_is_not_utf_8_is_replaced_or_refused(
    rows: Sequence[str], format: Format, tmp_path: Path
) -> None:
    path = format.layers(tmp_path, layers(format, *rows), ["b"])
    path.write_bytes(path.read_bytes().replace(b"QQ", b"\xff\xfe"))
    if not format.replaces_names:
        assert r"the name '\xff\xfe' is not UTF-8" in refusal(path, ModelFileError).what
    else:
        trimtab.load(path).save(tmp_path / "net.ttm")
        assert_relu(tmp_path / "net.ttm")


@every_format
def test_more_layers_than_any_network_has_are_refused(
    format: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_walk, "MAX_LAYERS", 10)
    rows = layers(format, "l0 x v0", *(f"l{i} v{i - 1} v{i}" for i in range(1, 11)))
    error = refusal(format.layers(tmp_path, rows, ["v10"]), ImportModelError)
    assert re.match(r"it has 1[123] layers, the limit is 10$", error.what)
    assert_relu(format.layers(tmp_path, rows[:7], ["v6"]))


@those(lambda format: damage.of_text in format.structures.values())
def test_a_text_that_is_longer_than_any_other_is_not_read(format: Format, tmp_path: Path) -> None:
    path = format.network(tmp_path)
    with path.open("r+b") as file:
        file.truncate(2**34)
    error = refusal(path, ModelFileError)
    assert error.where == str(path)
    assert re.match(rf"has {2**34} bytes, the limit .* \d+$", error.what)


@every_format
def test_a_truncated_file_is_an_error_that_names_it(format: Format, tmp_path: Path) -> None:
    path = format.network(tmp_path)
    for file in some(sorted(tmp_path.iterdir())):
        content = file.read_bytes()
        is_text = format.structures.get(file.name) is damage.of_text
        size = len(content)
        # A text may be complete without its end.
        last = [] if is_text else [size - 1]
        for end in (0, 1, 2, size // 8, size // 4, size // 2, *last):
            file.write_bytes(content[:end])
            assert str(file) in str(refusal(path, INVALID if is_text else ModelFileError))
        file.write_bytes(content)


@pytest.mark.parametrize("name", FORMATS)
def test_a_folder_is_not_a_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"net{SUFFIXES[name][0]}"
    path.mkdir()
    error = refusal(path, ModelFileError)
    assert re.match("is not a regular file|cannot be read|has no program in it", error.what)


@pytest.mark.parametrize("name", [name for name, own in SUFFIXES.items() if len(own) > 1])
def test_network_and_weights_find_each_other(name: str, tmp_path: Path) -> None:
    text, suffix = SUFFIXES[name][:2]
    path = FORMATS[name].network(tmp_path)
    outputs = trimtab.load(path).outputs
    assert trimtab.load(tmp_path / f"net{suffix}").outputs == outputs
    other = (tmp_path / f"net{suffix}").rename(tmp_path / f"epoch_9{suffix}")
    assert trimtab.load(path).outputs == trimtab.load(other).outputs == outputs
    second = tmp_path / f"second{suffix}"
    second.write_bytes(other.read_bytes())
    assert f"{other.name}, {second.name}" in refusal(path, ModelFileError).what
    path.rename(tmp_path / "net.text")
    error = refusal(other, ModelFileError)
    assert re.match(r"has no (program|\.\w+) beside it", error.what)
    assert Path(text).suffix in str(error)


@faults(lambda format: enumerate(format.weights))
def test_weights_that_are_missing_or_do_not_fit_are_an_error(fault: Fault, tmp_path: Path) -> None:
    assert_refused(fault, tmp_path, ModelFileError)


@faults(lambda format: format.mistakes.items())
def test_mistakes_in_a_network_are_errors_with_their_place(fault: Fault, tmp_path: Path) -> None:
    file = fault.write(tmp_path)
    assert_refused(replace(fault, says=[*fault.says, re.escape(str(file))]), tmp_path, *INVALID)
