"""Operators with constant results: fills, ranges and shapes."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers.paddle_ops.node import PaddleNode, Results, handles


@handles("shape")
def shape(node: PaddleNode) -> Results:
    """The shape of the input, a constant."""
    return np.array(node.shape("Input"), np.int32)


@handles("fill_constant", "fill_constant_batch_size_like", "fill_any_like")
def fill(node: PaddleNode) -> Results:
    """A constant of one value; its shape may have one dimension of another tensor."""
    if node.type == "fill_any_like":
        x = node.operand()
        dims = list(x.shape)
        like = x.dtype.str if isinstance(x, np.ndarray) else "<f4"
        code = node.dtype("dtype", -1) if node.integer("dtype", -1) >= 0 else like
    else:
        dims = list(node.int_list("shape", "ShapeTensor", "ShapeTensorList"))
        code = node.dtype("dtype", 5)
    if node.type == "fill_constant_batch_size_like":
        source = node.shape("Input")
        dims[node.axis(node.integer("output_dim_idx", 0), len(dims))] = source[
            node.axis(node.integer("input_dim_idx", 0), len(source))
        ]
    node.check_elements(dims, np.dtype(code).itemsize)
    values = node.numbers("ValueTensor")
    text = node.text("str_value", "") if node.has_attribute("str_value") else ""
    value = values[0] if values else float(text) if text else node.real("value", 0.0)
    return np.full(dims, value, np.dtype(code))


@handles("assign_value")
def assign_value(node: PaddleNode) -> Results:
    """A constant whose values are an attribute."""
    dims, code = node.integers("shape"), node.dtype("dtype", 5)
    names = ("fp32_values", "int32_values", "int64_values", "bool_values", "fp64_values", "values")
    values = next((values for name in names if (values := node.reals(name))), ())
    if not values or len(values) != math.prod(dims):
        raise node.invalid(f"its values do not fill its shape {list(dims)}")
    return np.array(values, np.float64).astype(code).reshape(dims)


@handles("range")
def range_(node: PaddleNode) -> Results:
    """The constant sequence from start to end with a step."""
    start, end, step = (node.known(slot).reshape(-1)[0] for slot in ("Start", "End", "Step"))
    if step == 0:
        raise node.invalid("its step is 0")
    node.check_elements([max(0, math.ceil((end - start) / step))], start.itemsize)
    return np.arange(start, end, step, dtype=start.dtype)
