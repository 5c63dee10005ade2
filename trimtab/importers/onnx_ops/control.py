"""Control flow as the nodes of its bodies: Scan, Loop, and If with a computed condition.

The number of iterations, or the largest one, must be known during the import. A body is repeated
for each of them, with names of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from trimtab.importers._budget import MAX_EXPANDED
from trimtab.importers._graph import Array, Operand
from trimtab.importers._layer import is_known
from trimtab.importers.onnx_ops.counted import is_counted
from trimtab.importers.onnx_ops.node import OnnxNode
from trimtab.importers.onnx_ops.order import subgraphs

Nodes = list[onnx.NodeProto]


def expansion(
    node: OnnxNode, proto: onnx.NodeProto, values: Mapping[str, Operand]
) -> Iterator[Nodes]:
    """The nodes that compute a node with bodies, in groups: `values` must hold the results of one
    group before the next is asked for. No group: another node.
    """
    expand = _EXPANSIONS.get(node.type)
    if expand is not None:
        yield from expand(node, proto, values)


class _Names:
    """New names that begin with that of the node."""

    def __init__(self, node: OnnxNode) -> None:
        self._prefix, self._count = node.name, 0

    def new(self, role: str) -> str:
        """Another name."""
        self._count += 1
        return f"{self._prefix}.{role}.{self._count}"

    def node(
        self, op: str, inputs: Sequence[str], output: str, **attributes: Any
    ) -> onnx.NodeProto:
        """A node with one output and a new name."""
        return helper.make_node(op, inputs, [output], self.new(op), **attributes)

    def branch(
        self, op: str, inputs: Sequence[str], output: str, **attributes: Any
    ) -> onnx.NodeProto:
        """A node of this importer's own for a branch."""
        new = self.new(op)
        return helper.make_node(op, inputs, [output], new, domain="trimtab", **attributes)

    def constant(self, value: Array, output: str) -> onnx.NodeProto:
        """A Constant."""
        return self.node("Constant", (), output, value=numpy_helper.from_array(value))


def _body(
    names: _Names,
    graph: onnx.GraphProto,
    inputs: Sequence[str],
    outer: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Nodes, list[str]]:
    """The nodes of a body with new names, and its outputs; `inputs`: names of its arguments,
    `outer`: new names of values from outside.
    """
    renamed = {**outer, **dict(zip((info.name for info in graph.input), inputs, strict=True))}
    nodes = []
    for tensor in graph.initializer:
        renamed[tensor.name] = names.new(tensor.name)
        nodes.append(names.node("Constant", (), renamed[tensor.name], value=tensor))
    for inner in graph.node:
        renamed |= {name: names.new(name) for name in inner.output if name}
    for inner in graph.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(inner)
        copy.name = names.new(inner.name or inner.op_type)
        _rename(copy, renamed)
        nodes.append(copy)
    return nodes, [renamed.get(info.name, info.name) for info in graph.output]


def _rename(node: onnx.NodeProto, renamed: Mapping[str, str]) -> None:
    """Renames the values of a node, and those of its bodies that come from outside."""
    for listed in (node.input, node.output):
        listed[:] = [renamed.get(name, name) for name in listed]
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                _rename(inner, renamed)
            for info in graph.output:
                info.name = renamed.get(info.name, info.name)


def _check_length(node: OnnxNode, body: onnx.GraphProto, iterations: int, done: int = 0) -> None:
    """Refuses iterations for which the import has no nodes left, before the first of them."""
    if not node.can_expand((iterations - done) * max(1, len(body.node))):
        raise node.unsupported(
            f"it would expand to {iterations} times {len(body.node)} nodes, the limit for all loops"
            f" is {MAX_EXPANDED:,}"
        )


def _identity(names: _Names, old: str, new: str) -> Nodes:
    return [names.node("Identity", [old], new)] if new else []


def _stacked(
    node: OnnxNode, names: _Names, parts: Sequence[str], axis: int, rank: int, output: str
) -> Nodes:
    """The nodes that stack `parts` along a new axis of a result of `rank` dimensions."""
    axis = node.axis(axis, rank)
    nodes, lifted = [], []
    for part in parts:
        lifted.append(names.new("slice"))
        if node.opset < 13:
            nodes.append(names.node("Unsqueeze", [part], lifted[-1], axes=[axis]))
        else:
            axes = names.new("axes")
            nodes.append(names.constant(np.array([axis]), axes))
            nodes.append(names.node("Unsqueeze", [part, axes], lifted[-1]))
    return [*nodes, names.node("Concat", lifted, output, axis=axis)]


