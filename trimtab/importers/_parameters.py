"""The parameters of a layer for a plug-in's parser: by name, with a type.

A format provides plain data: numbers, strings, lists, arrays, and mappings for nested messages.
Text formats provide strings, which this module converts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from trimtab import strict_json
from trimtab.errors import ImportModelError
from trimtab.importers._graph import Array

T = TypeVar("T")
Name = str | int
"""The name of a parameter in the file; ncnn uses numbers."""

# `Parameters` has methods with the names of these types.
_Int: TypeAlias = int
_Float: TypeAlias = float
_Bool: TypeAlias = bool
_REQUIRED: Any = object()
_FLAGS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


class CommaSeparated(str):
    """A string that a reader may take as a comma-separated list."""

    __slots__ = ()

    @property
    def elements(self) -> list[str]:
        """The elements of the list."""
        return self.strip(",").split(",") if self else []


class Parameters:
    """The named values of a layer, or of a message inside it; `path` names the message in errors.

    An absent value is its default; without a default it is an error that names the layer and the
    parameter. `unread` lists the values that were never read.
    """

    def __init__(self, values: Mapping[str, Any], where: str, path: str = "") -> None:
        self._values, self._where, self._path = values, where, path
        self._read: set[str] = set()
        self._messages: list[Parameters] = []

    def has(self, name: Name) -> _Bool:
        """Whether a parameter is present."""
        return str(name) in self._values

    def int(self, name: Name, default: _Int = _REQUIRED) -> _Int:
        """An integer of any size, including int64 and uint64."""
        return self._single_value(name, default, _integer, "a whole number")

    def float(self, name: Name, default: _Float = _REQUIRED) -> _Float:
        """A float with the precision of the file: a double stays a double."""
        return self._single_value(name, default, _real, "a number")

    def bool(self, name: Name, default: _Bool = _REQUIRED) -> _Bool:
        """A boolean."""
        return self._single_value(name, default, _flag, "true or false")

    def text(self, name: Name, default: str = _REQUIRED) -> str:
        """A string."""
        return self._single_value(name, default, _text, "a text")

    def enum(self, name: Name, values: Sequence[str], default: str = _REQUIRED) -> str:
        """One of `values`; the file has its name or its index."""

        def choice(value: Any) -> str:
            text = _text(value)
            return values[_Int(text)] if text.isdecimal() else values[values.index(text)]

        return self._single_value(name, default, choice, f"one of {', '.join(values)}")

    def ints(self, name: Name, default: Sequence[_Int] = _REQUIRED) -> list[_Int]:
        """A list of integers; a single value is a list of one."""
        return self._all(name, default, _integer, "whole numbers")

    def floats(self, name: Name, default: Sequence[_Float] = _REQUIRED) -> list[_Float]:
        """A list of floats; a single value is a list of one."""
        return self._all(name, default, _real, "numbers")

    def texts(self, name: Name, default: Sequence[str] = _REQUIRED) -> list[str]:
        """A list of strings; a single value is a list of one."""
        return self._all(name, default, _text, "texts")

    def array(self, name: Name) -> Array:
        """A tensor, or a list of numbers as a tensor."""
        value = self._raw(name, _REQUIRED)
        return np.asarray(self.floats(name) if isinstance(value, CommaSeparated) else value)

    def messages(self, name: Name) -> list[Parameters]:
        """A repeated message; empty if it is absent. In a format without messages it is a string
        of JSON.
        """
        values = self.json(name, [])
        result = []
        for i, value in enumerate(values if isinstance(values, list) else [values]):
            if not isinstance(value, Mapping):
                raise self.invalid(name, "messages")
            result.append(Parameters(value, self._where, f"{self._spelled(name)}[{i}]."))
        self._messages += result
        return result

    def message(self, name: Name) -> Parameters:
        """A message; an empty one if it is absent."""
        messages = self.messages(name)
        if messages:
            return messages[-1]
        return Parameters({}, self._where, f"{self._spelled(name)}.")

    def json(self, name: Name, default: Any = _REQUIRED) -> Any:
        """A message as dictionaries and lists, or the decoded JSON of a string."""
        value = self._raw(name, default)
        if not isinstance(value, str | bytes) or value is default:
            return value
        try:
            return strict_json.loads(value)
        except ValueError:
            raise self.invalid(name, "JSON") from None

    def unread(self) -> Iterator[str]:
        """The names of parameters that were never read, including those in messages."""
        yield from (self._path + name for name in self._values if name not in self._read)
        for message in self._messages:
            yield from message.unread()

    def invalid(self, name: Name, expected: str) -> ImportModelError:
        """The exception for a parameter of the wrong type."""
        value = str(self._values.get(str(name)))[:60]
        return ImportModelError(
            f"its parameter {self._spelled(name)} is {value}, not {expected}",
            where=self._where,
            hint="check the file, or the parser of the plug-in",
        )

    def _spelled(self, name: Name) -> str:
        return f"{self._path}{name}"

    def _raw(self, name: Name, default: Any) -> Any:
        self._read.add(str(name))
        if str(name) in self._values:
            return self._values[str(name)]
        if default is _REQUIRED:
            raise ImportModelError(
                f"it lacks the parameter {self._spelled(name)}",
                where=self._where,
                hint="check the file, or add a default to the plug-in's parser",
            )
        return default

    def _single_value(
        self, name: Name, default: T, convert: Callable[[Any], T], expected: str
    ) -> T:
        value = self._raw(name, default)
        if value is default:
            return default
        values = value if isinstance(value, list) else [value]
        if len(values) != 1:
            raise self.invalid(name, expected)
        return self._converted(name, values, convert, expected)[0]

    def _all(
        self, name: Name, default: Sequence[T], convert: Callable[[Any], T], expected: str
    ) -> list[T]:
        value = self._raw(name, default)
        if isinstance(value, np.ndarray):
            value = value.reshape(-1).tolist()
        if isinstance(value, CommaSeparated):
            value = value.elements
        values = list(value) if isinstance(value, list | tuple) else [value]
        return self._converted(name, values, convert, expected)

    def _converted(
        self, name: Name, values: Sequence[Any], convert: Callable[[Any], T], expected: str
    ) -> list[T]:
        try:
            return [convert(value) for value in values]
        except (TypeError, ValueError, IndexError, KeyError, OverflowError):
            raise self.invalid(name, expected) from None


def _integer(value: Any) -> int:
    if isinstance(value, str):
        return int(value, 0)
    if isinstance(value, float) and not value.is_integer():
        raise ValueError
    return int(value)


def _real(value: Any) -> float:
    return float(value.rstrip("fF")) if isinstance(value, str) else float(value)


def _flag(value: Any) -> bool:
    if isinstance(value, str):
        return _FLAGS[value.lower()]
    return bool(value)


def _text(value: Any) -> str:
    if isinstance(value, list | Mapping | np.ndarray):
        raise TypeError
    return value.decode() if isinstance(value, bytes) else str(value)
