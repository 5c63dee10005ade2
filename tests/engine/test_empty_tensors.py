"""Empty tensors between operators: their shapes and results agree with onnxruntime.

Typical errors are arithmetic on null pointers, copies from them, and divisions by zero, which only
`./inv sanitize` detects reliably.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.ops import oracle
from tests.ops.cases.case import Array, Case, Const, Graph, floats, ints, normal

IMAGE, ROWS, COLUMNS = (0, 4, 6, 6), (0, 5), (5, 0)


def sized(result: Graph, shape: tuple[int, ...]) -> str:
    """A value of that shape, cut out of an input of the graph, as inputs have elements."""
    whole = result.node("Relu", normal(*(size or 2 for size in shape)))
    if 0 not in shape:
        return whole
    return result.node("Slice", whole, ints(0), ints(0), ints(shape.index(0)))


def graph(kind: str, *rest: Any, shape: tuple[int, ...] = ROWS, **attributes: Any) -> Graph:
    """An operator whose first input is of `shape`, a tuple among the others too, and a Neg."""
    result = Graph()
    inputs = [sized(result, x) if isinstance(x, tuple) else x for x in (shape, *rest)]
    result.node("Neg", result.node(kind, *inputs, **attributes))
    return result


def joined(shape: tuple[int, ...], full: tuple[int, ...], axis: int) -> Graph:
    """Something beside nothing."""
    result = Graph()
    parts = [sized(result, size) for size in (shape, full, shape)]
    result.node("Neg", result.node("Concat", *parts, axis=axis))
    return result


def weights(*shape: int) -> Const:
    return Const(normal(*shape))


def graphs() -> Iterator[tuple[str, Graph]]:
    for kind in ("Sigmoid", "Tanh", "Exp", "Softplus", "Erf", "HardSwish", "Identity"):
        yield kind, graph(kind)
    for kind in ("Add", "Mul", "Div", "Pow", "Max", "PRelu"):
        yield f"{kind}-scalar", graph(kind, floats(2.0))
        if kind != "PRelu":
            yield f"{kind}-row", graph(kind, weights(5))
            yield f"{kind}-both", graph(kind, ROWS)
    for axis in (0, 1):
        yield f"Softmax-{axis}", graph("Softmax", axis=axis)
        yield f"Softmax-columns-{axis}", graph("Softmax", shape=COLUMNS, axis=axis)
    yield "Concat-rows", joined(ROWS, (3, 5), 0)
    yield "Concat-columns", joined(COLUMNS, (5, 4), 1)
    yield "Concat-nothing", joined(ROWS, ROWS, 0)
    yield "Reshape", graph("Reshape", ints(5, 0, 1), allowzero=1)
    yield "Flatten", graph("Flatten", shape=IMAGE)
    yield "Transpose", graph("Transpose", perm=(1, 0))
    yield "Transpose-image", graph("Transpose", shape=IMAGE, perm=(0, 2, 3, 1))
    yield "Slice", graph("Slice", ints(1), ints(1), ints(0), shape=(4, 5))
    yield "Slice-of-nothing", graph("Slice", ints(1), ints(3), ints(1))
    yield "Pad", graph("Pad", ints(0, 1, 0, 2))
    yield "Pad-to-something", graph("Pad", ints(1, 0, 2, 0))
    yield "Gather", graph("Gather", ints(2, 0), axis=1)
    yield "Gather-nothing", graph("Gather", Const(np.empty(0, np.int64)), shape=(4, 5), axis=0)
    yield "Expand", graph("Expand", ints(3, 1, 1))
    yield "Tile", graph("Tile", ints(2, 3))
    yield "Tile-by-nothing", graph("Tile", ints(0, 2), shape=(4, 5))
    yield "Unsqueeze", graph("Unsqueeze", ints(0))
    yield "ReduceSum", graph("ReduceSum", ints(1), keepdims=1)
    yield "ReduceSum-nothing", graph("ReduceSum", ints(0), keepdims=0)
    yield "MatMul-rows", graph("MatMul", weights(5, 7))
    yield "MatMul-depth", graph("MatMul", (0, 7), shape=COLUMNS)
    yield "MatMul-both", graph("MatMul", (5, 4))
    yield "MatMul-batch", graph("MatMul", (0, 3, 4), shape=(0, 2, 3))
    yield "Gemm", graph("Gemm", weights(5, 7), weights(7))
    yield "Conv", graph("Conv", weights(8, 4, 3, 3), weights(8), shape=IMAGE)
    yield "Conv-1x1", graph("Conv", weights(8, 4, 1, 1), shape=IMAGE)
    yield "Conv-depthwise", graph("Conv", weights(4, 1, 3, 3), shape=IMAGE, group=4)
    yield "ConvTranspose", graph("ConvTranspose", weights(4, 3, 2, 2), shape=IMAGE, strides=(2, 2))
    yield "MaxPool", graph("MaxPool", shape=IMAGE, kernel_shape=(2, 2), strides=(2, 2))
    yield "AveragePool", graph("AveragePool", shape=IMAGE, kernel_shape=(3, 3))
    yield "GlobalAveragePool", graph("GlobalAveragePool", shape=IMAGE)
    yield "Resize", graph("Resize", None, floats(1, 1, 2, 2), shape=IMAGE, mode="linear")
    yield (
        "BatchNormalization",
        graph(
            "BatchNormalization", *(Const(np.ones(4, np.float32)) for _ in range(4)), shape=IMAGE
        ),
    )
    yield (
        "InstanceNormalization",
        graph(
            "InstanceNormalization", *(Const(np.ones(4, np.float32)) for _ in range(2)), shape=IMAGE
        ),
    )
    yield "LRN", graph("LRN", shape=IMAGE, size=3)
    yield "DepthToSpace", graph("DepthToSpace", shape=IMAGE, blocksize=2)


CASES = dict(graphs())


def compute(case: Case, path: Path, threads: int) -> dict[str, Array]:
    path.write_bytes(case.model.SerializeToString())
    return trimtab.Session(trimtab.load(path), threads).run(case.inputs)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_empty_tensors_stay_empty_and_others_are_correct(
    name: str, threads: int, tmp_path: Path
) -> None:
    case = CASES[name].case(name)
    oracle.assert_agree(case, compute(case, tmp_path / "x.onnx", threads), oracle.expected(case))
