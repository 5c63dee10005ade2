"""Bounds of input shapes: `data=1..8,3,64..640/32` is a network for many sizes of its inputs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trimtab.errors import UsageError

Size = int | str
"""A size, or the text of its bounds."""

FreeShapes = Mapping[str, str | int | Sequence[Size]]
"""Shapes of inputs by name, in which sizes may be bounds; a number is the value of an input without
dimensions.
"""

STATE = "@"
"""Begins the last part of a state's shape, `@NAME`: the output with its next value."""

Point = tuple[int, ...]
"""A size for each free dimension."""

_BOUNDS = re.compile(r"\s*(\d+)\s*\.\.\s*(\d+)\s*(?:/\s*(\d+)\s*)?")
_HINT = "write bounds as 64..640, or 64..640/32 for every 32nd size"


@dataclass(frozen=True)
class Bounds:
    """The permitted sizes of a dimension: `minimum`, `minimum + step`, ... up to `maximum`."""

    minimum: int
    maximum: int
    step: int = 1

    @property
    def sizes(self) -> range:
        """All permitted sizes."""
        return range(self.minimum, self.maximum + 1, self.step)

    @staticmethod
    def parse(text: str) -> Bounds:
        """ "64..640/32" -> Bounds(64, 640, 32); UsageError for anything else."""
        match = _BOUNDS.fullmatch(text)
        if not match:
            raise UsageError(f"cannot read the size {text!r}", hint=_HINT)
        minimum, maximum, step = (int(group or 1) for group in match.groups())
        if not 1 <= minimum <= maximum < 2**31 or step < 1:
            raise UsageError(f"the bounds {text!r} hold no size", hint=_HINT)
        return Bounds(minimum, range(minimum, maximum + 1, step)[-1], step)


def parsed(shape: str | int | Sequence[Size]) -> tuple[Size, ...]:
    """A shape as numbers, texts of bounds and the mark of a state; a number is a shape of one.
    UsageError for anything else.
    """
    sizes: list[Size] = []
    shape = (shape,) if isinstance(shape, int) else shape
    for size in _parts(shape) if isinstance(shape, str) else shape:
        if isinstance(size, str) and size.startswith(STATE):
            sizes.append(size)
        elif isinstance(size, str) and not size.strip().isdecimal():
            bounds = Bounds.parse(size)
            only = bounds.minimum == bounds.maximum
            sizes.append(bounds.minimum if only else size.strip())
        else:
            sizes.append(int(size))
    return tuple(sizes)


def _parts(text: str) -> list[str]:
    dims, mark, output = text.partition(STATE)
    return [*(dims.split(",") if dims or not mark else ()), *([mark + output] if mark else ())]


def fixed(shapes: Mapping[str, tuple[Size, ...]]) -> dict[str, tuple[int, ...]] | None:
    """The shapes themselves if none has bounds, else None."""
    result = {name: tuple(n for n in shape if isinstance(n, int)) for name, shape in shapes.items()}
    return result if all(len(result[name]) == len(shapes[name]) for name in shapes) else None


def largest(shapes: Mapping[str, tuple[Size, ...]]) -> dict[str, tuple[int, ...]]:
    """The shapes with the largest sizes; states without a shape are not among them."""
    numbers = {
        name: tuple(
            n if isinstance(n, int) else Bounds.parse(n).maximum
            for n in shape
            if isinstance(n, int) or not n.startswith(STATE)
        )
        for name, shape in shapes.items()
    }
    return {name: shape for name, shape in numbers.items() if shape or not shapes[name]}


