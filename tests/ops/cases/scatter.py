"""Scatters, gathers by constant indices, cumulative sums and products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.ops.cases.case import Case, Const, Graph, case, ints, normal

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


def _reductions() -> Iterator[Case]:
    rng = np.random.default_rng(6)
    rows = rng.integers(-3, 3, (7, 1))
    elements = rng.integers(0, 5, (2, 9, 3))
    for reduction in ("add", "mul", "max", "min"):
        more: dict[str, Any] = {"opset": 18, "reduction": reduction}
        yield case(reduction, "ScatterND", X, Const(rows), normal(7, 5, 4), **more)
        yield case(
            reduction, "ScatterElements", X, Const(elements), normal(2, 9, 3), axis=1, **more
        )


def _computed() -> Iterator[Case]:
    """Indices that are inputs."""
    rng = np.random.default_rng(8)
    slices = np.stack([rng.permutation(15)[:7] // 5 - 3, rng.permutation(5)[[0, 1, 2, 3, 4, 0, 1]]])
    for name, indices in (
        ("rows", np.array([[2], [0]])),
        ("slices", np.array([[[0, 4], [2, -1]], [[1, 1], [-3, 0]]])),
        ("elements", np.array([[[0, 1, 2], [-1, 4, -4]]])),
        ("repeated", slices.T),
    ):
        yield case(f"computed-{name}", "GatherND", X, indices)
        updates = normal(*indices.shape[:-1], *X.shape[indices.shape[-1] :], seed="updates")
        for kind in ("none", "add", "mul", "max", "min"):
            if kind != "none" or name != "repeated":
                more: dict[str, Any] = {"opset": 18, "reduction": kind}
                yield case(f"computed-{name}-{kind}", "ScatterND", X, indices, updates, **more)
    whole = np.arange(60).reshape(X.shape)
    yield case("integers", "ScatterND", whole, np.array([[2], [0]]), -whole[:2], opset=16)
    for axis in (0, 1, -1):
        places = rng.permutation(X.shape[axis])[None, None, :2] + np.zeros((2, 3, 1), np.int64)
        places = np.moveaxis(places, -1, axis)
        updates = normal(*places.shape, seed="updates")
        yield case(f"computed-{axis}", "ScatterElements", X, places, updates, axis=axis)
        for kind in ("add", "mul", "max", "min"):
            at = rng.integers(-X.shape[axis], X.shape[axis], (2, 4, 3))
            more = {"opset": 18, "reduction": kind, "axis": axis}
            updates = normal(*at.shape, seed=kind)
            yield case(f"computed-{axis}-{kind}", "ScatterElements", X, at, updates, **more)
    graph = Graph()
    image = normal(2, 3, 6, 8)
    pooled = graph.node("MaxPool", image, outputs=2, kernel_shape=[2, 2], strides=[2, 2])
    graph.node("MaxUnpool", pooled, f"{pooled}.1", kernel_shape=[2, 2], strides=[2, 2])
    yield graph.case("computed-unpool")


def _others() -> Iterator[Case]:
    indices = Const(np.random.default_rng(7).integers(-5, 5, (3, 2, 1)))
    yield case("batch", "GatherND", X, indices, batch_dims=1)
    chosen = Const(np.array([True, False, True, True]))
    yield case("axis", "Compress", X, chosen, axis=-2)
    yield case("elements", "Compress", X, chosen)
    lengths = ints(1, 3, 2, 5, 4)
    for time in (0, 1):
        yield case(
            f"time{time}",
            "ReverseSequence",
            *(normal(5, 5, 3), lengths),
            time_axis=time,
            batch_axis=1 - time,
        )
    places = np.array([[0, -1, 6], [7, -7, 3]])
    for axis in (0, 1, -1):
        values = np.array([2, 5], np.float32)
        yield case(f"axis{axis}", "OneHot", places, ints(7), values, axis=axis)


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
    yield from _reductions()
    yield from _computed()
    yield from _others()
    yield from _running()
    yield from _products()
