"""Queries and edits of a program's graph, for passes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.program import Op, Program, Var, sizes


def is_one_of(op: Op, *types: str) -> bool:
    """Whether an operator is one of `types`, and its sizes are attributes: a pass that reads or
    writes these knows no sizes of free dimensions, or that depend on data.
    """
    return op.type in types and op.size_source == "attributes"


class Graph:
    """A program's block with an index of producers and readers, which every edit updates.

    Edits go through this class. They remove dead code: an operator without readers is deleted.
    Iterate over `ops()`, a snapshot, and skip operators that are no longer `alive`.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.block = program.block
        self._index: tuple[dict[str, Op], dict[str, list[Op]]] | None = None
        # Variables whose readers the index has out of order, and the order of operators: by
        # id(op), empty if an edit has changed it.
        self._unordered: set[str] = set()
        self._places: dict[int, int] = {}
        self._smallest: dict[str, tuple[int, ...]] = {}

    @cached_property
    def is_free(self) -> bool:
        """See `Program.is_free`."""
        return self.program.is_free

    def _current(self) -> tuple[dict[str, Op], dict[str, list[Op]]]:
        if self._index is None:
            producer: dict[str, Op] = {}
            readers: dict[str, list[Op]] = {}
            self._index = producer, readers
            for op in self.block.ops:
                for name in op.outputs:
                    producer[name] = op
                for name in op.inputs:
                    of_name = readers.setdefault(name, [])
                    if not of_name or of_name[-1] is not op:
                        of_name.append(op)
        return self._index

    @property
    def _producer(self) -> dict[str, Op]:
        return self._current()[0]

    @property
    def _readers(self) -> dict[str, list[Op]]:
        return self._current()[1]

    def _link(self, op: Op) -> None:
        """Adds an operator of the block to the index."""
        if self._index is None:
            return
        producer, readers = self._index
        for name in op.outputs:
            producer[name] = op
        for name in op.inputs:
            of_name = readers.setdefault(name, [])
            if of_name and not any(other is op for other in of_name):
                self._unordered.add(name)
                of_name.append(op)
            elif not of_name:
                of_name.append(op)

    def _unlink(self, op: Op) -> None:
        """Takes an operator out of the index."""
        if self._index is None:
            return
        producer, readers = self._index
        for name in op.outputs:
            if producer.get(name) is op:
                del producer[name]
        for name in op.inputs:
            readers[name] = [other for other in readers.get(name, ()) if other is not op]

    def _place(self, op: Op) -> int:
        """The place of an operator of the block in the order of execution."""
        if not self._places:
            self._places = {id(other): i for i, other in enumerate(self.block.ops)}
        return self._places[id(op)]

    def ops(self, *types: str) -> list[Op]:
        """A snapshot of the operators in order; only those of `types`, if any are given, whose
        sizes are attributes.
        """
        return [op for op in self.block.ops if not types or is_one_of(op, *types)]

    def alive(self, op: Op) -> bool:
        """True until an edit removes `op`."""
        return bool(op.outputs) and self._producer.get(op.outputs[0]) is op

    def var(self, name: str) -> Var:
        """The variable of that name."""
        return self.block.vars[name]

    def shape(self, name: str) -> tuple[int, ...]:
        """The logical shape of a variable."""
        return self.block.vars[name].shape

    def is_fixed(self, name: str, axes: Iterable[int]) -> bool:
        """Whether these dimensions have their sizes in every run: the shape of a variable is the
        largest one, and a size of 1 may be 0 where it is free or depends on data.
        """
        largest, smallest = self.shape(name), self._smallest_shape(name)
        return all(largest[axis] == smallest[axis] for axis in axes)

    def have_same_shape(self, *names: str) -> bool:
        """Whether variables have the same shape in every run, not only the same largest one."""
        if len({self.shape(name) for name in names}) > 1:
            return False
        smallest = {self._smallest_shape(name) for name in names}
        return len({*names}) == 1 or (len(smallest) == 1 and sizes.UNKNOWN not in smallest.pop())

    def _smallest_shape(self, name: str) -> tuple[int, ...]:
        if not self.is_free:
            return self.shape(name)
        if name not in self._smallest:  # edits add variables, and change no shape
            self._smallest = sizes.smallest(self.program)
        return self._smallest[name]

    def producer(self, name: str, *types: str) -> Op | None:
        """The operator that computes `name`; None if there is none, or it is not one of `types` as
        `is_one_of` has it.
        """
        op = self._producer.get(name)
        return op if op is not None and (not types or is_one_of(op, *types)) else None

    def readers(self, name: str) -> list[Op]:
        """The distinct operators that read `name`, in order."""
        readers = self._readers.get(name, [])
        if name in self._unordered:
            readers.sort(key=self._place)
            self._unordered.remove(name)
        return readers

    def sole_reader(self, name: str) -> Op | None:
        """The only operator that reads `name`, if it reads it once and `name` is not an output."""
        readers = self.readers(name)
        if len(readers) != 1 or self.program.is_output(name):
            return None
        return readers[0] if readers[0].inputs.count(name) == 1 else None

    def constant(self, name: str) -> NDArray[Any] | None:
        """The elements of a constant, in its shape; None if `name` is not an unpacked constant."""
        var = self.block.vars.get(name)
        return var.data if var is not None and not var.packed else None

    def scalar(self, name: str) -> float | None:
        """The value of a constant whose elements are all equal; None for any other variable."""
        data = self.constant(name)
        if data is None or data.size == 0 or not np.all(data == data.flat[0]):
            return None
        return float(data.flat[0])

    def is_computed(self, name: str) -> bool:
        """True if an operator computes `name`."""
        return name in self._producer

    def replace(self, op: Op, *new: Op) -> None:
        """Replaces `op` by the operators `new`."""
        at, places = self._position(op), self._places
        self._unlink(op)
        self._insert(at, 1, new)
        if len(new) == 1 and id(op) in places:  # the order of the others is the same
            self._places = {**places, id(new[0]): places[id(op)]}
        self._collect([*op.outputs, *op.inputs])

    def insert_after(self, op: Op | None, *new: Op) -> None:
        """Inserts `new` directly after `op`; at the beginning if `op` is None."""
        self._insert(0 if op is None else self._position(op) + 1, 0, new)

    def insert_before(self, op: Op, *new: Op) -> None:
        """Inserts `new` directly before `op`."""
        self._insert(self._position(op), 0, new)

    def _insert(self, at: int, replaced: int, new: Sequence[Op]) -> None:
        self.block.ops[at : at + replaced] = new
        self._places = {}
        for op in new:
            self._link(op)

    def remove(self, *ops: Op) -> None:
        """Removes operators, and the variables and operators that only they used."""
        for op in ops:
            del self.block.ops[self._position(op)]
            self._unlink(op)
        self._collect([name for op in ops for name in (*op.outputs, *op.inputs)])

    def set_inputs(self, op: Op, inputs: Iterable[str]) -> None:
        """Replaces the operands of `op`."""
        before, after = op.inputs, list(inputs)
        if before == after:
            return
        self._reconnect(op, after, op.outputs)
        self._collect(list(before))

    def set_outputs(self, op: Op, outputs: Iterable[str]) -> None:
        """Replaces the names of the results of `op`, whose variables the caller has renamed."""
        self._reconnect(op, op.inputs, list(outputs))

    def _reconnect(self, op: Op, inputs: list[str], outputs: list[str]) -> None:
        """Replaces the operands and results of `op`, which may be yet to be inserted."""
        is_linked = self.alive(op)
        if is_linked:
            self._unlink(op)
        op.inputs, op.outputs = inputs, outputs
        if is_linked:
            self._link(op)

    def replace_uses(self, old: str, new: str, readers: Iterable[Op] | None = None) -> None:
        """Makes `readers` of `old` (default: all) read `new`."""
        for op in list(self.readers(old) if readers is None else readers):
            inputs = [new if name == old else name for name in op.inputs]
            self._reconnect(op, inputs, op.outputs)

    def substitute(
        self, op: Op, type: str, inputs: Iterable[str], attributes: dict[str, Any] | None = None
    ) -> Op:
        """Replaces `op` by another operator that computes its only result."""
        (out,) = op.outputs
        var = self.block.vars.pop(out)
        new = self.block.make_op(type, list(inputs), attributes, [out], op.name)
        assert self.block.vars[out].shape == var.shape, f"{op.name}: a pass changed the shape"
        self.block.vars[out].layout = var.layout
        self.block.vars[out].quantization = var.quantization
        self.replace(op, new)
        return new

    def view(self, name: str, dimensions: Sequence[int]) -> tuple[str, dict[str, Any]]:
        """Type and attributes of an operator that views `name` as a tensor of these of its
        dimensions (-1: a dimension of 1), where that moves no element.
        """
        if self.is_free:
            return "free_view", {"dimensions": tuple(dimensions)}
        shape = self.shape(name)
        return "reshape", {"shape": tuple(1 if i < 0 else shape[i] for i in dimensions)}

    def bypass(self, op: Op) -> bool:
        """Removes `op`, whose result equals its first input; False if an input of the graph would
        become an output.

        A graph output keeps its name: the input variable is renamed instead.
        """
        x, y = op.inputs[0], op.outputs[0]
        if self.program.is_output(y):
            if not self.is_computed(x) or self.program.is_output(x):
                return False
            producer = self._producer[x]
            del self.block.ops[self._position(op)]
            self._unlink(op)
            self.set_outputs(producer, [y if name == x else name for name in producer.outputs])
            self.replace_uses(x, y)
            self._collect([x, *op.inputs[1:]])
        else:
            self.replace_uses(y, x)
            self.remove(op)
        return True

    def _position(self, op: Op) -> int:
        return next(i for i, other in enumerate(self.block.ops) if other is op)

    def _collect(self, names: list[str]) -> None:
        """Deletes the unused variables among `names`, and operators without other results."""
        while names:
            name = names.pop()
            is_visible = name in self.program.inputs or self.program.is_output(name)
            if is_visible or self.readers(name):
                continue
            producer = self._producer.get(name)
            if producer is None:
                self.block.vars.pop(name, None)
            elif producer.schema.checks:
                continue
            elif not any(self.readers(o) or self.program.is_output(o) for o in producer.outputs):
                del self.block.ops[self._position(producer)]
                self._unlink(producer)
                names += [*producer.outputs, *producer.inputs]
