"""Commands: tasks of Invoke whose options are the fields of a frozen dataclass.

    @dataclass(frozen=True, kw_only=True)
    class PackOptions:
        source: str = argument("a .ttm file")
        output: str = option("the file to write")

    @command(PackOptions)
    def pack(options: PackOptions) -> None: ...

A field's type and default give the kind of the option, its metadata the help. Fields made by
`group` hold the dataclass of options that several commands share.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from invoke.parser.argument import Argument
from invoke.tasks import Task
from invoke.tasks import task as invoke_task

T = TypeVar("T")

_CONTINUES = "the same command continues with what is left"
_UNSET = -1  # the value of a numeric option without default: Invoke derives the kind from it


def argument(help: str) -> Any:
    """A required field, which is a positional argument."""
    return dataclasses.field(metadata={"help": help})


def option(help: str, default: Any = "", *, bare: bool = False) -> Any:
    """An optional field. A tuple as default makes the option repeatable; None makes it numeric
    without default. `bare`: the option may stand without a value, which gives True.
    """
    return dataclasses.field(default=default, metadata={"help": help, "bare": bare})


def group(options: type[T], prefix: str = "", help: str = "{help}") -> Any:
    """A field that holds a dataclass of shared options. `prefix` goes in front of their names;
    `help` is the format of their help texts, which also knows {name}.
    """
    return dataclasses.field(default_factory=options, metadata={"group": (options, prefix, help)})


def changed(options: Any, prefix: str = "") -> dict[str, Any]:
    """The options that differ from their defaults, by their names as fields."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if shared := field.metadata.get("group"):
            values |= changed(value, prefix + shared[1])
        elif value != field.default:
            values[prefix + field.name] = value
    return values


class CommandTask(Task):  # type: ignore[type-arg]
    """A task of Invoke that keeps its help, and has no short option "-"."""

    def get_arguments(self, ignore_unknown_help: bool | None = None) -> list[Argument]:
        """The arguments; Invoke would take their help texts away from the task."""
        twin = copy.copy(self)
        twin.help = dict(self.help)
        return Task.get_arguments(twin, ignore_unknown_help)

    def arg_opts(self, name: str, default: str, taken_names: set[str]) -> dict[str, Any]:
        """The parameters of an argument. When the letters of a name are all taken, Invoke uses its
        dash as the short option.
        """
        parameters = super().arg_opts(name, default, taken_names)
        taken_names.update(parameters["names"])
        return {**parameters, "names": tuple(n for n in parameters["names"] if n != "-")}


task = functools.partial(invoke_task, klass=CommandTask)
"""Invoke's decorator, for tasks whose options are parameters."""


def command(
    options: type[T],
    *,
    engine: bool = False,
    default: bool = False,
    short_options: bool = True,
    continues: bool = False,
) -> Callable[[Callable[[T], None]], CommandTask]:
    """Makes a task of a function that takes `options`.

    `engine`: build the Python engine of this checkout first, which may take minutes. If `options`
    has a method `validate`, it comes first and raises what is wrong with the values. `default`:
    the default task of its namespace; `short_options`: options have one-letter forms, too;
    `continues`: after Ctrl-C, the same command continues where it stopped.
    """

    def decorate(function: Callable[[T], None]) -> CommandTask:
        leaves = [*_leaves(options)]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        signature = inspect.Signature(
            [
                inspect.Parameter("context", kind),
                *(inspect.Parameter(leaf.name, kind, default=leaf.value) for leaf in leaves),
            ]
        )

        @functools.wraps(function)
        def body(*args: Any, **values: Any) -> None:
            parsed = parse(options, signature.bind(*args, **values).arguments)
            getattr(parsed, "validate", _nothing)()
            if engine:
                from trimtab.cli._engine import build_engine

                build_engine(quiet=bool(values.get("json")))
            try:
                function(parsed)
            except KeyboardInterrupt:
                raise KeyboardInterrupt(*[_CONTINUES] * continues) from None

        body.__signature__ = signature  # type: ignore[attr-defined]
        decorated: CommandTask = task(
            default=default,
            auto_shortflags=short_options,
            iterable=[leaf.name for leaf in leaves if leaf.is_list],
            optional=[leaf.name for leaf in leaves if leaf.bare],
            help={leaf.name.replace("_", "-"): leaf.help for leaf in leaves},
        )(body)
        return decorated

    return decorate


def _nothing() -> None:
    """The validation of options that have none."""


@dataclass(frozen=True)
class _Leaf:
    """An option as Invoke knows it."""

    name: str
    value: Any  # its default
    help: str
    is_list: bool
    bare: bool


def _leaves(options: type[Any], prefix: str = "", help: str = "{help}") -> Iterator[_Leaf]:
    for field in dataclasses.fields(options):
        if shared := field.metadata.get("group"):
            cls, inner_prefix, inner_help = shared
            yield from _leaves(cls, prefix + inner_prefix, inner_help)
            continue
        is_list = isinstance(field.default, tuple)
        value = field.default
        if value is dataclasses.MISSING:
            value = inspect.Parameter.empty
        elif value is None:
            value = _UNSET
        elif is_list:
            value = []
        name = field.name.replace("_", "-")
        text = help.format(help=field.metadata["help"], name=name)
        bare = bool(field.metadata.get("bare"))
        yield _Leaf(prefix + field.name, value, text, is_list, bare)


def parse(options: type[T], values: Mapping[str, Any], prefix: str = "") -> T:
    """The dataclass with these values, by the names of `changed`."""
    parsed: dict[str, Any] = {}
    for field in dataclasses.fields(typing.cast(Any, options)):
        if shared := field.metadata.get("group"):
            cls, inner_prefix, _ = shared
            parsed[field.name] = parse(cls, values, prefix + inner_prefix)
        elif (name := prefix + field.name) in values:
            value = values[name]
            if isinstance(field.default, tuple):
                value = tuple(value)
            elif field.default is None and value == _UNSET:
                value = None
            parsed[field.name] = value
    return options(**parsed)
