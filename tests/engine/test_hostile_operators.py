"""Operators with the attributes and shapes of a hostile file: an error or a result, never a crash.

A crash ends the test run; `./inv sanitize` detects smaller errors as well.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from trimtab import kernels, schema
from trimtab.engine import EngineError, engine
from trimtab.program import attributes
from trimtab.program.block import NUMPY_DTYPES

ROUNDS = 400
LARGEST_RUN = 100_000  # elements

WILD_INTS = (0, 1, -1, 2**31 - 1, -(2**31), 2**31, 2**32, 2**63 - 1, -(2**63), 65536, 46341)
WILD_FLOATS = (0.0, -1.0, 0.5, 1e-30, 1e30, math.inf, -math.inf, math.nan)
FREE_SIZES = {
    "free": (-1, 1),
    "multiply": (-1, 2),
    "add": (-1, 4),
    "divide": (1, 2),
    "minimum": (0, 1),
    "maximum": (4, 9),
    "step": (1, 1),
    "dimensions": (-1, 3),
}
Shape = list[int]


def some_shape(rng: random.Random) -> Shape:
    rank = rng.choice((0, 1, 2, 3, 4, 4, 4, 4, 5, 8))
    sizes = (0, 1, 65536, 2**31 - 1) if rng.random() < 0.05 else (0, 1, 1, 2, 3, 4, 4, 6, 8, 9, 16)
    return [rng.choice(sizes) for _ in range(rank)]


def some_ints(rng: random.Random, attribute: schema.Attribute, shape: Shape) -> list[int]:
    rank = len(shape)
    if attribute.name == "axes":
        return rng.sample(range(rank), rng.randint(0, rank))
    if attribute.name in FREE_SIZES and rng.random() < 0.9:
        count = rank if attribute.name != "free" or rng.random() < 0.5 else 2
        return [rng.randint(*FREE_SIZES[attribute.name]) for _ in range(count)]
    if attribute.name == "permutation":
        return rng.sample(range(rank), rank)
    if attribute.name == "shape" and rng.random() < 0.5:
        return [1, min(math.prod(shape), 2**63 - 1)]
    length = attribute.length or rng.choice((rank, rank, 2 * rank, 0, 2))
    return [
        rng.choice(WILD_INTS) if rng.random() < 0.1 else rng.randint(-1, 4) for _ in range(length)
    ]


def some_kernel(rng: random.Random, attribute: schema.Attribute) -> str:
    fitting = [k.name for k in kernels.inventory().values() if k.family in attribute.families]
    return rng.choice(fitting) if fitting and rng.random() < 0.9 else ""


def some_value(rng: random.Random, attribute: schema.Attribute, shape: Shape) -> Any:
    if attribute.default is not None and rng.random() < 0.6:
        return attribute.default
    if attribute.range and rng.random() < 0.9:  # mostly values that the engine accepts
        least, most = attribute.range
        return rng.choice((least, most, rng.randint(least, most), rng.randint(least, least + 3)))
    match attribute.type:
        case "int":
            return rng.choice(WILD_INTS) if rng.random() < 0.3 else rng.randint(-2, 4)
        case "float":
            return rng.choice(WILD_FLOATS)
        case "bool":
            return rng.random() < 0.5
        case "enum":
            return rng.choice(attribute.values)
        case "ints":
            return some_ints(rng, attribute, shape)
        case "floats":
            length = attribute.length or rng.choice((0, 0, 1, 2, 4))
            return [rng.choice(WILD_FLOATS) for _ in range(length)]
        case "op":
            return rng.choice(("", "", "relu", "tanh"))
        case _:
            return some_kernel(rng, attribute)


def some_operands(
    rng: random.Random, op: schema.Operator, shape: Shape
) -> list[tuple[Shape, str] | None]:
    operands: list[tuple[Shape, str] | None] = []
    for i, port in enumerate(op.inputs):
        dtype = rng.choice(("i32", "i64")) if port.index else rng.choice(op.dtypes)
        if port.optional and rng.random() < 0.5:
            operands.append(None)
        elif i == 0 or rng.random() < 0.4:
            operands.append((shape, dtype))
        elif len(shape) > 1 and rng.random() < 0.7:
            rows = rng.choice((1, 2, 3, 4, 5, 16))
            vector, matrix = [shape[1]], [rows, shape[1], 3, 3][: max(2, len(shape))]
            operands.append((rng.choice((vector, matrix)), dtype))
        else:
            operands.append((some_shape(rng), dtype))
    return operands


def some_array(rng: random.Random, shape: Shape, dtype: str) -> np.ndarray[Any, Any]:
    source = np.random.default_rng(rng.randrange(2**32))
    if dtype in ("f32", "f16"):
        return np.asarray(source.standard_normal(shape) * 100).astype(NUMPY_DTYPES[dtype])
    low, high = (0, 2) if dtype in ("bool", "u8") else (-100, 100)
    return np.asarray(source.integers(low, high, shape)).astype(NUMPY_DTYPES[dtype])


def encoded(op: schema.Operator, arguments: dict[str, Any]) -> bytes:
    """The bytes of these attributes, whether their numbers are in range or not."""
    free = {a.name: arguments.pop(a.name) for a in op.attributes if a.range and a.name in arguments}
    return attributes.encode(op, attributes.complete(op, arguments) | free)


RANGED = [(op.name, a.name) for op in schema.operators().values() for a in op.attributes if a.range]


@pytest.mark.parametrize(("name", "attribute"), RANGED)
def test_a_number_outside_its_range_is_refused(name: str, attribute: str) -> None:
    op = schema.operator(name)
    least, most = op.attribute(attribute).range
    arguments: dict[str, Any] = {a.name: (2, 2) for a in op.attributes if a.name == "kernel_shape"}
    arguments |= {"tile": 2} if name == "conv_winograd" else {}
    arguments |= {"tile": 2, "stride": 1} if name == "pack_winograd" else {}
    arguments |= {"groups": 2, "columns": 8, "depths": (64,)} if name == "pack_panels" else {}
    arguments |= {"groups": 1, "merged": 1, "channels": 16} if name == "pack_merged" else {}
    weights = {"conv_winograd": [16, 16, 3, 3], "gemm": [16, 16], "mat_mul": [16, 16]}
    weights |= {key: [16, 1, 1, 1] for key in ("conv_depthwise", "conv_separable")}
    shapes = [[1, 16, 4, 16], weights.get(name, [16, 16, 1, 1])]
    if name == "add" or name.endswith(("max_pool", "average_pool")):
        shapes = shapes[:1] * op.input_counts[0]
    if name == "attention":
        shapes = [[16, 16]] * 3
    least_inputs = op.input_counts[0]
    if name.startswith("qlinear_conv"):
        if "depthwise" in name:
            shapes[1] = [16, 1, 1, 1]
        if "winograd" in name:
            shapes[1] = [16, 16, 3, 3]
        shapes += [[16]] * (least_inputs - 2)
    if op.prepares:
        winograd = [16, 16, 3, 3]
        packed = {"pack_winograd": winograd, "qlinear_pack_winograd": winograd}
        packed |= {"pack_panels": [16, 64], "pack_merged": [1, 16, 1, 1]}
        shapes = [packed.get(name, shapes[1])]
    recurrent = {
        "lstm": [[2, 3, 16], [16, 4], [3, 4], [3, 4]],
        "gru": [[2, 3, 12], [8, 4], [4, 4], [4], [3, 4]],
        "rnn": [[2, 3, 4], [4, 4], [3, 4]],
    }
    shapes = recurrent.get(name, shapes)
    types = ["f32"] * len(shapes)
    if name.startswith("qlinear"):
        types = ["i8", "i8", "i32", "f32"][: len(shapes)]
    operands = [(s, schema.DTYPES[t]) for s, t in zip(shapes, types, strict=True)]
    for value in (least, most):
        engine().infer_shapes(
            op.id, operands, encoded(op, arguments | {attribute: value}), len(op.outputs)
        )
    for value in (least - 1, most + 1, 2**31, 2**32 + least, 2**63 - 1, -(2**63)):
        with pytest.raises(EngineError, match="unsupported attribute value"):
            engine().infer_shapes(
                op.id, operands, encoded(op, arguments | {attribute: value}), len(op.outputs)
            )


@pytest.mark.parametrize("name", schema.operators())
def test_an_operator_survives_hostile_attributes_and_shapes(name: str) -> None:
    op, rng = schema.operator(name), random.Random(name)
    for _ in range(ROUNDS):
        shape = some_shape(rng)
        operands = some_operands(rng, op, shape)
        block = encoded(op, {a.name: some_value(rng, a, shape) for a in op.attributes})
        results = rng.randint(1, 4) if op.outputs[-1].variadic else 1
        typed = [None if o is None else (o[0], schema.DTYPES[o[1]]) for o in operands]
        try:
            inferred = engine().infer_shapes(op.id, typed, block, results)
            shapes = [o[0] for o in operands if o is not None] + [s for s, _ in inferred]
            if sum(math.prod(max(n, 1) for n in s) for s in shapes) > LARGEST_RUN:
                continue
            arrays = [
                None if o is None else (some_array(rng, *o), schema.DTYPES[o[1]]) for o in operands
            ]
            engine().run_operator(op.id, arrays, block, results)
        except EngineError as e:
            code, message = e.args
            assert code != 0
            assert message
