"""Gemm, MatMul and Einsum."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.cases.case import Case, Const, case, normal


def _gemm() -> Iterator[Case]:
    a, b = normal(5, 7), normal(7, 11)
    for name, c in {
        "row": normal(11),
        "row-2d": normal(1, 11),
        "column": normal(5, 1),
        "full": normal(5, 11),
        "scalar": normal(),
        "one": normal(1),
    }.items():
        yield case(f"bias-{name}", "Gemm", a, Const(b), Const(c))
        yield case(f"bias-{name}-scaled", "Gemm", a, Const(b), Const(c), alpha=0.5, beta=-2.0)
        yield case(f"bias-{name}-computed", "Gemm", a, Const(b), c, beta=0.25)
    yield case("no-bias", "Gemm", a, Const(b))
    yield case("no-bias-scaled", "Gemm", a, Const(b), alpha=3.0)
    yield case("one-row", "Gemm", normal(1, 40), Const(normal(40, 33)), Const(normal(33)))
    yield case("one-column", "Gemm", normal(3, 40), Const(normal(40, 1)), Const(normal(1)))
    yield case("wide", "Gemm", normal(17, 129), Const(normal(129, 65)), Const(normal(65)))
    yield case("trans-b", "Gemm", a, Const(normal(11, 7)), Const(normal(11)), transB=1)
    yield case("trans-a", "Gemm", normal(7, 5), Const(b), Const(normal(11)), transA=1)
    yield case("trans-both", "Gemm", normal(7, 5), Const(normal(11, 7)), transA=1, transB=1)
    yield case("beta-zero", "Gemm", a, Const(b), Const(normal(11)), beta=0.0)
    yield case("computed-b", "Gemm", a, b, Const(normal(11)))
    yield case("computed-b-trans", "Gemm", normal(7, 5), normal(11, 7), transA=1, transB=1)
    yield case("all-computed-scaled", "Gemm", a, b, normal(1, 11), alpha=1.5, beta=0.5)
    yield case("constant-a", "Gemm", Const(a), b, Const(normal(11)))
    for opset in (7, 9, 11):
        row = Const(normal(11))
        yield case(f"opset-{opset}", "Gemm", a, Const(b), row, opset=opset, alpha=0.5, beta=2.0)


def _mat_mul() -> Iterator[Case]:
    shapes = {
        "2d": ((5, 7), (7, 11)),
        "2d-wide": ((33, 130), (130, 70)),
        "one-row": ((1, 7), (7, 5)),
        "3d-2d": ((2, 5, 7), (7, 3)),
        "4d-2d": ((1, 2, 5, 7), (7, 3)),
        "3d-3d": ((4, 5, 7), (4, 7, 3)),
        "3d-3d-one": ((4, 5, 7), (1, 7, 3)),
        "one-3d-3d": ((1, 5, 7), (4, 7, 3)),
        "2d-3d": ((5, 7), (4, 7, 3)),
        "4d-4d": ((2, 3, 5, 4), (2, 3, 4, 6)),
        "4d-broadcast": ((2, 1, 5, 4), (3, 4, 6)),
        "vector-matrix": ((7,), (7, 5)),
        "matrix-vector": ((5, 7), (7,)),
        "vector-vector": ((7,), (7,)),
        "3d-vector": ((2, 5, 7), (7,)),
        "vector-3d": ((5,), (2, 5, 7)),
        "3d-3d-tails": ((3, 37, 65), (3, 65, 67)),
        "one-4d-wide": ((1, 1, 50, 33), (1, 3, 33, 129)),
    }
    for name, (a, b) in shapes.items():
        yield case(name, "MatMul", normal(*a), normal(*b))
        yield case(f"{name}-constant-b", "MatMul", normal(*a), Const(normal(*b)))
        yield case(f"{name}-constant-a", "MatMul", Const(normal(*a)), normal(*b))
    a32 = np.ascontiguousarray(normal(3, 4))
    yield case("opset-9", "MatMul", a32, Const(normal(4, 2)), opset=9)


def _einsum() -> Iterator[Case]:
    for equation, *shapes in (
        ("ij,jk->ik", (5, 7), (7, 3)),
        ("ij,jk", (5, 7), (7, 3)),
        ("bhid,bhjd->bhij", (2, 3, 5, 8), (2, 3, 6, 8)),
        ("bhij,bhjd->bihd", (2, 3, 5, 6), (2, 3, 6, 8)),
        ("nctkv,kvw->nctw", (2, 3, 4, 2, 5), (2, 5, 6)),
        ("bchw,hkc->bkhw", (2, 6, 3, 4), (3, 5, 6)),
        ("...ij,...jk->...ik", (2, 3, 4, 5), (2, 3, 5, 2)),
        ("...ij,...jk->...ik", (1, 3, 4, 5), (2, 1, 5, 2)),
        ("...i,...i", (2, 3, 4), (2, 3, 4)),
        ("i,j->ij", (3,), (4,)),
        ("i,i->", (5,), (5,)),
        ("ij,j->ij", (3, 4), (4,)),
        ("ij->ji", (3, 4)),
        ("bij->bi", (2, 3, 4)),
        ("ijk,jl,kl->il", (2, 3, 4), (3, 5), (4, 5)),
        ("bi,bi->b", (1, 4), (3, 4)),
        ("ab,cd->ad", (3, 4), (5, 6)),
    ):
        id = f"{equation.replace('->', '=').replace(',', '_')}-{len(shapes[0])}{shapes[0][0]}"
        xs = [normal(*shape, seed=str(i)) for i, shape in enumerate(shapes)]
        yield case(id, "Einsum", *xs, equation=equation)
        if len(xs) == 2:
            yield case(f"{id}-constant", "Einsum", xs[0], Const(xs[1]), equation=equation)


def cases() -> Iterator[Case]:
    """Constant and computed operands in every position."""
    yield from _gemm()
    yield from _mat_mul()
    yield from _einsum()
