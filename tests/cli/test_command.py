"""Commands whose options are the fields of a dataclass."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import pytest
from invoke.collection import Collection
from invoke.context import Context

from trimtab.cli._command import argument, changed, command, group, option, parse
from trimtab.cli._program import contexts


@dataclass(frozen=True, kw_only=True)
class LimitOptions:
    low: int | None = option("lowest", None)
    high_water: float = option("highest", 0.5)


@dataclass(frozen=True, kw_only=True)
class ExampleOptions:
    name: str = argument("a name")
    input: tuple[str, ...] = option("inputs", ())
    wait: str | bool = option("wait", bare=True)
    quiet: bool = option("say nothing", False)
    limits: LimitOptions = group(LimitOptions)
    other: LimitOptions = group(LimitOptions, "b_", "--{name} of B: {help}")


received: list[ExampleOptions] = []


@command(ExampleOptions)
def example(options: ExampleOptions) -> None:
    """Does nothing."""
    received.append(options)


def test_an_option_has_the_kind_and_the_help_of_its_field() -> None:
    arguments = {argument.name: argument for argument in example.get_arguments()}
    kinds = {name: argument.kind for name, argument in arguments.items()}
    assert kinds == {
        "name": str,
        "input": list,
        "wait": str,
        "quiet": bool,
        "low": int,
        "high_water": float,
        "b_low": int,
        "b_high_water": float,
    }
    assert arguments["name"].positional
    assert not arguments["input"].positional
    assert arguments["wait"].optional
    assert arguments["high_water"].help == "highest"
    assert arguments["b_high_water"].help == "--high-water of B: highest"
    assert arguments["b_high_water"].names[0] == "b-high-water"


def test_a_task_keeps_its_help_texts() -> None:
    for _ in range(2):
        context = contexts(Collection(example))["example"]
        assert all(argument.help for argument in context.args.values())


def test_a_body_takes_the_values_of_the_command_line_as_one_dataclass() -> None:
    example.body(Context(), "n", input=["x"], low=-1, b_low=3, wait=True)
    expected = ExampleOptions(
        name="n", input=("x",), wait=True, other=LimitOptions(low=3, high_water=0.5)
    )
    assert received.pop() == expected


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(TypeError, match="color"):
        example.body(Context(), "n", color="red")


def test_options_that_differ_from_their_defaults_are_known_by_name() -> None:
    options = parse(ExampleOptions, {"name": "n", "b_high_water": 0.7, "quiet": False})
    assert changed(options) == {"name": "n", "b_high_water": 0.7}
    assert parse(ExampleOptions, changed(options)) == options


def test_options_are_frozen() -> None:
    options = ExampleOptions(name="n")
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.name = "m"  # type: ignore[misc]