def _scan(node: OnnxNode, proto: onnx.NodeProto, values: Mapping[str, Operand]) -> Iterator[Nodes]:
    """Repeats the body for the slices of the last `num_scan_inputs` inputs."""
    if node.opset < 9:
        raise node.unsupported("it is a Scan of opset 8: convert the model to a newer opset")
    body: onnx.GraphProto = node.attribute("body")
    count, names = node.integer("num_scan_inputs"), _Names(node)
    if not 0 < count <= len(proto.input):
        raise node.invalid(f"{count} of its {len(proto.input)} inputs are scanned")
    states, scanned = [*proto.input[:-count]], [*proto.input[-count:]]
    outputs = len(body.output) - len(states)
    axes = node.integers("scan_input_axes") or (0,) * count
    directions = node.integers("scan_input_directions") or (0,) * count
    output_axes = node.integers("scan_output_axes") or (0,) * outputs
    output_directions = node.integers("scan_output_directions") or (0,) * outputs
    axes = tuple(
        node.axis(axis, len(values[name].shape)) for name, axis in zip(scanned, axes, strict=True)
    )
    lengths = {values[name].shape[axis] for name, axis in zip(scanned, axes, strict=True)}
    if len(lengths) != 1 or 0 in lengths:
        raise node.unsupported(f"its scanned inputs have {sorted(lengths)} slices")
    (length,) = lengths
    _check_length(node, body, length)
    collected: list[list[str]] = [[] for _ in range(outputs)]
    for step in range(length):
        nodes, slices = [], []
        for name, axis, backward in zip(scanned, axes, directions, strict=True):
            index, part = names.new("index"), names.new("slice")
            nodes.append(names.constant(np.array(length - 1 - step if backward else step), index))
            nodes.append(names.node("Gather", [name, index], part, axis=axis))
            slices.append(part)
        inner, results = _body(names, body, [*states, *slices])
        yield [*nodes, *inner]
        states = results[: len(states)]
        for parts, name in zip(collected, results[len(states) :], strict=True):
            parts.append(name)
    for old, new in zip(states, proto.output, strict=False):
        yield _identity(names, old, new)
    stacks = zip(collected, output_axes, output_directions, strict=True)
    for (parts, axis, backward), output in zip(stacks, proto.output[len(states) :], strict=False):
        rank = _rank(node, parts[0], values) + 1
        ordered = parts[::-1] if backward else parts
        yield _stacked(node, names, ordered, axis, rank, output) if output else []


def _rank(node: OnnxNode, name: str, values: Mapping[str, Operand]) -> int:
    if name not in values:
        raise node.unsupported("its body has unsupported nodes")
    return len(values[name].shape)


def _loop(node: OnnxNode, proto: onnx.NodeProto, values: Mapping[str, Operand]) -> Iterator[Nodes]:
    """Repeats the body for a constant trip count, or until its condition is the constant False.

    Where the condition or the trip count is computed, the largest trip count is the bound: the
    results are those of the last iteration, and what is computed behind that one is not used.
    """
    body: onnx.GraphProto = node.attribute("body")
    names, states = _Names(node), [*proto.input[2:]]
    limit = _largest_trip_count(node) if node.has(0) else None
    is_computed = node.has(0) and not node.is_known(0)
    ends: list[tuple[str, list[str]]] = []
    goes_on = not node.has(1) or _goes_on(node, proto.input[1], values, limit)
    if node.has(1) and not is_known(values[proto.input[1]]):
        ends.append((proto.input[1], states))
    collected: list[list[str]] = [[] for _ in range(len(body.output) - 1 - len(states))]
    step = 0
    if limit is not None and goes_on:
        _check_length(node, body, limit)
    while goes_on and (limit is None or step < limit):
        if limit is None:
            _check_length(node, body, step + 1, step)
        number, condition = names.new("iteration"), names.new("condition")
        nodes = [names.constant(np.array(step), number), names.constant(np.array(True), condition)]
        if is_computed:
            ends.append((names.new("is_within"), states))
            nodes.append(names.node("Less", [number, proto.input[0]], ends[-1][0]))
        inner, (again, *results) = _body(names, body, [number, condition, *states])
        yield [*nodes, *inner]
        goes_on = _goes_on(node, again, values, limit)
        states = results[: len(states)]
        if not is_known(values[again]):
            ends.append((again, states))
        for parts, name in zip(collected, results[len(states) :], strict=True):
            parts.append(name)
        step += 1
    if ends and any(proto.output[len(states) :]):
        raise node.unsupported("its last iteration is computed, and so the length of its results")
    selected = _selected(node, names, states, ends, values)
    for (state, nodes), output in zip(selected, proto.output, strict=False):
        yield [*nodes, *_identity(names, state, output)]
    for parts, output in zip(collected, proto.output[len(states) :], strict=False):
        if output and not parts:
            raise node.unsupported("it has no iteration, and the results of none are read")
        if output:
            rank = _rank(node, parts[0], values) + 1
            yield _stacked(node, names, parts, 0, rank, output)


