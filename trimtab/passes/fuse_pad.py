"""A pad of height and width becomes the padding of the convolutions and pools that read it, if the
result is the same: zeros (the zero point, for int8), or any constant before a maximum.
"""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 520


def run(program: Program) -> None:
    """The pad disappears when its last reader has absorbed it."""
    graph = Graph(program)
    for pad in graph.ops("pad"):
        if len(graph.shape(pad.inputs[0])) != 4 or pad.attributes["mode"] != "constant":
            continue
        top_left, bottom_right = pad.attributes["pads"][:4], pad.attributes["pads"][4:]
        if any(top_left[:2]) or any(bottom_right[:2]) or min(pad.attributes["pads"]) < 0:
            continue
        amounts = (*top_left[2:], *bottom_right[2:])
        for op in list(graph.readers(pad.outputs[0])):
            if op.inputs[0] == pad.outputs[0] and _fits(graph, pad, op, amounts):
                _absorb(graph, pad, op, amounts)


def _fits(graph: Graph, pad: Op, op: Op, amounts: tuple[int, ...]) -> bool:
    value = pad.attributes["value"]
    if op.type == "conv":
        return bool(value == 0)
    if op.type == "qlinear_conv":
        quantization = graph.var(pad.inputs[0]).quantization
        return quantization is not None and quantization.zero_point == (value,)
    if op.type not in ("max_pool", "average_pool") or op.attributes["ceil_mode"]:
        return False  # ceil_mode counts windows from the padded end
    pads = _sum(op, amounts)
    window = op.attributes["kernel_shape"]
    if op.type == "max_pool":
        return not any(op.attributes["pads"]) or bool(value == op.attributes["pad_value"])
    if any(pads[i] >= window[i % 2] for i in range(4)):
        return False  # a window must not lie entirely in the padding
    counted = op.attributes["count_include_pad"] or not any(op.attributes["pads"])
    return bool(value == 0 and counted)


def _sum(op: Op, amounts: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(op.attributes["pads"], amounts, strict=True))


def _absorb(graph: Graph, pad: Op, op: Op, amounts: tuple[int, ...]) -> None:
    op.attributes["pads"] = _sum(op, amounts)
    if op.type == "average_pool":
        op.attributes["count_include_pad"] = True
    if op.type == "max_pool":
        op.attributes["pad_value"] = pad.attributes["value"]
    graph.set_inputs(op, [pad.inputs[0], *op.inputs[1:]])
