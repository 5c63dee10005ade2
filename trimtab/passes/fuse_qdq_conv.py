"""Convolutions and matrix products of quantized numbers become products of their integers.

real(x) real(w) = sx sw (x - zx) w, for weights without zero point. So the sums of x w, less zx
times the sums of the weights, are a result in units of sx sw; one factor per channel makes that
the result's. onnxruntime's QLinearConv and XNNPACK compute the same numbers, to the last one.

A result that nothing quantizes, as at the end of a detector, is those real numbers: nothing is
rounded to 8 bits that operators on real numbers, or the outside, read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.passes import _qdq as q
from trimtab.passes._graph import Graph
from trimtab.program import Op, Program, Var

ORDER = 450

# Functions that multiply what is below 0: kernels of products can, before they round.
SLOPED = frozenset(("leaky_relu", "prelu"))
_SUM = 2**31
_WINDOW = ("strides", "pads", "dilations", "group")


def run(program: Program) -> None:
    """What stands between integers and integers, with slopes and bounds on the result, or integers
    and real numbers.
    """
    graph = Graph(program)
    for op in graph.ops("conv", "gemm"):
        x = q.stored(graph, op.inputs[0])
        end = _end(graph, op)
        w = q.stored_constant(graph, op.inputs[1])
        if x is None or w is None or op.operand("residual"):
            continue
        operands = _operands(graph, op, x, w)
        if operands is None:
            continue
        weights, bias, units = operands
        constants: _Constants = {"weight": weights, "bias": bias, "scale": units}
        if end is not None:
            y = graph.var(end.last.outputs[0])
            factors = np.asarray(units / q.quantization(y)[0], np.float32)
            # Kernels multiply by slopes where no factor is 1 or more.
            if end.slopes is None or np.all(np.abs(factors) < 1):
                constants["scale"] = factors
                if end.slopes is not None:
                    constants["slope"] = end.slopes
                _replace(graph, op, x, end.last, constants, q.bounds(end.low, end.high, y))
                continue
        if gives_reals(program, op):
            _replace(graph, op, x, op, constants, {"to": "f32"})


def gives_reals(program: Program, op: Op) -> bool:
    """Whether a product's sums may leave it as real numbers: kernels of depthwise convolutions, of
    which few end a network, only round.
    """
    w = program.vars[op.inputs[1]].shape
    return op.type == "gemm" or not (op.attributes["group"] == w[0] and w[1] == 1)


@dataclass(frozen=True)
class _End:
    """How the results of a product become integers: those below 0 times `slopes`, one for each
    channel, if there are any, then bounds, then what quantizes them.
    """

    slopes: NDArray[np.float32] | None
    low: float
    high: float
    last: Op


def _end(graph: Graph, product: Op) -> _End | None:
    """That of the results of `product`, if nothing else reads them."""
    name = product.outputs[0]
    op, slopes = graph.sole_reader(name), None
    if op is not None and (slopes := slopes_of(graph.program, op, product)) is not None:
        name = op.outputs[0]
    found = q.bounded(graph, name)
    return _End(slopes, *found) if found else None


def slopes_of(program: Program, op: Op, product: Op) -> NDArray[np.float32] | None:
    """What a function of the results of `product` multiplies those below 0 by, for each channel;
    None where it does not, or by more than 1.
    """
    shape = program.vars[op.outputs[0]].shape
    axis = 1 if product.type == "conv" else len(shape) - 1
    slopes = np.array([op.attributes["alpha"]]) if op.type == "leaky_relu" else None
    if op.type == "prelu" and (data := program.vars[op.inputs[1]].data) is not None:
        along = data.reshape(*[1] * (len(shape) - data.ndim), *data.shape)
        slopes = data.ravel() if data.size == along.shape[axis] else None
    if slopes is None or not np.all(np.abs(slopes) <= 1):
        return None
    return np.broadcast_to(slopes, shape[axis]).astype(np.float32)


_Constants = dict[str, NDArray[Any]]  # by role
_Operands = tuple[NDArray[np.int8], NDArray[np.int32], NDArray[np.float32]]


def _operands(graph: Graph, op: Op, x: Var, w: Var) -> _Operands | None:
    """Weights, biases and the units of the sums; None where integers cannot express them."""
    assert w.data is not None
    assert w.quantization is not None
    if w.dtype != q.DTYPE or any(w.quantization.zero_point) or w.quantization.axis not in (None, 0):
        return None
    columns = w.shape[0]
    sx, zx = q.quantization(x)
    sw = np.broadcast_to(np.array(w.quantization.scale, np.float32), (columns,))
    units = sx * sw
    bias = _bias(graph, op.operand("bias"), units)
    if bias is None:
        return None
    weights = w.data.reshape(columns, -1).astype(np.int64)
    bias = bias - zx * weights.sum(axis=1)
    if np.any(np.abs(bias) + 128 * np.abs(weights).sum(axis=1) >= _SUM):
        return None
    data = w.data if w.data.ndim == 4 else w.data.reshape(*w.data.shape, 1, 1)
    return data, bias.astype(np.int32), units


def _bias(graph: Graph, name: str, units: NDArray[np.float32]) -> NDArray[np.int64] | None:
    """The bias in units of the products: as it is stored, or rounded."""
    if not name:
        return np.zeros(units.shape, np.int64)
    var = q.stored_constant(graph, name)
    if var is not None and var.data is not None and var.quantization is not None:
        scales = np.array(var.quantization.scale, np.float32)
        if not any(var.quantization.zero_point) and np.allclose(scales, units, 1e-6, 0):
            return var.data.astype(np.int64)
        real = var.quantization.real(var.data)
    else:
        constant = graph.constant(name)
        if constant is None:
            return None
        real = constant
    places = np.rint(real.astype(np.float64) / units)
    return places.astype(np.int64) if np.all(np.abs(places) < _SUM) else None


def _replace(
    graph: Graph,
    op: Op,
    x: Var,
    last: Op,
    constants: _Constants,
    result: dict[str, Any],
) -> None:
    """The integer operator takes the place of `last`, the product or what quantized its result;
    `result`: the attributes that say what becomes of sums.
    """
    block = graph.block
    names = [
        block.add_constant(np.ascontiguousarray(data), f"{op.name}.{role}")
        for role, data in constants.items()
    ]
    if op.type == "conv":
        values = {name: op.attributes[name] for name in _WINDOW} | result
        graph.substitute(last, "qlinear_conv", [x.name, *names], values)
        return
    rows, columns = x.count // x.shape[-1], len(constants["weight"])
    pixels = block.make_op("reshape", [x.name], {"shape": (rows, x.shape[-1], 1, 1)})
    product = block.make_op("qlinear_conv", [*pixels.outputs, *names], result, 1, op.name)
    y = graph.var(last.outputs[0])
    graph.var(product.outputs[0]).quantization = y.quantization
    assert graph.shape(product.outputs[0])[1] == columns
    graph.insert_before(last, pixels, product)
    graph.substitute(last, "reshape", product.outputs, {"shape": y.shape})
