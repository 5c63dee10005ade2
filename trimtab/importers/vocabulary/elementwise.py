"""Functions of several operands, element by element."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.importers._graph import Operand, Value
from trimtab.importers._layer import ImportedLayer

# The engine's operators of two operands, and what numpy has for what is known.
_KNOWN = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "max": np.maximum,
    "min": np.minimum,
    "pow": np.power,
    # These occur where shapes are computed; the engine lacks them.
    "floor_div": np.floor_divide,
    "floor_mod": np.mod,
}


def binary(layer: ImportedLayer, op: str, a: Operand, b: Operand) -> Operand:
    """a op b; of what is known, in the element type of a."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        layer.check_elements(np.broadcast_shapes(a.shape, b.shape))
        if op == "div" and a.dtype.kind != "f":
            op = "floor_div"
        return np.asarray(_KNOWN[op](a, b)).astype(a.dtype, copy=False)
    if op.startswith("floor_"):
        raise layer.unsupported("its operands must be constant")
    return layer.add(op, layer.value(a), layer.value(b))


def of_one_shape(
    layer: ImportedLayer, op: str, operands: Sequence[Value], coefficients: Sequence[float]
) -> Value:
    """`op` over operands of one shape, each times its coefficient when there are some."""
    if any(x.shape != operands[0].shape for x in operands):
        shapes = ", ".join(str(list(x.shape)) for x in operands)
        raise layer.invalid(f"its inputs differ in shape: {shapes}")
    if coefficients:
        if len(coefficients) != len(operands):
            raise layer.invalid(f"{len(coefficients)} coefficients for {len(operands)} inputs")
        pairs = zip(operands, coefficients, strict=True)
        operands = [layer.scaled(x, factor) for x, factor in pairs]
    return layer.combined(op, operands)
