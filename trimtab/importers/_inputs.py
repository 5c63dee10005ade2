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
    declared. DynamicShapeError names all inputs that stay free, ImportModelError an input that does
    not exist and a shape that does not fit.
    """
    if unknown := sorted(set(given) - set(declared)):
        raise ImportModelError(
            f"there is no input {', '.join(map(repr, unknown))}",
            where=where,
            hint=f"its inputs are: {', '.join(declared) or 'none'}",
        )
    open_inputs = {
        name: dims
        for name, dims in declared.items()
        if name not in given and (dims is None or not all(map(_is_fixed, dims)))
    }
    if open_inputs:
        raise free(open_inputs, where)
    return {
        name: _given(name, dims, given[name], where, fixed)
        if name in given
        else tuple(int(size or 0) for size in dims or ())
        for name, dims in declared.items()
    }


def _given(
    name: str, declared: Declared | None, given: Sequence[int], where: str, fixed: bool
) -> tuple[int, ...]:
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


def free(inputs: Mapping[str, Declared | None], where: str) -> DynamicShapeError:
    """The exception for inputs with free dimensions; it shows how to give them."""
    examples = {name: _example(declared) for name, declared in inputs.items()}
    python = ", ".join(f"'{name}': {shape}" for name, shape in examples.items())
    shell = (f"--input {name}={','.join(map(str, shape))}" for name, shape in examples.items())
    return DynamicShapeError(
        "; ".join(f"input '{name}' {_what(declared)}" for name, declared in inputs.items()),
        where=where,
        hint=f"give {'its shape' if len(examples) == 1 else 'their shapes'}:"
        f" inputs={{{python}}} in Python, {' '.join(shell)} on the command line",
    )


def _example(declared: Declared | None) -> tuple[int, ...]:
    usual = (
        int(size or 0) if _is_fixed(size) else _SIDE if i else 1
        for i, size in enumerate(declared or ())
    )
    return tuple(usual) or (1, 3, _SIDE, _SIDE)


def _what(declared: Declared | None) -> str:
    numbers = declared is not None and all(isinstance(size, int) for size in declared)
    what = "a dimension that is not positive" if numbers else "free dimensions"
    return f"has {what}: {_text(declared)}"


def _is_fixed(size: int | str | None) -> bool:
    return isinstance(size, int) and size > 0


def _text(declared: Declared | None) -> str:
    if declared is None:
        return "[unknown]"
    return f"[{', '.join('?' if size is None else str(size) for size in declared)}]"
