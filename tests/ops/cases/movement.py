"""Operators that only move, slice, concatenate or repeat elements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.cases.case import Case, Const, case, ints, normal

X = normal(2, 6, 4, 5)


def _join_and_cut() -> Iterator[Case]:
    for axis in (0, 1, 2, 3, -1, -3):
        other = normal(*(n + 2 if i == axis % 4 else n for i, n in enumerate(X.shape)))
        yield case(f"axis{axis}", "Concat", X, other, axis=axis)
        yield case(f"axis{axis}-constant", "Concat", X, Const(other), X, axis=axis)
    yield case("one", "Concat", X, axis=1)
    yield case("1d", "Concat", normal(3), normal(4), axis=0)
    yield case("four-odd", "Concat", *(normal(1, c, 3, 3) for c in (1, 5, 17, 3)), axis=1)

    for axis, sizes in ((1, (1, 3, 2)), (-3, (4, 2)), (0, (1, 1)), (3, (2, 3)), (-2, (1, 1, 1, 1))):
        id = f"axis{axis}-" + "_".join(map(str, sizes))
        yield case(id, "Split", X, ints(*sizes), outputs=len(sizes), axis=axis)
        yield case(
            f"{id}-opset-11", "Split", X, opset=11, outputs=len(sizes), axis=axis, split=sizes
        )
    yield case("equal", "Split", X, outputs=2, axis=1)
    yield case("equal-opset-7", "Split", X, opset=7, outputs=3, axis=1)
    yield case("num-outputs-uneven", "Split", X, opset=18, outputs=3, axis=3, num_outputs=3)

    for name, starts, ends, axes, steps in (
        ("channels", [1], [4], [1], [1]),
        ("all", [0, 1, 1, 2], [2, 5, 3, 5], [0, 1, 2, 3], [1, 1, 1, 1]),
        ("negative", [-3], [-1], [-1], [1]),
        ("beyond", [1], [2**31], [2], [1]),
        ("step", [0, 1], [4, 5], [2, 3], [2, 3]),
        ("backwards", [-1], [-(2**40)], [1], [-1]),
        ("backwards-step", [5, 3], [0, 0], [1, 2], [-2, -1]),
        ("focus", [0, 1], [4, 5], [-2, -1], [2, 2]),
    ):
        yield case(name, "Slice", X, *(ints(*v) for v in (starts, ends, axes, steps)))
    yield case("no-axes", "Slice", X, ints(0, 2), ints(2, 5))
    yield case("int32", "Slice", X, *(Const(np.array(v, np.int32)) for v in ([1], [5], [1])))
    yield case("opset-9", "Slice", X, opset=9, starts=[1, 0], ends=[5, -1], axes=[1, 3])
    yield case("opset-7-no-axes", "Slice", X, opset=7, starts=[0, 2], ends=[1, 9])


def _shape() -> Iterator[Case]:
    for name, shape in {
        "flat": (240,),
        "minus-one": (2, -1),
        "zero": (0, 0, 20),
        "5d": (2, 2, 3, 4, 5),
        "4d": (4, 3, 5, 4),
        "zero-minus-one": (0, -1, 1, 1),
    }.items():
        yield case(name, "Reshape", X, ints(*shape))
    yield case("opset-7", "Reshape", X, ints(6, -1), opset=7)
    yield case("allowzero", "Reshape", X, ints(48, 5), opset=14, allowzero=1)
    for axis in (0, 1, 2, 3, 4, -1):
        yield case(f"axis{axis}", "Flatten", X, opset=17, axis=axis)
    yield case("default", "Flatten", normal(2, 3, 1, 1), opset=7)

    ones = normal(1, 5, 1, 4)
    yield case("axes", "Squeeze", ones, ints(0, 2))
    yield case("negative", "Squeeze", ones, ints(-2))
    yield case("all", "Squeeze", ones)
    yield case("opset-7", "Squeeze", ones, opset=7, axes=[0])
    for axes in ((0,), (2,), (-1,), (0, -1), (3, 1)):
        yield case("_".join(map(str, axes)), "Unsqueeze", normal(3, 4), ints(*axes))
    yield case("opset-11", "Unsqueeze", normal(3, 4), opset=11, axes=[-1, 0])

    for perm in ((0, 2, 3, 1), (0, 3, 1, 2), (3, 2, 1, 0), (1, 0, 2, 3), (0, 1, 3, 2)):
        yield case("".join(map(str, perm)), "Transpose", X, perm=perm)
    yield case("default", "Transpose", X)
    yield case("2d", "Transpose", normal(5, 7))
    yield case("5d", "Transpose", normal(1, 2, 3, 4, 5), perm=(0, 2, 1, 3, 4))
    yield case("6d", "Transpose", normal(1, 2, 2, 3, 2, 3), perm=(0, 1, 4, 2, 5, 3))
    for planes in (2, 3):  # interleaved, with and without a rest
        for width in (3, 8, 13):
            x = normal(2, planes, width)
            yield case(f"{planes}-planes-{width}", "Transpose", x, perm=(0, 2, 1))
    # Runs, of which one side has few or many, and as many of both axes.
    for name, shape in (
        ("heads", (2, 40, 3, 4, 5)),
        ("few", (2, 40, 3, 2, 5)),
        ("wide", (1, 12, 3, 4, 5)),
    ):
        yield case(f"runs-{name}", "Transpose", normal(*shape), perm=(2, 0, 3, 1, 4))
        yield case(f"runs-{name}-back", "Transpose", normal(*shape), perm=(3, 0, 2, 1, 4))


def _pad() -> Iterator[Case]:
    zero = Const(np.array(0.0, np.float32))
    for mode in ("constant", "reflect", "edge"):
        yield case(f"{mode}-image", "Pad", X, ints(0, 0, 1, 2, 0, 0, 3, 1), zero, mode=mode)
        yield case(f"{mode}-channels", "Pad", X, ints(0, 2, 0, 0, 0, 1, 0, 0), mode=mode)
        yield case(f"{mode}-crop", "Pad", X, ints(0, 0, 1, -1, 0, 0, -2, 2), mode=mode)
        yield case(f"{mode}-opset-7", "Pad", X, opset=7, mode=mode, pads=[0, 0, 1, 1, 0, 0, 2, 2])
        wide = normal(2, 3, 9, 10), ints(0, 0, 2, 7, 0, 0, 5, 9)  # several vectors are added
        yield case(f"{mode}-wide", "Pad", *wide, mode=mode)
        yield case(f"{mode}-2d", "Pad", normal(4, 6), ints(1, 2, 3, 0), mode=mode)
    line = ints(3, 2)  # nearly as long as the row, beyond its ends
    yield case("reflect-line", "Pad", normal(4), line, mode="reflect")
    yield case(
        "reflect-5d", "Pad", normal(2, 2, 3, 3, 4), ints(*[1] * 4, 3, *[1] * 4, 2), mode="reflect"
    )
    yield case("wrap", "Pad", X, ints(0, 0, 1, 2, 0, 0, 3, 1), opset=19, mode="wrap")
    yield case("value", "Pad", X, ints(1, 1, 1, 1, 1, 1, 1, 1), Const(np.array(-2.5, np.float32)))
    yield case("value-opset-7", "Pad", X, opset=7, pads=[0, 0, 0, 1, 0, 0, 0, 1], value=3.0)
    yield case("axes", "Pad", X, ints(1, 2, 3, 0), zero, ints(-1, 2), opset=18)


def _repeat() -> Iterator[Case]:
    matrix = normal(4, 5)
    for name, index in {
        "scalar": np.array(2),
        "vector": np.array([3, 0, 0, -1]),
        "matrix": np.array([[0, 1], [2, -2]]),
    }.items():
        for axis in (0, 1, -1):
            yield case(f"{name}-axis{axis}", "Gather", matrix, Const(index), axis=axis)
    yield case("4d", "Gather", X, Const(np.array([5, 0, 2])), axis=1)
    yield case("computed", "Gather", Const(matrix), np.array([[3, 1, -4]]))
    yield case("computed-int32", "Gather", Const(matrix), np.array([3, 1], np.int32), axis=1)
    for name, shape in {
        "same": (3, 1),
        "grow": (2, 3, 4),
        "ones": (1, 1),
        "4d": (2, 5, 3, 6),
    }.items():
        yield case(name, "Expand", normal(3, 1), ints(*shape))
    for repeats in ((1, 2, 1, 1), (2, 1, 3, 2), (1, 1, 1, 1)):
        yield case("_".join(map(str, repeats)), "Tile", normal(1, 3, 2, 4), ints(*repeats))
    yield case("1d", "Tile", normal(5), ints(3))
    for block in (2, 3):
        x = normal(1, 4 * block * block, 3, 5)
        for mode in ("DCR", "CRD"):
            yield case(f"{block}-{mode}", "DepthToSpace", x, blocksize=block, mode=mode)
        yield case(f"{block}", "SpaceToDepth", normal(2, 3, 2 * block, 3 * block), blocksize=block)
    yield case("opset-7", "DepthToSpace", normal(1, 8, 2, 3), opset=7, blocksize=2)


def cases() -> Iterator[Case]:
    """Exact results, because nothing is computed."""
    for family in (_join_and_cut, _shape, _pad, _repeat):
        yield from family()
    yield case("", "Dropout", X)
    yield case("opset-7", "Dropout", X, opset=7, ratio=0.3)
    for to in (6, 7, 9):  # int32, int64, bool
        yield case(f"to-{to}", "Cast", X * 3, to=to)
    yield case("to-same", "Cast", X, to=1)
    yield case("from-int32", "Cast", np.arange(-3, 9, dtype=np.int32).reshape(3, 4), to=1)
    yield case("from-int64", "Cast", np.arange(-3, 9).reshape(3, 4), to=1)
    yield case("from-uint8", "Cast", np.arange(250, 256, dtype=np.uint8), to=1)
