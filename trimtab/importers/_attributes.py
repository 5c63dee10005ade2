"""Layers of formats whose attributes have types: numbers, texts, and lists of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from trimtab.importers._handled_layer import HandledLayer

T = TypeVar("T")


class AttributedLayer(HandledLayer):
    """A layer with attributes by name; each is read with the default of its format."""

    def attribute(self, name: str) -> Any:
        """A value, or a list of them; None when the attribute is not there."""
        raise NotImplementedError

    def _converted(self, name: str, default: Any, convert: Callable[[Any], T]) -> list[T]:
        value = self.attribute(name) if self.has_attribute(name) else default
        if value is None:
            raise self.invalid(f"it lacks the attribute '{name}'")
        try:
            return [convert(v) for v in (value if isinstance(value, (list, tuple)) else [value])]
        except (TypeError, ValueError, OverflowError):
            raise self.invalid(f"attribute '{name}' is malformed") from None

    def _one(self, name: str, default: Any, convert: Callable[[Any], T]) -> T:
        found = self._converted(name, default, convert)
        if len(found) != 1:
            raise self.invalid(f"attribute '{name}' must be one value, it is {len(found)}")
        return found[0]

    def has_attribute(self, name: str) -> bool:
        """Whether the attribute is there."""
        return self.attribute(name) is not None

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer."""
        return self._one(name, default, int)

    def real(self, name: str, default: float | None = None) -> float:
        """A real number."""
        return self._one(name, default, float)

    def boolean(self, name: str, default: bool) -> bool:
        """A flag."""
        return self._one(name, default, bool)

    def text(self, name: str, default: str | None = None) -> str:
        """A text."""
        return self._one(name, default, lambda v: v.decode() if isinstance(v, bytes) else str(v))

    def integers(self, name: str, default: Sequence[int] = ()) -> tuple[int, ...]:
        """A list of integers; a single one is a list of one."""
        return tuple(self._converted(name, default, int))

    def reals(self, name: str, default: Sequence[float] = ()) -> tuple[float, ...]:
        """A list of real numbers; a single one is a list of one."""
        return tuple(self._converted(name, default, float))
