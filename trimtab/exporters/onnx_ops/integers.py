"""Arithmetic and bits of integers."""

from __future__ import annotations

from trimtab.exporters.onnx_ops.graph import OnnxGraph, emits, refusal
from trimtab.importers.onnx_ops.elementwise import BINARY, BITWISE
from trimtab.program import Op

_OPERATORS = {function: type for type, function in (BINARY | BITWISE).items()}
_OPERATORS |= {"floor_mod": "Mod", "remainder": "Mod"}
_OPERATORS |= {"shift_left": "BitShift", "shift_right": "BitShift"}


@emits("integer_arithmetic")
def integer_arithmetic(graph: OnnxGraph, op: Op) -> None:
    """Each function is an ONNX operator."""
    function = op.attributes["function"]
    more: dict[str, int | str] = {}
    if function == "remainder":
        more["fmod"] = 1
    elif function.startswith("shift_"):
        if graph.var(op.outputs[0]).dtype != "u8":
            raise refusal(op, "shifts signed integers")
        more["direction"] = function.removeprefix("shift_").upper()
    graph.node(_OPERATORS[function], op.inputs, op.outputs[0], **more)