def _largest_trip_count(node: OnnxNode) -> int:
    bound = node.bound(0)
    if bound is None:
        raise node.unsupported("its trip count is computed, and has no constant bound, as of a Min")
    return max(0, int(bound))


def _goes_on(node: OnnxNode, name: str, values: Mapping[str, Operand], limit: int | None) -> bool:
    """Whether a loop has another iteration; True if its condition is computed."""
    value = values.get(name)
    if value is None:
        raise node.unsupported("its body has unsupported nodes")
    if isinstance(value, np.ndarray):
        return bool(value.reshape(()))
    if limit is None:
        raise node.unsupported("its condition is computed, and it has no trip count")
    return True


def _selected(
    node: OnnxNode,
    names: _Names,
    states: Sequence[str],
    ends: Sequence[tuple[str, Sequence[str]]],
    values: Mapping[str, Operand],
) -> Iterator[tuple[str, Nodes]]:
    """The name of each state after the last iteration that counts, and the nodes that select it."""
    conditions, nodes = [], []
    for condition, _ in ends:
        shape, scalar = names.new("shape"), names.new("condition")
        nodes.append(names.constant(np.zeros(0, np.int64), shape))
        nodes.append(names.node("Reshape", [condition, shape], scalar))
        conditions.append(scalar)
    for i, state in enumerate(states):
        result = state
        for scalar, (_, before) in zip(reversed(conditions), reversed(ends), strict=True):
            if tuple(values[before[i]].shape) != tuple(values[state].shape):
                raise node.unsupported(
                    "its last iteration is computed, and its states change shape"
                )
            if before[i] != result:
                selected = names.new("selected")
                nodes.append(names.node("Where", [scalar, result, before[i]], selected))
                result = selected
        yield result, nodes
        nodes = []


def _if(node: OnnxNode, proto: onnx.NodeProto, values: Mapping[str, Operand]) -> Iterator[Nodes]:
    """Computes both branches and selects one result; if a branch reads values whose sizes depend on
    data, which may be empty, only the one that the condition chooses is computed.
    """
    names, condition = _Names(node), proto.input[0]
    read = [_read(node.attribute(name)) for name in ("then_branch", "else_branch")]
    chooses = any(is_counted(values.get(name)) for name in (*read[0], *read[1]))
    branches = []
    for branch, when, outer in zip(("then_branch", "else_branch"), (1, 0), read, strict=True):
        gates, renamed = [], {}
        for name in outer if chooses else ():
            if name in values and not is_known(values[name]):
                renamed[name] = names.new(name)
                inputs = [name, condition]
                gates.append(names.branch("BranchInput", inputs, renamed[name], when=when))
        nodes, results = _body(names, node.attribute(branch), (), renamed)
        yield [*gates, *nodes]
        branches.append(results)
    for first, second, output in zip(*branches, proto.output, strict=True):
        one, other = values.get(first), values.get(second)
        if one is None or other is None:
            raise node.unsupported("its branches have unsupported nodes")
        if not output:
            continue
        if chooses or tuple(one.shape) != tuple(other.shape):
            yield [names.branch("BranchResult", [first, second, condition], output)]
        else:
            scalar = names.new("condition")
            yield _reshaped_scalar(names, condition, scalar)
            yield [names.node("Where", [scalar, first, second], output)]


def _reshaped_scalar(names: _Names, condition: str, scalar: str) -> Nodes:
    shape, none = names.new("shape"), np.zeros(0, np.int64)
    return [names.constant(none, shape), names.node("Reshape", [condition, shape], scalar)]


def _read(graph: onnx.GraphProto) -> list[str]:
    """The values from outside that a body reads, or returns."""
    own = {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
    own |= {tensor.values.name for tensor in graph.sparse_initializer}
    own |= {name for inner in graph.node for name in inner.output}
    read = [name for inner in graph.node for name in inner.input]
    for inner in subgraphs(graph.node):
        read += _read(inner)
    read += [info.name for info in graph.output]
    return [name for name in dict.fromkeys(read) if name and name not in own]


_EXPANSIONS: Mapping[
    str, Callable[[OnnxNode, onnx.NodeProto, Mapping[str, Operand]], Iterator[Nodes]]
] = {"Scan": _scan, "Loop": _loop, "If": _if}
