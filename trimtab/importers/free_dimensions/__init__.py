"""Free dimensions: one program for all sizes of its inputs within bounds (docs/free-dimensions.md).

A network is imported at several sizes. What its operators have in common stays; attributes and
constants that follow the sizes become operators that compute them from the inputs' shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from trimtab.errors import ImportModelError, ProgramError, TrimtabError
from trimtab.importers._inputs import Shapes
from trimtab.importers.free_dimensions.bounds import FreeDimensions, Point, Size
from trimtab.program import Program

if TYPE_CHECKING:
    from trimtab.importers.free_dimensions.merge import Merge

_MAX_POINTS = 40


def load(
    import_at: Callable[[Shapes], Program], inputs: Mapping[str, tuple[Size, ...]], where: str
) -> Program:
    """The program for all sizes within the bounds of `inputs`; `import_at` imports it at one size.

    The program has the largest sizes. ImportModelError names the operators that cannot follow the
    sizes, or sizes at which the network is invalid.
    """
    # Not at the top: sessions of networks without free dimensions need the bounds alone.
    from trimtab.importers.free_dimensions.merge import Merge
    from trimtab.importers.free_dimensions.terms import AmbiguousError, TermFit

    free = FreeDimensions(inputs, ())
    largest = import_at(free.at(free.largest))
    free = FreeDimensions(inputs, largest.inputs)
    programs: dict[Point, Program] = {}
    for point in free.points():
        _add(programs, point, import_at, free, where)
    while True:
        fit = TermFit(free.bounds, list(programs))
        try:
            merge = Merge(free, programs, fit, where)
            program = merge.run()
            break
        except AmbiguousError as error:
            if len(programs) >= _MAX_POINTS or error.point in programs:
                raise ImportModelError(
                    "its sizes do not follow the free dimensions in a simple way",
                    where=where,
                    hint="load it at fixed sizes, or give bounds in steps, such as 64..640/32",
                ) from None
            _add(programs, error.point, import_at, free, where)
    for point in programs:
        _check(merge, program, free, point, where)
    for point in free.neighbors():
        _check(merge, program, free, point, where)
    return program


def _add(
    programs: dict[Point, Program],
    point: Point,
    import_at: Callable[[Shapes], Program],
    free: FreeDimensions,
    where: str,
) -> None:
    """Imports the network at a point; equal constants are in memory once."""
    if point in programs:
        return
    try:
        program = import_at(free.at(point))
    except TrimtabError as error:
        raise _invalid_at(point, free, error, where) from error
    for name, var in next(iter(programs.values()), program).vars.items():
        twin = program.vars.get(name)
        if var.data is None or twin is None or twin.data is None or twin.shape != var.shape:
            continue
        if np.array_equal(var.data, twin.data):
            twin.data = var.data
    programs[point] = program


def _invalid_at(
    point: Point, free: FreeDimensions, error: TrimtabError, where: str
) -> ImportModelError:
    return ImportModelError(
        f"the network is invalid at {free.text(point)}: {error.what}",
        where=error.where or where,
        hint="narrow the bounds, or give them in steps, such as 64..640/32",
    )


def _check(merge: Merge, program: Program, free: FreeDimensions, point: Point, where: str) -> None:
    """ImportModelError if the shapes of `program` at a point are invalid, or others than those of
    the network there.
    """
    try:
        sizes = program.shapes_at(free.at(point))
    except ProgramError as error:
        raise _invalid_at(point, free, error, where) from error
    for name, shape in merge.shapes(point).items():
        if sizes[name] != shape:
            raise ImportModelError(
                f"{name!r} is {list(sizes[name])} at {free.text(point)}, not {list(shape)}",
                where=where,
                hint="this is an error of trimtab: please report it",
            )
