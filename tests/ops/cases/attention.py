"""Attention as exporters write it: MatMul, Softmax, MatMul, with scales and masks in between."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.cases.case import Array, Case, Const, Graph, floats, normal

Shape = tuple[int, ...]

# name: queries, keys, values, mask
_SHAPES: dict[str, tuple[Shape, Shape, Shape, Shape | None]] = {
    "vit": ((1, 3, 197, 64), (1, 3, 197, 64), (1, 3, 197, 64), None),
    "window": ((4, 3, 49, 33), (4, 3, 49, 33), (4, 3, 49, 33), (1, 3, 49, 49)),
    "one-query": ((2, 1, 8), (2, 7, 8), (2, 7, 5), None),
    "one-key": ((2, 7, 8), (2, 1, 8), (2, 1, 33), (7, 1)),
    "matrices": ((7, 33), (16, 33), (16, 3), None),
    "keys-mask": ((2, 3, 7, 8), (2, 3, 18, 8), (2, 3, 18, 8), (2, 1, 1, 18)),
    "heads-mask": ((2, 3, 7, 8), (2, 3, 18, 8), (2, 3, 18, 8), (3, 7, 18)),
    "vector-mask": ((2, 3, 7, 8), (2, 3, 18, 8), (2, 3, 18, 8), (18,)),
    "matrix-mask": ((2, 3, 7, 8), (2, 3, 18, 8), (2, 3, 18, 8), (7, 18)),
    "grouped": ((2, 2, 3, 17, 8), (2, 2, 1, 19, 8), (2, 2, 1, 19, 8), None),
    "shared-keys": ((3, 5, 8), (9, 8), (3, 9, 8), (3, 1, 9)),
    "shared-values": ((3, 5, 8), (3, 9, 8), (1, 9, 8), None),
    "more-values": ((1, 5, 8), (1, 9, 8), (4, 9, 8), None),
}


def _graph(
    scale: str, shapes: tuple[Shape, Shape, Shape, Shape | None], mask: Array | None = None
) -> tuple[Graph, str]:
    """The graph and its result. `scale`: where the factor is, or "" without one."""
    q, k, v, mask_shape = shapes
    g = Graph()
    factor = floats(q[-1] ** -0.5)
    root = floats(q[-1] ** -0.25)
    queries: str | Array = normal(*q)
    order = [*range(len(k) - 2), len(k) - 1, len(k) - 2]
    keys = g.node("Transpose", normal(*k, seed="keys"), perm=order)
    if scale == "queries":
        queries = g.node("Mul", queries, factor)
    elif scale == "both":
        queries, keys = g.node("Mul", queries, root), g.node("Mul", keys, root)
    elif scale == "keys":
        keys = g.node("Mul", keys, factor)
    scores = g.node("MatMul", queries, keys)
    if scale == "scores":
        scores = g.node("Mul", scores, factor)
    elif scale == "divided":
        scores = g.node("Div", scores, floats(q[-1] ** 0.5))
    if mask_shape is not None:
        addend = Const(mask) if mask is not None else normal(*mask_shape, seed="mask")
        scores = g.node("Add", scores, addend)
    return g, g.node("MatMul", g.node("Softmax", scores, axis=-1), normal(*v, seed="values"))


def grouped(
    mask: Shape | None,
    repeat: str = "Expand",
    heads: int = 2,
    group: int = 3,
    *,
    merged: bool = False,
) -> Graph:
    """Attention whose keys and values are repeated for each of a group of queries. `merged`: keys
    are transposed without a dimension of heads, as PyTorch writes it.
    """
    g = Graph()
    keys, values = (
        _repeated(g, normal(2, heads, 18, 8, seed=role), repeat, group) for role in ("k", "v")
    )
    queries = g.node("Mul", normal(2, heads * group, 7, 8), floats(8**-0.5))
    if merged:
        keys = g.node("Reshape", keys, Const(np.array([-1, 18, 8])))
        keys = g.node("Transpose", keys, perm=[0, 2, 1])
        keys = g.node("Reshape", keys, Const(np.array([2, heads * group, 8, 18])))
    else:
        keys = g.node("Transpose", keys, perm=[0, 1, 3, 2])
    scores = g.node("MatMul", queries, keys)
    if mask is not None:
        scores = g.node("Add", scores, normal(*mask, seed="mask"))
    g.node("MatMul", g.node("Softmax", scores, axis=-1), values)
    return g


def _repeated(g: Graph, x: Array, repeat: str, group: int) -> str:
    """Each matrix of x: [n, heads, rows, columns] `group` times."""
    n, heads, *matrix = x.shape
    counts = [n, heads, group, *matrix] if repeat == "Expand" else [1, 1, group, 1, 1]
    single = g.node("Unsqueeze", x, Const(np.array([2])))
    y = g.node(repeat, single, Const(np.array(counts)))
    return g.node("Reshape", y, Const(np.array([n, heads * group, *matrix])))


MASKS: dict[str, Shape | None] = {
    "none": None,
    "vector": (18,),
    "matrix": (7, 18),
    "heads": (6, 7, 18),
    "batch": (2, 1, 1, 18),
    "every": (2, 6, 7, 18),
}


def cases() -> Iterator[Case]:
    """Odd sizes, masks that broadcast along every axis, all places of the scale, groups."""
    for name, mask_shape in MASKS.items():
        yield grouped(mask_shape).case(f"attention-grouped-mask-{name}")
    yield grouped((6, 7, 18), "Tile").case("attention-grouped-tile")
    yield grouped((7, 18), merged=True).case("attention-grouped-merged")
    yield grouped((4, 1, 18), heads=1, group=4).case("attention-grouped-all")
    for name, shapes in _SHAPES.items():
        yield _graph("queries", shapes)[0].case(f"attention-{name}")
    for scale in ("", "both", "keys", "scores", "divided"):
        yield _graph(scale, _SHAPES["heads-mask"])[0].case(f"attention-scale-{scale or 'none'}")
    mask = np.where(normal(2, 1, 7, 18) > 0.5, np.float32(-np.inf), np.float32(0))
    mask[..., 0] = 0
    shapes = (*_SHAPES["heads-mask"][:3], mask.shape)
    yield _graph("queries", shapes, mask)[0].case("attention-hidden-keys")
    mask = np.where(mask < 0, np.float32(-100), mask)
    yield _graph("queries", shapes, mask)[0].case("attention-almost-hidden-keys")
    g, y = _graph("scores", _SHAPES["vit"])
    g.node("Reshape", g.node("Transpose", y, perm=[0, 2, 1, 3]), Const(np.array([1, 197, 192])))
    yield g.case("attention-merged-heads")
