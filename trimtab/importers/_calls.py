"""Expressions of calls, such as `add(@0,mul(2,@1))`: ncnn and PNNX compute sizes with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from trimtab.importers._handled_layer import HandledLayer

_DEEPEST = 100


class Calls:
    """Reads expressions of a layer, whose words match `token`.

    `leaf` gives the value of a word, `call` that of a name with arguments; a list in brackets is
    one of Python.
    """

    def __init__(
        self,
        layer: HandledLayer,
        token: re.Pattern[str],
        longest: int,
        leaf: Callable[[str], Any],
        call: Callable[[str, list[Any]], Any],
    ) -> None:
        self._layer, self._token, self._longest = layer, token, longest
        self._leaf, self._call = leaf, call
        self._waiting: list[str] = []

    def values(self, text: str) -> list[Any]:
        """The values of expressions with commas in between."""
        words = self._token.findall(text)
        if "".join(words) != "".join(text.split()) or len(text) > self._longest:
            raise self._layer.invalid(f"'{text[:60]}' is not an expression")
        self._waiting = words[::-1]
        return self._terms("", 0)

    def _next(self) -> str:
        return self._waiting.pop() if self._waiting else ""

    def _terms(self, end: str, depth: int) -> list[Any]:
        values: list[Any] = []
        if self._waiting[-1:] == ([end] if end else []):
            self._next()
            return values
        while True:
            values.append(self._term(depth))
            mark = self._next()
            if mark == end:
                return values
            if mark != ",":
                raise self._layer.invalid(f"'{end or ','}' is missing in its expression")

    def _term(self, depth: int) -> Any:
        if not self._waiting or depth > _DEEPEST:
            raise self._layer.invalid("its expression ends too early, or is nested too deeply")
        word = self._next()
        if word == "[":
            return self._terms("]", depth + 1)
        if self._waiting[-1:] == ["("]:
            self._next()
            return self._call(word, self._terms(")", depth + 1))
        return self._leaf(word)