def split_states(
    inputs: Mapping[str, tuple[Size, ...]],
) -> tuple[dict[str, tuple[Size, ...]], dict[str, str]]:
    """The shapes of inputs, and their states. UsageError for a state with bounds."""
    shapes: dict[str, tuple[Size, ...]] = {}
    states = {}
    for name, sizes in inputs.items():
        marks = [size for size in sizes if isinstance(size, str) and size.startswith(STATE)]
        rest = tuple(size for size in sizes if size not in marks)
        if marks:
            states[name] = marks[0].removeprefix(STATE)
        if rest or not marks:
            shapes[name] = rest
        if marks and any(isinstance(size, str) for size in rest):
            raise UsageError(
                f"the state {name!r} has bounds",
                hint="a state keeps its size between runs: give each dimension one size",
            )
    return shapes, states


class FreeDimensions:
    """The free dimensions of the inputs `shapes`, numbered in order of the inputs `names`.

    The first dimension with some bounds in one input is the same as the first in another input, and
    so on: a batch of images and its masks have one size.
    """

    def __init__(self, shapes: Mapping[str, tuple[Size, ...]], names: Sequence[str]) -> None:
        self.shapes = dict(shapes)
        self.bounds: list[Bounds] = []
        self._numbers: dict[str, list[int]] = {}
        numbers: dict[tuple[Bounds, int], int] = {}
        for name in sorted(shapes, key=lambda name: names.index(name) if name in names else 0):
            occurrences: dict[Bounds, int] = {}
            self._numbers[name] = []
            for size in shapes[name]:
                if isinstance(size, int):
                    self._numbers[name].append(-1)
                    continue
                bounds = Bounds.parse(size)
                occurrence = occurrences[bounds] = occurrences.get(bounds, -1) + 1
                number = numbers.setdefault((bounds, occurrence), len(numbers))
                if number == len(self.bounds):
                    self.bounds.append(bounds)
                self._numbers[name].append(number)

    @property
    def inputs(self) -> list[str]:
        """The inputs that have free dimensions."""
        return [name for name, numbers in self._numbers.items() if max(numbers, default=-1) >= 0]

    @property
    def largest(self) -> Point:
        """The largest sizes."""
        return tuple(bounds.maximum for bounds in self.bounds)

    def at(self, point: Point) -> dict[str, tuple[int, ...]]:
        """The shapes of the inputs at a point."""
        return {
            name: tuple(
                point[number] if number >= 0 else int(size)
                for size, number in zip(self.shapes[name], numbers, strict=True)
            )
            for name, numbers in self._numbers.items()
        }

    def text(self, point: Point) -> str:
        """The shapes at a point in words, for errors."""
        shapes = self.at(point)
        return ", ".join(f"{name}={','.join(map(str, shapes[name]))}" for name in self.inputs)

    def points(self) -> Iterator[Point]:
        """The largest sizes, the smallest ones, and some between, each dimension on its own."""
        ranges = [bounds.sizes for bounds in self.bounds]
        yield self.largest
        yield tuple(sizes[0] for sizes in ranges)
        for i, k in itertools.product((0.37, 0.71, 0.53), (0,)):
            yield tuple(
                sizes[int((i + 0.29 * axis + k) % 1.0 * len(sizes))]
                for axis, sizes in enumerate(ranges)
            )

    def neighbors(self) -> Iterator[Point]:
        """The sizes beside the smallest and the largest ones, in one dimension each."""
        for axis, bounds in enumerate(self.bounds):
            for size in {bounds.sizes[:2][-1], bounds.sizes[-2:][0]}:
                yield (*self.largest[:axis], size, *self.largest[axis + 1 :])

    def attributes(self) -> dict[str, tuple[int, ...]]:
        """The attributes of `free_sizes`, which reads `inputs`."""
        rows = [
            (bounds.minimum, bounds.maximum, bounds.step, number)
            for name in self.inputs
            for size, number in zip(self.shapes[name], self._numbers[name], strict=True)
            for bounds in [Bounds(size, size) if isinstance(size, int) else Bounds.parse(size)]
        ]
        names = ("minimum", "maximum", "step", "free")
        return dict(zip(names, zip(*rows, strict=True), strict=True))
