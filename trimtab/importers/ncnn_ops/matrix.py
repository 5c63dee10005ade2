"""InnerProduct, MatMul, Gemm, Einsum."""

from __future__ import annotations

import numpy as np

from trimtab.importers._graph import Operand, Value
from trimtab.importers._layer import Results
from trimtab.importers.ncnn_ops.layer import NcnnLayer, handles
from trimtab.importers.ncnn_ops.quantization import is_quantized, read
from trimtab.importers.vocabulary.einsum import einsum
from trimtab.importers.vocabulary.matrix import linear, transposed_matrix


@handles("InnerProduct")
def inner_product(layer: NcnnLayer) -> Results:
    """Fully connected layer over all elements, or over each row if its length matches the weights;
    float32 or int8 (int8_scale_term).
    """
    p, x = layer.param, layer.x()
    outputs, count = p.integer("num_output", 0), p.integer("weight_data_size", 0)
    if outputs < 1 or count % outputs:
        raise layer.invalid(f"it announces {count} weights for {outputs} outputs")
    length = count // outputs
    rows = len(x.shape) == 3 and x.shape[2] == length
    if not rows and x.count != length:
        raise layer.invalid(f"it has weights for {length} inputs, not {x.count}")
    weight: Operand
    int8 = None
    weight = layer.weights((outputs, length), "weights", int8=is_quantized(layer))
    bias = layer.raw_weights((outputs,), "bias") if p.integer("bias_term", 0) else None
    flat = x if rows else layer.reshape(x, (1, length))
    if is_quantized(layer):
        int8 = read(layer, weight)
        flat, weight = int8.rounded(layer, flat), int8.weight
    y = layer.activate(linear(layer, flat, weight, bias))
    return int8.result(layer, y) if int8 else y


@handles("MatMul")
def mat_mul(layer: NcnnLayer) -> Results:
    """numpy.matmul; a vector is a row on the left and a column on the right."""
    a, b = layer.x(0), layer.x(1)
    row, column = len(a.shape) == 2, len(b.shape) == 2
    a = layer.reshape(a, (1, 1, a.shape[1])) if row else a
    if column:
        b = layer.reshape(b, (1, b.shape[1], 1))
    elif layer.param.integer("transB", 0):
        b = transposed_matrix(layer, b)
    rank = max(len(a.shape), len(b.shape))
    a, b = (layer.reshape(v, (1, *[1] * (rank - len(v.shape)), *v.shape[1:])) for v in (a, b))
    y = layer.add("mat_mul", a, b)
    shape = [*y.shape[:-2], *(() if row else y.shape[-2:-1]), *(() if column else y.shape[-1:])]
    return layer.reshape(y, shape if len(shape) > 1 else (1, 1))


# Shape of the constant third operand by constant_broadcast_type_C; -1 is the full size.
_ROWS_AND_COLUMNS = {0: (1, 1), 1: (-1, 1), 2: (-1, 1), 3: (-1, -1), 4: (1, -1)}


@handles("Gemm")
def gemm(layer: NcnnLayer) -> Results:
    """alpha * (a b + beta * c); each operand is constant or computed, a and b may be transposed."""
    p = layer.param
    alpha, beta = p.real("alpha", 1.0), p.real("beta", 1.0)
    transposed = p.integer("transA", 0), p.integer("transB", 0)
    is_constant = [p.integer(f"constant{matrix}", 0) for matrix in "ABC"]
    m, n, k = (p.integer(f"constant{size}", 0) for size in "MNK")
    # Parameters of the memory layout of the result.
    for name in ("output_elempack", "output_elemtype", *(f"constant_TILE_{n}" for n in "MNK")):
        p.integer(name, 0)
    if p.integer("int8_scale_term", 0):
        raise layer.unsupported("its weights are quantized")
    if p.integer("output_N1M", 0):
        raise layer.unsupported("its result has an extra dimension (output_N1M)")
    shapes = ((k, m) if transposed[0] else (m, k)), ((n, k) if transposed[1] else (k, n))
    constants = [
        layer.weights(shape, "matrix") if flag else None
        for shape, flag in zip(shapes, is_constant, strict=False)
    ]
    computed = iter([layer.x(i) for i in range(len(layer.inputs))])
    a, b = (
        _matrix(layer, next(computed, None) if constant is None else constant, bool(flag))
        for constant, flag in zip(constants, transposed, strict=True)
    )
    kind = p.integer("constant_broadcast_type_C", 0)
    offset: Value | None = None
    if is_constant[2]:
        if kind not in (-1, *_ROWS_AND_COLUMNS):
            raise layer.invalid(f"its constant C is of the kind {kind}")
        if kind != -1:
            sizes = zip(_ROWS_AND_COLUMNS[kind], (m, n), strict=True)
            shape = tuple(size if mark == -1 else 1 for mark, size in sizes)
            offset = layer.constant(layer.weights(shape, "offsets") * np.float32(beta), "offset")
    elif (c := next(computed, None)) is not None:
        # A vector has one element per row.
        offset = layer.reshape(c, (1, c.shape[1], 1)) if len(c.shape) == 2 else c
        offset = layer.scaled(offset, beta)
    if isinstance(a, Value) and isinstance(b, np.ndarray):
        y = linear(layer, a, b.T)
    else:
        left, right = (layer.value(v if isinstance(v, Value) else v[np.newaxis]) for v in (a, b))
        y = layer.add("mat_mul", left, right)
    if offset is not None:
        y = layer.add("add", y, offset)
    y = layer.scaled(y, alpha)
    return transposed_matrix(layer, y) if p.integer("output_transpose", 0) else y


def _matrix(layer: NcnnLayer, matrix: Operand | None, transpose: bool) -> Operand:
    """An operand [1, rows, columns], or a constant [rows, columns]."""
    if matrix is None or len(matrix.shape) not in (2, 3):
        raise layer.unsupported("its operand is not a matrix")
    if isinstance(matrix, Value) and len(matrix.shape) == 2:
        matrix = layer.reshape(matrix, (1, 1, matrix.shape[1]))
    return transposed_matrix(layer, matrix) if transpose else matrix


@handles("Einsum")
def einstein(layer: NcnnLayer) -> Results:
    """Einstein summation; the equation is an array of character codes."""
    equation = "".join(chr(code) for code in layer.param.integers("equation") if 0 < code < 128)
    operands = [layer.reshape(x, x.shape[1:]) for x in layer.xs()]
    y = einsum(layer, equation, operands)
    return layer.reshape(y, (1, *(y.shape or (1,))))
