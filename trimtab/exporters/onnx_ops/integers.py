"""Arithmetic and bits of integers."""

from __future__ import annotations

from trimtab.exporters.onnx_ops.graph import OnnxGraph, emits, refusal
from trimtab.program import Op

_OPERATORS = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "div": "Div",
    "pow": "Pow",
    "floor_mod": "Mod",
    "remainder": "Mod",
    "bit_and": "BitwiseAnd",
    "bit_or": "BitwiseOr",
    "bit_xor": "BitwiseXor",
    "shift_left": "BitShift",
    "shift_right": "BitShift",
}


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
