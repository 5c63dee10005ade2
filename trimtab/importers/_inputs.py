"""The shapes of a network's inputs: what its file declares, and what the user gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from trimtab.errors import DynamicShapeError, ImportModelError

if TYPE_CHECKING:
    from trimtab.importers import Shapes

# A size that is not positive, a text or None stand for a free dimension.
Declared = Sequence[int | str | None]

_SIDE = 224  # of an image, in examples


def declared_inputs(
    declared: Mapping[str, Declared | None], given: Shapes, where: str, *, fixed: bool
) -> dict[str, tuple[int, ...]]:
    """The shape of every input of a file that declares these; None: it does not say.

    A given shape fills free dimensions or, unless the others are `fixed`, replaces what is
    declared. DynamicShapeError where one stays free, ImportModelError for an input that does not
    exist and a shape that does not fit.
    """
    if unknown := sorted(set(given) - set(declared)):
        raise ImportModelError(
            f"there is no input {', '.join(map(repr, unknown))}",
            where=where,
            hint=f"its inputs are: {', '.join(declared) or 'none'}",
        )
    return {
        name: _shape(name, dims, given.get(name), where, fixed) for name, dims in declared.items()
    }


def _shape(
    name: str, declared: Declared | None, given: Sequence[int] | None, where: str, fixed: bool
) -> tuple[int, ...]:
    if given is None:
        if declared is None or not all(map(_is_fixed, declared)):
            raise free(name, declared, where)
        return tuple(int(size or 0) for size in declared)
    shape = tuple(int(size) for size in given)
    fits = not (fixed and declared is not None) or (
        len(shape) == len(declared)
        and all(not _is_fixed(d) or d == s for d, s in zip(declared, shape, strict=True))
    )
    if not fits or min(shape, default=1) < 1:
        raise ImportModelError(
            f"input '{name}' is {_text(declared)}, the given shape {shape} does not fit",
            where=where,
            hint="give sizes for the free dimensions only, and repeat the fixed ones"
            if fixed
            else "give positive sizes",
        )
    return shape


def free(name: str, declared: Declared | None, where: str) -> DynamicShapeError:
    """The exception for an input with free dimensions; it shows how to give them."""
    usual = (
        size if _is_fixed(size) else _SIDE if i else 1 for i, size in enumerate(declared or ())
    )
    example = ", ".join(map(str, usual)) or f"1, 3, {_SIDE}, {_SIDE}"
    numbers = declared is not None and all(isinstance(size, int) for size in declared)
    what = "a dimension that is not positive" if numbers else "free dimensions"
    return DynamicShapeError(
        f"input '{name}' has {what}: {_text(declared)}",
        where=where,
        hint=f"give its shape: inputs={{'{name}': ({example})}} in Python,"
        f" {name}={example.replace(' ', '')} on the command line",
    )


def _is_fixed(size: int | str | None) -> bool:
    return isinstance(size, int) and size > 0


def _text(declared: Declared | None) -> str:
    if declared is None:
        return "[unknown]"
    return f"[{', '.join('?' if size is None else str(size) for size in declared)}]"
