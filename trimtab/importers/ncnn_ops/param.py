"""The layers of a .param file with their parameters.

Format: ncnn, docs/developer-guide/param-and-model-file-structure.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from trimtab.errors import ImportModelError, ModelFileError
from trimtab.importers._param_text import Dialect, ParamLine, rows
from trimtab.importers.ncnn_ops.spec import PARAMETERS

_DIALECT = Dialect("an ncnn network", "layers", "blobs", ".param", exact=False)

# In old files an array has the key -23300 - id, and its length as the first element.
ARRAY_KEY = -23300
_PAIR = re.compile(r'(-?\d{1,6})=("[^"]*"|\S*)')

# Notes of ncnn's tools: shapes of the results, a mask of features.
_HINTS = frozenset((30, 31))

_CONVERT_AGAIN = "copy or convert the network again"

T = TypeVar("T", int, float, str)


@dataclass
class ParamLayer:
    """The line of a layer: type, name, names of blobs, and the text of parameters by number.

    Handlers read parameters by the names of `spec`.
    """

    type: str
    name: str
    bottoms: list[str]
    tops: list[str]
    line: int
    where: str
    params: dict[int, list[str]]
    read: set[int] = field(default_factory=set)

    def has(self, name: str) -> bool:
        """Whether the parameter is present."""
        return PARAMETERS[self.type][name].number in self.params

    def integer(self, name: str, default: int) -> int:
        """An integer parameter."""
        return self._single_value(name, default, int)

    def choice(self, name: str, default: int = 0) -> str:
        """The name of an integer parameter's value; empty if it has none."""
        number, values = self.integer(name, default), PARAMETERS[self.type][name].values
        return values[number] if 0 <= number < len(values) else ""

    def real(self, name: str, default: float) -> float:
        """A floating-point parameter."""
        return self._single_value(name, default, float)

    def integers(self, name: str) -> list[int]:
        """An array of integers; empty if it is absent."""
        return self._all(name, int)

    def reals(self, name: str) -> list[float]:
        """An array of floats; empty if it is absent."""
        return self._all(name, float)

    def text(self, name: str) -> str:
        """A text, such as an expression; empty if it is absent."""
        return ",".join(self._all(name, str))

    def unread(self) -> dict[int, str]:
        """Parameters that no handler has read and that may change the result."""
        unread = sorted(self.params.keys() - self.read)
        return {key: ",".join(self.params[key]) for key in unread if not self.is_harmless(key)}

    def is_harmless(self, key: int) -> bool:
        """Whether a parameter is a hint, or 0, which is almost always the default."""
        return key in _HINTS or not ",".join(self.params[key]).strip("0.,e+-")

    def _all(self, name: str, convert: Callable[[str], T]) -> list[T]:
        key = PARAMETERS[self.type][name].number
        self.read.add(key)
        values = self.params.get(key, [])
        try:
            return [convert(value) for value in values]
        except ValueError:
            kind = "an integer" if convert is int else "a number"
            raise ImportModelError(
                f"parameter {key} is '{','.join(values)[:40]}', not {kind}",
                where=self.where,
                hint="correct the parameter",
            ) from None

    def _single_value(self, name: str, default: T, convert: Callable[[str], T]) -> T:
        values = self._all(name, convert)
        if len(values) > 1:
            raise ImportModelError(
                f"parameter {PARAMETERS[self.type][name].number} is an array, not a single value",
                where=self.where,
                hint="correct the parameter",
            )
        return values[0] if values else default


def parse(text: str, path: str) -> list[ParamLayer]:
    """The layers of a .param file; ModelFileError names the line of a syntax error."""
    return [_layer(row, path) for row in rows(text, path, _DIALECT)]


def _layer(row: ParamLine, path: str) -> ParamLayer:
    where = f"{path}:{row.number}: layer '{row.name}' ({row.type})"
    params = _params(row.arguments, where)
    return ParamLayer(row.type, row.name, row.inputs, row.outputs, row.number, where, params)


def _params(text: str, where: str) -> dict[int, list[str]]:
    params = {}
    end = 0
    for match in _PAIR.finditer(text):
        if text[end : match.start()].strip():
            break
        end = match.end()
        key, value = int(match[1]), match[2].strip('"')
        values = value.strip(",").split(",") if value else []
        if key <= ARRAY_KEY:
            key, length, values = ARRAY_KEY - key, values[:1], values[1:]
            if length != [str(len(values))]:
                raise ModelFileError(
                    f"array {key} announces {length} values and has {len(values)}",
                    where=where,
                    hint=_CONVERT_AGAIN,
                )
        params[key] = values
    if text[end:].strip():
        raise ModelFileError(
            f"expected parameters such as 0=1, not '{text[end:].strip()[:40]}'",
            where=where,
            hint=_CONVERT_AGAIN,
        )
    return params
