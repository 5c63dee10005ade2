"""Scatters, gathers of slices, cumulative sums and products."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.cases.case import Case, Const, case, ints, normal

X = normal(3, 5, 4)


def _whole(*rows: object) -> Const:
    return Const(np.array(rows, np.int64))


def _slices() -> Iterator[Case]:
    for name, indices in (
        ("rows", [[2], [0]]),
        ("negative", [[-1], [-3]]),
        ("slices", [[0, 4], [2, -1], [1, 1]]),
        ("elements", [[[0, 1, 2], [2, 4, 3]]]),
    ):
        yield case(name, "GatherND", X, _whole(*indices))
        places = np.array(indices)
        updates = normal(*places.shape[:-1], *X.shape[places.shape[-1] :], seed="updates")
        yield case(name, "ScatterND", X, _whole(*indices), updates, opset=16)
        yield case(f"{name}-constant", "ScatterND", X, _whole(*indices), Const(updates), opset=16)


def _elements() -> Iterator[Case]:
    rng = np.random.default_rng(5)
    for axis in (0, 1, -1):
        shape = [2, 3, 4]
        shape[axis] = 2
        # No index twice: their order is not defined.
        order = [rng.permutation(X.shape[axis])[: shape[axis]] for _ in range(24)]
        swapped = [shape[i] for i in range(3) if i != axis % 3]
        rows = np.array(order[: swapped[0] * swapped[1]]).reshape(*swapped, shape[axis])
        indices = np.moveaxis(rows, -1, axis)
        updates = normal(*indices.shape, seed="updates")
        yield case(f"axis{axis}", "ScatterElements", X, Const(indices), updates, axis=axis)
    yield case("negative", "ScatterElements", X, Const(np.array([[[-1]]])), normal(1, 1, 1), axis=1)


def _running() -> Iterator[Case]:
    for axis in (0, 1, -1):
        yield case(f"axis{axis}", "CumSum", X, Const(np.array(axis)))
        for more in ({"exclusive": 1}, {"reverse": 1}, {"exclusive": 1, "reverse": 1}):
            id = f"axis{axis}-" + "-".join(more)
            yield case(id, "CumSum", X, Const(np.array(axis)), **more)
    yield case("long", "CumSum", normal(2, 100), Const(np.array(1)))
    spoiled = normal(2, 9)
    spoiled[0, 3], spoiled[1, 6] = np.nan, np.inf
    yield case("not-finite", "CumSum", spoiled, Const(np.array(1)))


def _products() -> Iterator[Case]:
    for axes in ([1], [0, 2], [-1], [0, 1, 2]):
        id = "axes" + "_".join(map(str, axes))
        yield case(id, "ReduceProd", X, axes=axes)
        yield case(f"{id}-drop", "ReduceProd", X, axes=axes, keepdims=0)
    yield case("all", "ReduceProd", X)
    yield case("input", "ReduceProd", X, ints(1), opset=18)
    yield case("vector", "ReduceProd", normal(13), axes=[0])


def cases() -> Iterator[Case]:
    """All cases of this family."""
    yield from _slices()
    yield from _elements()
    yield from _running()
    yield from _products()
