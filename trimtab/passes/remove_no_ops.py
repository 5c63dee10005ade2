"""Removes operators that compute the identity (reshape to the same shape, transpose that keeps the
order, padding by 0, multiplication by 1, a full slice, ...) and merges consecutive reshapes and
consecutive transposes.
"""

from __future__ import annotations

from collections.abc import Callable

from trimtab.passes._graph import Graph, is_one_of
from trimtab.passes._movement import keeps_shape, merge
from trimtab.program import Op, Program

ORDER = 200


def run(program: Program) -> None:
    """Repeats until nothing changes: a merge can create a no-op, and a removal can enable a
    merge.
    """
    graph = Graph(program)
    changed = True
    while changed:
        changed = False
        for op in graph.ops():
            if graph.alive(op) and (merge(graph, op) or _remove(graph, op)):
                changed = True


def _remove(graph: Graph, op: Op) -> bool:
    if not _is_identity(graph, op):
        return False
    x, y = graph.var(op.inputs[0]), graph.var(op.outputs[0])
    if not graph.have_same_shape(x.name, y.name) or x.quantization != y.quantization:
        return False
    return graph.bypass(op)


def _is_identity(graph: Graph, op: Op) -> bool:
    """True if every element is unchanged, provided that the shape is."""
    if op.schema.neutral is not None and len(op.inputs) > 1:
        return graph.scalar(op.inputs[1]) == op.schema.neutral
    if op.schema.kind == "reduction":
        x, axes = op.inputs[0], op.attributes["axes"]
        return all(graph.shape(x)[axis] == 1 for axis in axes) and graph.is_fixed(x, axes)
    if bounds := op.schema.bounds(op.attributes):
        return bounds == (float("-inf"), float("inf"))
    test = _TESTS.get(op.type)
    return test is not None and is_one_of(op, op.type) and test(graph, op)


def _always(graph: Graph, op: Op) -> bool:
    return True


def _at_any_size(graph: Graph, op: Op) -> bool:
    return not graph.is_free


def _single(graph: Graph, op: Op) -> bool:
    return len(op.inputs) == len(op.outputs) == 1


def _same_type(graph: Graph, op: Op) -> bool:
    return graph.var(op.inputs[0]).dtype == graph.var(op.outputs[0]).dtype


def _pads_nothing(graph: Graph, op: Op) -> bool:
    return not any(op.attributes["pads"])


def _takes_all(graph: Graph, op: Op) -> bool:
    return all(step == 1 for step in op.attributes["steps"])


def _resizes_nothing(graph: Graph, op: Op) -> bool:
    # The other coordinate modes shift or crop even at scale 1.
    modes = (
        "half_pixel",
        "half_pixel_symmetric",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
    )
    scales = op.attributes["scales"]
    unscaled = all(scale == 1 for scale in scales) and (bool(scales) or not graph.is_free)
    return unscaled and op.attributes["coordinate_mode"] in modes


def _one_group(graph: Graph, op: Op) -> bool:
    return op.attributes["group"] in (1, graph.shape(op.inputs[0])[1])


def _unit_block(graph: Graph, op: Op) -> bool:
    return bool(op.attributes["block_size"] == 1)


def _unit_window(graph: Graph, op: Op) -> bool:
    return all(n == 1 for n in op.attributes["kernel_shape"])


_TESTS: dict[str, Callable[[Graph, Op], bool]] = {
    "average_pool": _unit_window,
    "cast": _same_type,
    "channel_shuffle": _one_group,
    "concat": _single,
    "depth_to_space": _unit_block,
    "expand": _at_any_size,
    "max_pool": _unit_window,
    "pad": _pads_nothing,
    "reshape": _always,
    "resize": _resizes_nothing,
    "slice": _takes_all,
    "space_to_depth": _unit_block,
    "split": _single,
    "tile": _always,
    "transpose": keeps_shape,
}
