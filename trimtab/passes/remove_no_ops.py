"""Removes operators that change nothing, and joins movements that follow each other."""

from __future__ import annotations

import math
from collections.abc import Callable

from trimtab.passes._graph import Graph
from trimtab.passes._movement import join, keeps_order
from trimtab.program import Op, Program

ORDER = 200


def run(program: Program) -> None:
    """Joining can leave a no-op and removing one can bring two together, hence the repetition."""
    graph = Graph(program)
    changed = True
    while changed:
        changed = False
        for op in graph.ops():
            if graph.alive(op) and (join(graph, op) or _remove(graph, op)):
                changed = True


def _remove(graph: Graph, op: Op) -> bool:
    test = _TESTS.get(op.type)
    if test is None or not test(graph, op):
        return False
    x, y = graph.var(op.inputs[0]), graph.var(op.outputs[0])
    if x.shape != y.shape or x.quantization != y.quantization:
        return False
    return graph.bypass(op)


def _always(graph: Graph, op: Op) -> bool:
    return True  # the shape, which `_remove` compares, decides


def _single(graph: Graph, op: Op) -> bool:
    return len(op.inputs) == len(op.outputs) == 1


def _same_type(graph: Graph, op: Op) -> bool:
    return graph.var(op.inputs[0]).dtype == graph.var(op.outputs[0]).dtype


def _pads_nothing(graph: Graph, op: Op) -> bool:
    return not any(op.attributes["pads"])


def _takes_all(graph: Graph, op: Op) -> bool:
    return all(step == 1 for step in op.attributes["steps"])


def _samples_itself(graph: Graph, op: Op) -> bool:
    # These coordinate modes shift by half a pixel or crop even at scale 1.
    modes = (
        "half_pixel",
        "half_pixel_symmetric",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
    )
    unscaled = all(scale == 1 for scale in op.attributes["scales"])
    return unscaled and op.attributes["coordinate_mode"] in modes


def _one_group(graph: Graph, op: Op) -> bool:
    return op.attributes["group"] in (1, graph.shape(op.inputs[0])[1])


def _unit_block(graph: Graph, op: Op) -> bool:
    return bool(op.attributes["block_size"] == 1)


def _unit_window(graph: Graph, op: Op) -> bool:
    return all(n == 1 for n in op.attributes["kernel_shape"])


def _unbounded(graph: Graph, op: Op) -> bool:
    return bool(op.attributes["alpha"] == -math.inf and op.attributes["beta"] == math.inf)


def _right_is(neutral: float) -> Callable[[Graph, Op], bool]:
    return lambda graph, op: graph.scalar(op.inputs[1]) == neutral


def _reduces_nothing(graph: Graph, op: Op) -> bool:
    shape = graph.shape(op.inputs[0])
    return all(shape[axis] == 1 for axis in op.attributes["axes"])


_TESTS: dict[str, Callable[[Graph, Op], bool]] = {
    "add": _right_is(0),
    "average_pool": _unit_window,
    "cast": _same_type,
    "channel_shuffle": _one_group,
    "clip": _unbounded,
    "concat": _single,
    "depth_to_space": _unit_block,
    "div": _right_is(1),
    "expand": _always,
    "max_pool": _unit_window,
    "mul": _right_is(1),
    "pad": _pads_nothing,
    "pow": _right_is(1),
    "reduce_max": _reduces_nothing,
    "reduce_mean": _reduces_nothing,
    "reduce_min": _reduces_nothing,
    "reduce_sum": _reduces_nothing,
    "reshape": _always,
    "resize": _samples_itself,
    "slice": _takes_all,
    "space_to_depth": _unit_block,
    "split": _single,
    "sub": _right_is(0),
    "tile": _always,
    "transpose": keeps_order,
}
