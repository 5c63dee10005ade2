"""The text of .param files: a magic number, counts, then one layer per line.

Format: ncnn, docs/developer-guide/param-and-model-file-structure.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from trimtab.errors import ImportModelError, ModelFileError

MAGIC = "7767517"

# Arrays have the key -23300 - id in front of their length, in files of the old style.
_ARRAY_KEY = -23300
_PAIR = re.compile(r'(-?\d{1,6})=("[^"]*"|\S*)')

# What tools leave behind for themselves: shapes of the results, a mask of features.
_HINTS = frozenset((30, 31))

T = TypeVar("T", int, float)


@dataclass
class LayerText:
    """One line: type, name, blobs by name, and parameters by their numbers, as text."""

    type: str
    name: str
    bottoms: list[str]
    tops: list[str]
    line: int
    where: str
    params: dict[int, list[str]]
    read: set[int] = field(default_factory=set)

    def has(self, key: int) -> bool:
        """Whether the parameter is given."""
        return key in self.params

    def integer(self, key: int, default: int) -> int:
        """An integer parameter."""
        return self._one(key, default, int)

    def real(self, key: int, default: float) -> float:
        """A real parameter."""
        return self._one(key, default, float)

    def integers(self, key: int) -> list[int]:
        """An array of integers; empty when it is not given."""
        return self._all(key, int)

    def reals(self, key: int) -> list[float]:
        """An array of real numbers; empty when it is not given."""
        return self._all(key, float)

    def text(self, key: int) -> str:
        """A text, such as an expression; empty when it is not given."""
        self.read.add(key)
        return ",".join(self.params.get(key, ()))

    def unread(self) -> dict[int, str]:
        """Parameters that no one asked for and that are not 0, which means nothing mostly."""
        rest = self.params.keys() - self.read - _HINTS
        values = {key: ",".join(self.params[key]) for key in sorted(rest)}
        return {key: value for key, value in values.items() if value.strip("0.,e+-")}

    def _all(self, key: int, convert: Callable[[str], T]) -> list[T]:
        self.read.add(key)
        values = self.params.get(key, [])
        try:
            return [convert(value) for value in values]
        except ValueError:
            kind = "an integer" if convert is int else "a number"
            raise ImportModelError(
                f"parameter {key} is '{','.join(values)[:40]}', not {kind}", where=self.where
            ) from None

    def _one(self, key: int, default: T, convert: Callable[[str], T]) -> T:
        values = self._all(key, convert)
        if len(values) > 1:
            raise ImportModelError(f"parameter {key} is an array", where=self.where)
        return values[0] if values else default


def parse(text: str, path: str) -> list[LayerText]:
    """The layers of a .param file; ModelFileError with the line where it is none."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != MAGIC:
        raise ModelFileError(
            f"is not an ncnn network: its first line is not {MAGIC}",
            where=path,
            hint="give the text form of the .param file",
        )
    rows = [(i, line) for i, line in enumerate(lines[1:], 2) if line.strip()]
    counts = rows[0][1].split() if rows else []
    if len(counts) != 2 or not all(count.isdecimal() for count in counts):
        raise _damaged(path, 2, "the numbers of layers and blobs are missing")
    # Lines behind the last announced layer are no part of the network.
    layers = rows[1 : 1 + min(int(counts[0]), len(rows))]
    if len(layers) < int(counts[0]):
        raise _damaged(path, 2, f"{counts[0]} layers are announced, {len(layers)} follow")
    return [_layer(line, number, path) for number, line in layers]


def _damaged(path: str, line: int, what: str) -> ModelFileError:
    return ModelFileError(what, where=f"{path}:{line}", hint="copy or convert the network again")


def _layer(line: str, number: int, path: str) -> LayerText:
    words = line.split(maxsplit=4)
    if len(words) < 4 or not (words[2].isdecimal() and words[3].isdecimal()):
        raise _damaged(path, number, "expected a type, a name, and the numbers of its blobs")
    type, name = words[:2]
    bottoms, tops = int(words[2]), int(words[3])
    # No layer has more blobs than its line has letters.
    if bottoms + tops > len(line):
        raise _damaged(path, number, f"{bottoms + tops} blobs are announced")
    blobs = (words[4] if len(words) > 4 else "").split(maxsplit=bottoms + tops)
    if len(blobs) < bottoms + tops:
        raise _damaged(
            path, number, f"{bottoms + tops} blobs are announced, {len(blobs)} are named"
        )
    rest = blobs[bottoms + tops] if len(blobs) > bottoms + tops else ""
    where = f"{path}:{number}: layer '{name}' ({type})"
    params = _params(rest, where)
    named = blobs[: bottoms + tops]
    return LayerText(type, name, named[:bottoms], named[bottoms:], number, where, params)


def _params(text: str, where: str) -> dict[int, list[str]]:
    params = {}
    end = 0
    for match in _PAIR.finditer(text):
        if text[end : match.start()].strip():
            break
        end = match.end()
        key, value = int(match[1]), match[2].strip('"')
        values = value.strip(",").split(",") if value else []
        if key <= _ARRAY_KEY:
            key, length, values = _ARRAY_KEY - key, values[:1], values[1:]
            if length != [str(len(values))]:
                raise ModelFileError(
                    f"array {key} announces {length} values and has {len(values)}", where=where
                )
        params[key] = values
    if text[end:].strip():
        raise ModelFileError(
            f"expected parameters such as 0=1, not '{text[end:].strip()[:40]}'", where=where
        )
    return params
