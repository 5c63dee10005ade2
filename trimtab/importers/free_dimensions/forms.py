"""Free forms of operators whose attributes follow the sizes of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trimtab.importers.free_dimensions.terms import REST, SizeTerm, TermFit, numbers
from trimtab.program import Op

_END = 2**31 - 1  # beyond every dimension: a slice to the end

Shapes = Sequence[tuple[int, ...]]


class FixedSizeError(Exception):
    """Why an operator cannot follow the sizes. `ends`: those behind it cannot be compared."""

    def __init__(self, reason: str, ends: bool = False) -> None:
        super().__init__(reason)
        self.ends = ends


@dataclass(frozen=True)
class Occurrence:
    """An operator at all points: its attributes there (None: it moves nothing and is left out), and
    the shapes of its first input and of its result.
    """

    op: Op
    attributes: Sequence[Mapping[str, Any] | None]
    x: Shapes
    y: Shapes

    def differing(self) -> set[str]:
        """The attributes that follow the sizes."""
        values = [value for value in self.attributes if value is not None]
        return {name for name in self.op.attributes if len({repr(v[name]) for v in values}) > 1}


@dataclass(frozen=True)
class FreeForm:
    """The operator that computes the same at all points; `terms`: those of its sizes, by attribute,
    if it has any.
    """

    type: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    terms: Mapping[str, tuple[SizeTerm, ...]] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, Any]:
        """All attributes of the operator."""
        return dict(self.attributes) | {name: numbers(own) for name, own in self.terms.items()}


_FORMS: dict[str, Callable[[Occurrence, TermFit], FreeForm | None]] = {}

_Function = Callable[[Occurrence, TermFit], "FreeForm | None"]


def _form(*types: str) -> Callable[[_Function], _Function]:
    def register(function: _Function) -> _Function:
        _FORMS.update(dict.fromkeys(types, function))
        return function

    return register


def form(occurrence: Occurrence, fit: TermFit) -> FreeForm:
    """The free form of an operator; FixedSizeError if it has none."""
    function = _FORMS.get(occurrence.op.type)
    result = function(occurrence, fit) if function else None
    if result is None:
        names = ", ".join(f"`{name}`" for name in sorted(occurrence.differing()))
        raise FixedSizeError(f"its {names or 'shape'} follows the sizes in a way that has no form")
    return result


def _terms(shapes: Shapes, fit: TermFit) -> list[SizeTerm | None]:
    """The term of every dimension; None where there is none."""
    return [fit.term(sizes) for sizes in zip(*shapes, strict=True)]


def _complete(terms: Sequence[SizeTerm | None]) -> tuple[SizeTerm, ...] | None:
    result = tuple(term for term in terms if term is not None)
    return result if len(result) == len(terms) else None


@_form("reshape")
def _reshape(it: Occurrence, fit: TermFit) -> FreeForm | None:
    terms = _terms(it.y, fit)
    if terms.count(None) > 1:
        return None
    return FreeForm("reshape", terms={"shape": tuple(term or REST for term in terms)})


@_form("expand", "tile")
def _repeat(it: Occurrence, fit: TermFit) -> FreeForm | None:
    """Copies of dimensions of 1."""
    for x, y in zip(it.x, it.y, strict=True):
        added = len(y) - len(x)
        if any(m not in (1, n) for n, m in zip(y[added:], x, strict=True)):
            return None
    terms = _complete(_terms(it.y, fit))
    return FreeForm("expand", terms={"shape": terms}) if terms is not None else None


@_form("slice")
def _slice(it: Occurrence, fit: TermFit) -> FreeForm | None:
    axes, steps = it.op.attributes["axes"], it.op.attributes["steps"]
    if it.differing() - {"starts", "ends"}:
        return None
    present = [i for i, value in enumerate(it.attributes) if value is not None]
    starts: list[int] = []
    ends: list[int] = []
    for k, axis in enumerate(axes):
        sizes = [it.x[i][axis] for i in present]
        first = _common_bound([it.attributes[i]["starts"][k] for i in present], sizes)  # type: ignore[index]
        last = _common_bound([it.attributes[i]["ends"][k] for i in present], sizes)  # type: ignore[index]
        if first is None or last is None or len(present) < len(it.x):
            break
        starts.append(first)
        ends.append(last)
    else:
        values = it.op.attributes | {"starts": tuple(starts), "ends": tuple(ends)}
        return FreeForm("slice", values)
    if any(step != 1 for step in steps):
        return None
    firsts = _complete(
        [
            fit.term(
                [
                    0 if value is None else _index(value["starts"][k], shape[axis])
                    for value, shape in zip(it.attributes, it.x, strict=True)
                ]
            )
            for k, axis in enumerate(axes)
        ]
    )
    lengths = _complete([fit.term([shape[axis] for shape in it.y]) for axis in axes])
    if firsts is None or lengths is None:
        return None
    return FreeForm("slice", {"axes": axes}, {"starts": firsts, "ends": lengths})


def parts(shape: tuple[int, ...], lengths: Sequence[SizeTerm]) -> Iterator[FreeForm]:
    """The operators that take the first elements of every dimension of a constant, and repeat
    dimensions of 1.
    """
    follows = [axis for axis, term in enumerate(lengths) if term.free >= 0]
    cut = tuple(axis for axis in follows if shape[axis] != 1)
    if cut:
        ends = tuple(lengths[axis] for axis in cut)
        yield FreeForm("slice", {"axes": cut}, {"starts": (SizeTerm(),) * len(cut), "ends": ends})
    if len(cut) < len(follows):
        yield FreeForm("expand", terms={"shape": tuple(lengths)})


def _index(bound: int, size: int) -> int:
    return int(min(max(bound + size if bound < 0 else bound, 0), size))


def _common_bound(bounds: Sequence[int], sizes: Sequence[int]) -> int | None:
    """The bound of a slice that is equivalent to these bounds of dimensions of these sizes."""
    if len(set(bounds)) == 1:
        return bounds[0]
    if all(bound >= size for bound, size in zip(bounds, sizes, strict=True)):
        return _END
    places = {
        bound if bound < 0 else bound - size for bound, size in zip(bounds, sizes, strict=True)
    }
    return places.pop() if len(places) == 1 and max(places) < 0 else None


@_form("resize")
def _resize(it: Occurrence, fit: TermFit) -> FreeForm | None:
    terms = _complete(_terms([shape[2:] for shape in it.y], fit))
    if it.differing() - {"sizes"} or terms is None:
        return None
    values = {name: value for name, value in it.op.attributes.items() if name != "sizes"}
    return FreeForm("resize", values, {"sizes": terms})


@_form("average_pool", "max_pool")
def _pool(it: Occurrence, fit: TermFit) -> FreeForm | None:
    """A pool over the whole image."""
    values = [value for value in it.attributes if value is not None]
    whole = len(values) == len(it.x) and all(
        tuple(value["kernel_shape"]) == shape[2:] and not any(value["pads"])
        for value, shape in zip(values, it.x, strict=True)
    )
    if it.differing() - {"kernel_shape", "strides"} or not whole:
        return None
    return FreeForm(f"global_{it.op.type}")
