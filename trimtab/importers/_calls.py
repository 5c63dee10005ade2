"""Parser for nested calls such as `add(@0,mul(2,@1))`, with which ncnn and PNNX compute sizes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from trimtab.importers._layer import ImportedLayer

_MAX_DEPTH = 100


class CallParser:
    """Parses and evaluates the expressions of a layer, whose tokens match `token`.

    `leaf` evaluates a token, `call` a name with arguments. A list in brackets becomes a Python
    list. `max_length` limits the number of characters.
    """

    def __init__(
        self,
        layer: ImportedLayer,
        token: re.Pattern[str],
        max_length: int,
        leaf: Callable[[str], Any],
        call: Callable[[str, list[Any]], Any],
    ) -> None:
        self._layer, self._token, self._max_length = layer, token, max_length
        self._leaf, self._call = leaf, call
        self._pending: list[str] = []

    def values(self, text: str) -> list[Any]:
        """The values of comma-separated expressions."""
        tokens = self._token.findall(text)
        if "".join(tokens) != "".join(text.split()) or len(text) > self._max_length:
            raise self._layer.invalid(f"'{text[:60]}' is not an expression")
        self._pending = tokens[::-1]
        return self._terms("", 0)

    def _next(self) -> str:
        return self._pending.pop() if self._pending else ""

    def _terms(self, end: str, depth: int) -> list[Any]:
        values: list[Any] = []
        if self._pending[-1:] == ([end] if end else []):
            self._next()
            return values
        while True:
            values.append(self._term(depth))
            separator = self._next()
            if separator == end:
                return values
            if separator != ",":
                raise self._layer.invalid(f"'{end or ','}' is missing in its expression")

    def _term(self, depth: int) -> Any:
        if not self._pending or depth > _MAX_DEPTH:
            raise self._layer.invalid("its expression ends too early, or is nested too deeply")
        token = self._next()
        if token == "[":
            return self._terms("]", depth + 1)
        if self._pending[-1:] == ["("]:
            self._next()
            return self._call(token, self._terms(")", depth + 1))
        return self._leaf(token)
