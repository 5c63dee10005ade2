"""Reads TOML files into frozen dataclasses, with errors that name the file and the key.

    @dataclass(frozen=True)
    class Board:
        name: str
        doc: str
        clock_mhz: Annotated[int, Minimum(1)]
        layout: Literal["plain", "nhwc"] = "plain"
        cores: tuple[str, ...] = ()

    board = TomlFile(path, DeviceError, hint="docs/devices.md").record(Board, name=path.stem)

A field's annotation says which values its key takes: `str`, `int`, `float` (or an integer), `bool`,
`Literal`, `tuple`, `frozenset`, `Mapping[str, ...]`, a dataclass, a union of these, or `Any`.
`Annotated` adds a `Minimum` or `Above`. A field without a default is a required key. Unknown keys
are errors that suggest the nearest known key. Uses the standard library only.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, cached_property
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from trimtab.errors import TrimtabError

T = TypeVar("T")


@dataclass(frozen=True)
class Minimum:
    """The smallest value of a number, or of each number in a container."""

    value: float

    def __call__(self, value: float) -> bool:
        """Whether a number is allowed."""
        return value >= self.value

    def __str__(self) -> str:
        return f" of at least {self.value:g}"


@dataclass(frozen=True)
class Above:
    """The largest value that a number, or each number in a container, must exceed."""

    value: float

    def __call__(self, value: float) -> bool:
        """Whether a number is allowed."""
        return value > self.value

    def __str__(self) -> str:
        return f" above {self.value:g}"


Limit = Minimum | Above
_NOUNS = {int: "an integer", float: "a number", bool: "true or false", str: "a string"}
_PLURALS = {int: "integers", float: "numbers", bool: "booleans", str: "strings"}


class TomlFile:
    """One TOML file; its errors are of the class `error` and end with `hint`.

    `edit` changes the text before it is parsed, for files with placeholders.
    """

    def __init__(
        self,
        path: Path,
        error: type[TrimtabError],
        *,
        hint: str = "",
        edit: Callable[[str], str] = str,
    ) -> None:
        self.path = path
        self._error, self._hint, self._edit = error, hint, edit

    @cached_property
    def table(self) -> dict[str, Any]:
        """The parsed file. Raises the file's error if it is unreadable or not TOML."""
        if self.path.exists() and not self.path.is_file():
            raise self.error("is not a file")  # a pipe would have no end
        try:
            return tomllib.loads(self._edit(self.path.read_text(encoding="utf-8")))
        except OSError as error:
            raise self.error(f"cannot read the file: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, or nested too deeply
            raise self.error(f"not a TOML file: {error}") from error

    def record(
        self, kind: type[T], table: object = None, /, *, key: str = "", **computed: object
    ) -> T:
        """A dataclass from `table` (by default the whole file), whose place in the file is `key`.

        `computed` are fields that the caller sets; a file that sets one of them is refused.
        """
        table = self.table if table is None else table
        if not isinstance(table, dict):
            raise self.wrong(key, "a table")
        prefix = f"{key}." if key else ""
        keys = _keys(kind, frozenset(computed))  # type: ignore[arg-type]
        if not table.keys() <= keys.keys():
            self.check_keys(table, keys, key)
        for name, (_, _, is_required) in keys.items():
            if is_required and name not in table:
                raise self.error(f"`{prefix}{name}` is missing")
        values = {
            keys[name][0]: self.value(keys[name][1], value, f"{prefix}{name}")
            for name, value in table.items()
        }
        return kind(**values, **computed)

    def check_keys(
        self, table: Mapping[str, object], allowed: Iterable[str], key: str = ""
    ) -> None:
        """Raises the file's error for keys of `table` (at `key`) that are not `allowed`."""
        names = list(allowed)
        unknown = [name for name in table if name not in names]
        if not unknown:
            return
        prefix = f"{key}." if key else ""
        import difflib  # for this message alone

        near = difflib.get_close_matches(unknown[0], names, 1)
        suggestion = f"did you mean `{prefix}{near[0]}`? " if near else ""
        raise self._error(
            f"unknown key{'s' * (len(unknown) > 1)} "
            + ", ".join(f"`{prefix}{name}`" for name in unknown),
            where=str(self.path),
            hint=f"{suggestion}the keys are {', '.join(names)}"
            + (f"; {self._hint}" if self._hint else ""),
        )

    def value(self, kind: Any, value: Any, key: str, limits: tuple[Limit, ...] = ()) -> Any:
        """`value`, which the file has at `key`, converted to the annotation `kind`.

        `limits` hold for each number in it.
        """
        if type(value) is kind and not limits:
            return value
        origin, arguments = _form(kind)
        if origin is Annotated:
            return self.value(arguments[0], value, key, limits + arguments[1:])
        if kind is Any:
            return value
        if is_dataclass(kind):
            return self.record(kind, value, key=key)  # type: ignore[arg-type]
        if origin in (Union, UnionType):
            return self._one_of(arguments, value, key, limits)
        if origin is Mapping and isinstance(value, dict):
            items = ((name, f"{key}.{name}", item) for name, item in value.items())
            return {n: self.value(arguments[1], item, path, limits) for n, path, item in items}
        if origin is frozenset and isinstance(value, list):
            return frozenset(self.value(arguments[0], item, key, limits) for item in value)
        if origin is tuple and isinstance(value, list):
            kinds = arguments[:1] * len(value) if arguments[-1] is ... else arguments
            if len(kinds) == len(value):
                pairs = zip(kinds, value, strict=True)
                return tuple(self.value(k, item, key, limits) for k, item in pairs)
        if origin is Literal and value in arguments:
            return value
        if kind is float and type(value) is int and abs(value) <= sys.float_info.max:
            value = float(value)
        if type(value) is kind and all(limit(value) for limit in limits):
            return value
        raise self.wrong(key, _description(kind, limits))

    def error(self, what: str) -> TrimtabError:
        """The file's error."""
        return self._error(what, where=str(self.path), hint=self._hint)

    def wrong(self, key: str, expected: str) -> TrimtabError:
        """The file's error for a value that is not what is `expected`, such as "a number"."""
        return self.error(f"`{key}` must be {expected}" if key else f"the file must be {expected}")

    def _one_of(self, kinds: Sequence[Any], value: Any, key: str, limits: tuple[Limit, ...]) -> Any:
        kinds = [kind for kind in kinds if kind is not NoneType]
        for kind in sorted(kinds, key=lambda kind: kind is not type(value)):
            try:
                return self.value(kind, value, key, limits)
            except self._error:
                if len(kinds) == 1:
                    raise
        raise self.wrong(key, " or ".join(_description(kind, limits) for kind in kinds))


@cache
def _keys(kind: type, computed: frozenset[str]) -> dict[str, tuple[str, Any, bool]]:
    """The name and annotation of the field of each key, and whether it is required."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        field.metadata.get("key", field.name): (
            field.name,
            hints[field.name],
            field.default is MISSING and field.default_factory is MISSING,
        )
        for field in fields(kind)
        if field.init and field.name not in computed
    }


@cache
def _form(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    return get_origin(kind), get_args(kind)


def _description(kind: Any, limits: tuple[Limit, ...] = ()) -> str:
    """Description of a valid value, such as "a list of strings" or "an integer of at least 1"."""
    origin, arguments = get_origin(kind), get_args(kind)
    suffix = "".join(map(str, limits))
    if origin is Annotated:
        return _description(arguments[0], arguments[1:])
    if origin in (Union, UnionType):
        return " or ".join(_description(a, limits) for a in arguments if a is not NoneType)
    if origin is Literal:
        return f"one of {', '.join(map(str, arguments))}"
    if origin in (tuple, frozenset):
        count = "" if origin is frozenset or arguments[-1] is ... else f" of {len(arguments)}"
        items = _PLURALS.get(arguments[0], "")
        return f"a list{count}{' of ' * (not count) or ' '}{items}{suffix}" if items else "a list"
    return f"{_NOUNS.get(kind, 'a table')}{suffix}"
