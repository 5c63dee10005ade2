"""Control flow and variables. A graph is repeated for each use, with tensors of its own.

The condition of an IF may be computed: both branches then run, and results and variables are
selected. That of a WHILE may be, too, if a bound is known during the import.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from trimtab.importers._graph import Operand, UnsupportedFormError, Value
from trimtab.importers.tflite_ops.forms import Results
from trimtab.importers.tflite_ops.node import TfliteNode, handles
from trimtab.importers.tflite_ops.variables import Variable, variable_name


@handles("VAR_HANDLE")
def var_handle(node: TfliteNode) -> Variable:
    """The handle of a variable."""
    return node.context.variables.named(variable_name(node.op))


@handles("READ_VARIABLE")
def read_variable(node: TfliteNode) -> Results:
    """The value of a variable: what the last run left, or the run itself. One that no run assigns
    is a constant.
    """
    variable = node.variable()
    if variable.value is None:
        variable.value = _begin(node, variable)
    return variable.value


def _begin(node: TfliteNode, variable: Variable) -> Operand:
    """The value of a variable at the begin of a run."""
    if variable.first is None:
        raise node.unsupported("its variable is read before it has a value")
    if not variable.is_assigned or node.context.variables.is_first:
        return variable.first
    if variable.state is None:
        variable.state = node.state(variable.first, variable.name)
    return variable.state


@handles("ASSIGN_VARIABLE")
def assign_variable(node: TfliteNode) -> Results:
    """Replaces the value of a variable; before the first run, by a constant."""
    variable = node.variable()
    if not node.context.variables.is_first:
        variable.value = node.numbers(1, "value") if node.is_known(1) else node.x(1)
        return ()
    first = node.numbers(1, "first value")
    variable.first = first.astype(np.float32) if first.dtype.kind == "f" else first
    return ()


@handles("CALL_ONCE")
def call_once(node: TfliteNode) -> Results:
    """A graph that gives variables their first values."""
    variables = node.context.variables
    if not variables.is_first:
        variables.is_first = True
        try:
            node.inline(node.options("CallOnceOptions").InitSubgraphIndex(), ())
        finally:
            variables.is_first = False
    return ()


@handles("STABLEHLO_COMPOSITE")
def composite(node: TfliteNode) -> tuple[Any, ...]:
    """An operator by the graph that defines it."""
    options = node.options("StableHLOCompositeOptions")
    return _forms(node, node.inline(options.DecompositionSubgraphIndex(), node.inputs))


@handles("IF")
def if_(node: TfliteNode) -> tuple[Any, ...]:
    """One of two graphs, or a selection from the results of both."""
    options = node.options("IfOptions")
    graphs, keys = (options.ThenSubgraphIndex(), options.ElseSubgraphIndex()), node.inputs[1:]
    if node.is_known(0):
        chosen = graphs[0] if node.known(0, "condition").reshape(-1)[0] else graphs[1]
        return _forms(node, node.inline(chosen, keys))
    variables = node.context.variables
    before, branches = variables.values(), []
    for graph in graphs:
        variables.set(before)
        branches.append((node.inline(graph, keys), variables.values()))
    condition = node.reshape(node.x(0), ())
    (then, if_true), (otherwise, if_false) = branches
    variables.set(_selected_variables(node, condition, if_true, if_false))
    return tuple(
        _selected(node, condition, _operand(node, a), _operand(node, b))
        for a, b in zip(then, otherwise, strict=True)
    )


@handles("WHILE")
def while_(node: TfliteNode) -> tuple[Any, ...]:
    """A graph that is repeated while another one returns true.

    Where the condition is computed, the loop goes on for the largest number of iterations, and the
    results are those of the first iteration after which it is false: what is computed behind it is
    not used.
    """
    options, variables = node.options("WhileOptions"), node.context.variables
    keys: Sequence[Hashable] = node.inputs
    ends: list[tuple[Value, Sequence[Hashable], dict[Variable, Operand | None]]] = []
    while True:
        with _bounded(node, bool(ends)):
            value = node.reading(node.inline(options.CondSubgraphIndex(), keys))
            if not value.is_known(0):
                ends.append((node.reshape(value.x(0), ()), keys, variables.values()))
            elif not value.known(0, "condition").reshape(-1)[0]:
                break
            keys = node.inline(options.BodySubgraphIndex(), keys)
    if not ends:
        return _forms(node, keys)
    results, values = [_operand(node, key) for key in keys], variables.values()
    for condition, keys, before in reversed(ends):
        pairs = zip(results, keys, strict=True)
        results = [_selected(node, condition, a, _operand(node, key)) for a, key in pairs]
        values = _selected_variables(node, condition, values, before)
    variables.set(values)
    return tuple(results)


@contextmanager
def _bounded(node: TfliteNode, is_computed: bool) -> Iterator[None]:
    """Tells why a loop has no end."""
    try:
        yield
    except UnsupportedFormError as error:
        if not is_computed:
            raise
        raise node.unsupported(f"its condition is computed, without a bound: {error}") from error


def _forms(node: TfliteNode, keys: Sequence[Hashable]) -> tuple[Any, ...]:
    return tuple(node.form(key) for key in keys)


def _operand(node: TfliteNode, key: Hashable) -> Operand | Variable:
    """A tensor of a graph, dequantized, or the handle of a variable."""
    form = node.form(key)
    if isinstance(form, Variable):
        return form
    reader = node.reading([key])
    return reader.numbers(0, "result") if reader.is_known(0) else reader.x(0)


def _selected(
    node: TfliteNode, condition: Value, a: Operand | Variable, b: Operand | Variable
) -> Operand | Variable:
    """a where the condition holds, else b."""
    if a is b:
        return a
    if isinstance(a, Variable) or isinstance(b, Variable):
        raise node.unsupported("its condition is computed, and selects a variable")
    if tuple(a.shape) != tuple(b.shape):
        raise node.unsupported(
            "its condition is computed, and its results have different shapes,"
            f" {list(a.shape)} and {list(b.shape)}"
        )
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b):
        return a
    return node.add("where", condition, node.value(a), node.value(b))


def _selected_variables(
    node: TfliteNode,
    condition: Value,
    a: Mapping[Variable, Operand | None],
    b: Mapping[Variable, Operand | None],
) -> dict[Variable, Operand | None]:
    """The values of variables after one of two ways; of one that only one way uses, its state."""
    result: dict[Variable, Operand | None] = {}
    for variable in {**a, **b}:
        one, other = a.get(variable), b.get(variable)
        if one is not other:
            one = _begin(node, variable) if one is None else one
            other = _begin(node, variable) if other is None else other
            selected = _selected(node, condition, one, other)
            assert not isinstance(selected, Variable)
            one = selected
        result[variable] = one
    return result
