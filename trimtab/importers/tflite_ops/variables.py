"""The variables of a model: states of the program, where a run reads what the one before left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from trimtab.errors import ImportModelError
from trimtab.importers._graph import Array, Operand, Value
from trimtab.importers.tflite_ops.model import TfliteGraph, TfliteModel, TfliteOperator, options
from trimtab.program import Program, states


class Walk(Protocol):
    """The import of a network."""

    program: Program
    path: str

    def operand(self, value: Operand, name: str) -> Value:
        """A value as a tensor of the program."""


@dataclass(eq=False)
class Variable:
    """A variable. `first`: its value before the first run; `state`: the program's tensor with its
    value at the begin of a run; `value`: that at the present place of the walk. None: not known, or
    not needed.
    """

    name: str
    is_assigned: bool
    first: Array | None = None
    state: Value | None = None
    value: Operand | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """A handle has no elements."""
        return ()


class Variables:
    """The variables of a model by name. `is_first`: the walk is in a graph that runs only once,
    before the first run.
    """

    def __init__(self, model: TfliteModel) -> None:
        self._assigned = _assigned(model)
        self._by_name: dict[str, Variable] = {}
        self.is_first = False

    def named(self, name: str) -> Variable:
        """The variable of that name."""
        if name not in self._by_name:
            assigned = self._assigned is None or name in self._assigned
            self._by_name[name] = Variable(name, assigned)
        return self._by_name[name]

    def values(self) -> dict[Variable, Operand | None]:
        """The present values."""
        return {variable: variable.value for variable in self._by_name.values()}

    def set(self, values: Mapping[Variable, Operand | None]) -> None:
        """Sets present values; that of a variable which is not among them becomes its state."""
        for variable in self._by_name.values():
            variable.value = values.get(variable, variable.state)

    def keep(self, walk: Walk) -> None:
        """Lets the states of a finished program take the values of their variables."""
        replaced: dict[str, str] = {}
        for variable in self._by_name.values():
            state, value = variable.state, variable.value
            if state is None or value is None or value is state:
                continue
            new = walk.operand(value, f"{variable.name}.value")
            if (new.shape, new.dtype) != (state.shape, state.dtype):
                raise ImportModelError(
                    f"the variable '{variable.name}' is {state.dtype}{list(state.shape)}, its next"
                    f" value {new.dtype}{list(new.shape)}",
                    where=walk.path,
                    hint="give shapes of inputs for which they are equal",
                )
            replaced[state.name] = new.name
        states.replace(walk.program, replaced)


def variable_name(op: TfliteOperator) -> str:
    """The name of the variable of a VAR_HANDLE."""
    table = options(op, "VarHandleOptions")
    if table is None:
        return ""
    parts = (table.Container() or b"", table.SharedName() or b"")
    return "/".join(part.decode("utf-8", errors="replace") for part in parts if part)


def _assigned(model: TfliteModel) -> set[str] | None:
    """The names of the variables that a run assigns; None if that cannot be told."""
    once = set[int]()
    for op in (op for graph in model.graphs for op in graph.operators):
        if table := options(op, "CallOnceOptions"):
            once.add(table.InitSubgraphIndex())
    result = set[str]()
    for number, graph in enumerate(model.graphs):
        names = [] if number in once else _assigned_in(graph)
        if None in names:
            return None
        result.update(name for name in names if name is not None)
    return result


def _assigned_in(graph: TfliteGraph) -> list[str | None]:
    """The names of the variables that a graph assigns; None: of one whose handle is an input."""
    handles = {op.outputs[0]: variable_name(op) for op in graph.operators if op.type == _HANDLE}
    written = [op.inputs[0] for op in graph.operators if op.type == "ASSIGN_VARIABLE"]
    return [handles.get(key) for key in written]


_HANDLE = "VAR_HANDLE"
