"""Element-wise operators with several operands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.importers._graph import Operand, Value
from trimtab.importers._layer import ImportedLayer

# Binary operators of the engine, and numpy's functions for constant operands.
_NUMPY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "max": np.maximum,
    "min": np.minimum,
    "pow": np.power,
    # Only for the computation of shapes; the engine has no such operators.
    "floor_div": np.floor_divide,
    "floor_mod": np.mod,
}


def binary(layer: ImportedLayer, op: str, a: Operand, b: Operand) -> Operand:
    """a op b; constant operands are folded, in the element type of a."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        layer.check_elements(np.broadcast_shapes(a.shape, b.shape))
        if op == "div" and a.dtype.kind != "f":
            op = "floor_div"
        return np.asarray(_NUMPY[op](a, b)).astype(a.dtype, copy=False)
    if op.startswith("floor_"):
        raise layer.unsupported("its operands must be constant")
    return layer.add(op, layer.value(a), layer.value(b))


def eltwise(
    layer: ImportedLayer, op: str, operands: Sequence[Value], coefficients: Sequence[float]
) -> Value:
    """Combines operands of the same shape with `op`, each scaled by its optional coefficient."""
    if any(x.shape != operands[0].shape for x in operands):
        shapes = ", ".join(str(list(x.shape)) for x in operands)
        raise layer.invalid(f"its inputs have different shapes: {shapes}")
    if coefficients:
        if len(coefficients) != len(operands):
            raise layer.invalid(f"{len(coefficients)} coefficients for {len(operands)} inputs")
        pairs = zip(operands, coefficients, strict=True)
        operands = [layer.scaled(x, factor) for x, factor in pairs]
    return layer.combined(op, operands)
