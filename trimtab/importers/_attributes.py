"""Layers with typed attributes: numbers, strings, and lists of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from trimtab.importers._layer import ImportedLayer

T = TypeVar("T")


class AttributedLayer(ImportedLayer):
    """A layer with attributes by name; the reader of an attribute gives its default."""

    def attribute(self, name: str) -> Any:
        """The value of an attribute, or a list of values; None if it is absent."""
        raise NotImplementedError

    def _converted(self, name: str, default: Any, convert: Callable[[Any], T]) -> list[T]:
        value = self.attribute(name) if self.has_attribute(name) else default
        if value is None:
            raise self.invalid(f"it lacks the attribute '{name}'")
        try:
            return [convert(v) for v in (value if isinstance(value, (list, tuple)) else [value])]
        except (TypeError, ValueError, OverflowError):
            raise self.invalid(f"attribute '{name}' is malformed") from None

    def _single_value(self, name: str, default: Any, convert: Callable[[Any], T]) -> T:
        values = self._converted(name, default, convert)
        if len(values) != 1:
            raise self.invalid(f"attribute '{name}' must have one value, it has {len(values)}")
        return values[0]

    def has_attribute(self, name: str) -> bool:
        """Whether the attribute is present."""
        return self.attribute(name) is not None

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer attribute."""
        return self._single_value(name, default, int)

    def real(self, name: str, default: float | None = None) -> float:
        """A floating-point attribute."""
        return self._single_value(name, default, float)

    def boolean(self, name: str, default: bool) -> bool:
        """A boolean attribute."""
        return self._single_value(name, default, bool)

    def text(self, name: str, default: str | None = None) -> str:
        """A string attribute."""
        return self._single_value(
            name, default, lambda v: v.decode() if isinstance(v, bytes) else str(v)
        )

    def integers(self, name: str, default: Sequence[int] = ()) -> tuple[int, ...]:
        """A list of integers; a single value is a list of one."""
        return tuple(self._converted(name, default, int))

    def reals(self, name: str, default: Sequence[float] = ()) -> tuple[float, ...]:
        """A list of floats; a single value is a list of one."""
        return tuple(self._converted(name, default, float))
