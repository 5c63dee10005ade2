"""The shapes of a network's inputs: declared by the file, or given by the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from trimtab.errors import DynamicShapeError, ImportModelError

Shapes = Mapping[str, Sequence[int]]
"""The shapes that the user gives, by input name."""

Declared = Sequence[int | str | None]
"""A declared shape; None, a name or a number that is not positive is a free dimension."""

_IMAGE_SIZE = 224  # in examples
_PICTURES = 4  # dimensions of a batch of pictures


class FreeBatchError(DynamicShapeError):
    """Only the batch is free; `shapes`: those of the inputs with a batch of one."""

    def __init__(self, shapes: Shapes, what: str, *, where: str, hint: str) -> None:
        super().__init__(what, where=where, hint=hint)
        self.shapes = shapes

    @property
    def note(self) -> str:
        """The sentence for a user whose network gets these shapes."""
        shapes = (f"{name}={','.join(map(str, shape))}" for name, shape in self.shapes.items())
        return f"the batch of the file is free: it is 1 here, as --input {' '.join(shapes)} says"


def declared_inputs(
    declared: Mapping[str, Declared | None], shapes: Shapes, where: str, *, fixed: bool
) -> dict[str, tuple[int, ...]]:
    """The complete shape of every input; `declared` is None for an input without a shape.

    A shape of the user fills free dimensions; unless the others are `fixed`, it replaces the
    declared shape. DynamicShapeError lists all inputs that stay free. ImportModelError reports an
    unknown input or a shape that does not match.
    """
    if unknown := sorted(set(shapes) - set(declared)):
        raise ImportModelError(
            f"there is no input {', '.join(map(repr, unknown))}",
            where=where,
            hint=f"its inputs are: {', '.join(declared) or 'none'}",
        )
    free = {
        name: dims
        for name, dims in declared.items()
        if name not in shapes and (dims is None or not all(map(_is_fixed, dims)))
    }
    if free:
        is_batch = set(declared) == set(free) and _is_batch(free)
        raise dynamic_shapes(free, where, is_batch=is_batch)
    return {
        name: _user_shape(name, dims, shapes[name], where, fixed)
        if name in shapes
        else tuple(int(size or 0) for size in dims or ())
        for name, dims in declared.items()
    }


def _user_shape(
    name: str, declared: Declared | None, sizes: Sequence[int], where: str, fixed: bool
) -> tuple[int, ...]:
    shape = tuple(int(size) for size in sizes)
    matches = not (fixed and declared is not None) or (
        len(shape) == len(declared)
        and all(not _is_fixed(d) or d == s for d, s in zip(declared, shape, strict=True))
    )
    if not matches or min(shape, default=1) < 1:
        raise ImportModelError(
            f"input '{name}' is {_text(declared)}, the given shape {shape} does not fit",
            where=where,
            hint="an input without dimensions takes one number, its value, in ONNX files"
            if declared is not None and not declared
            else "give sizes for the free dimensions only, and repeat the fixed ones"
            if fixed
            else "give positive sizes",
        )
    return shape


def _is_batch(inputs: Mapping[str, Declared | None]) -> bool:
    """Whether nothing but one batch is free: the first dimension of pictures, or of a name that
    says so. The first one of other inputs may be a length.
    """
    first = {dims[0] if dims else None for dims in inputs.values()}
    free = [[i for i, size in enumerate(dims or ()) if not _is_fixed(size)]
            for dims in inputs.values()]  # fmt: skip
    if len(first) > 1 or any(axes != [0] for axes in free):
        return False
    name, are_pictures = first.pop(), [len(dims or ()) == _PICTURES for dims in inputs.values()]
    if isinstance(name, str):
        return any(are_pictures) or name.lower().startswith("batch")
    return all(are_pictures)


def dynamic_shapes(
    inputs: Mapping[str, Declared | None], where: str, *, is_batch: bool = False
) -> DynamicShapeError:
    """The exception for inputs with free dimensions; the hint shows how to give them."""
    batches = {dims[0] for dims in inputs.values() if dims and isinstance(dims[0], str)}
    examples = {name: _example(declared, batches) for name, declared in inputs.items()}
    python = ", ".join(f"'{name}': {shape}" for name, shape in examples.items())
    shell = (f"--input {name}={','.join(map(str, shape))}" for name, shape in examples.items())
    what = "; ".join(f"input '{name}' {_problem(declared)}" for name, declared in inputs.items())
    hint = (
        f"give {'its shape' if len(examples) == 1 else 'their shapes'}:"
        f" inputs={{{python}}} in Python, {' '.join(shell)} on the command line"
    )
    if is_batch:
        return FreeBatchError(examples, what, where=where, hint=hint)
    return DynamicShapeError(what, where=where, hint=hint)


def _example(declared: Declared | None, batches: Set[int | str | None]) -> tuple[int, ...]:
    """A shape for the hint. `batches`: names of first dimensions, which are 1 everywhere."""
    shape = (
        int(size or 0) if _is_fixed(size) else _IMAGE_SIZE if i and size not in batches else 1
        for i, size in enumerate(declared or ())
    )
    return tuple(shape) or (1, 3, _IMAGE_SIZE, _IMAGE_SIZE)


def _problem(declared: Declared | None) -> str:
    numbers = declared is not None and all(isinstance(size, int) for size in declared)
    problem = "a dimension that is not positive" if numbers else "free dimensions"
    return f"has {problem}: {_text(declared)}"


def _is_fixed(size: int | str | None) -> bool:
    return isinstance(size, int) and size > 0


def _text(declared: Declared | None) -> str:
    if declared is None:
        return "[unknown]"
    return f"[{', '.join('?' if size is None else str(size) for size in declared)}]"
