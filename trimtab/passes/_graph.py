"""Queries and edits of a program's graph, for passes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.program import Op, Program, Var


class Graph:
    """A program's block with an index of producers and readers, which every edit updates.

    Edits go through this class. They remove dead code: an operator without readers is deleted.
    Iterate over `ops()`, a snapshot, and skip operators that are no longer `alive`.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.block = program.block
        self._index: tuple[dict[str, Op], dict[str, list[Op]]] | None = None

    def _changed(self) -> None:
        """Discards the index, which the next query makes anew."""
        self._index = None

    def _forget(self, op: Op) -> None:
        """Takes a removed operator out of the index."""
        if self._index is None:
            return
        producer, readers = self._index
        for name in op.outputs:
            if producer.get(name) is op:
                del producer[name]
        for name in op.inputs:
            readers[name] = [other for other in readers.get(name, ()) if other is not op]

    def _current(self) -> tuple[dict[str, Op], dict[str, list[Op]]]:
        if self._index is None:
            producer = {out: op for op in self.block.ops for out in op.outputs}
            readers: dict[str, list[Op]] = {}
            for op in self.block.ops:
                for name in dict.fromkeys(op.inputs):
                    readers.setdefault(name, []).append(op)
            self._index = producer, readers
        return self._index

    @property
    def _producer(self) -> dict[str, Op]:
        return self._current()[0]

    @property
    def _readers(self) -> dict[str, list[Op]]:
        return self._current()[1]

    def ops(self, *types: str) -> list[Op]:
        """A snapshot of the operators in order; only those of `types`, if any are given."""
        return [op for op in self.block.ops if not types or op.type in types]

    def alive(self, op: Op) -> bool:
        """True until an edit removes `op`."""
        return bool(op.outputs) and self._producer.get(op.outputs[0]) is op

    def var(self, name: str) -> Var:
        """The variable of that name."""
        return self.block.vars[name]

    def shape(self, name: str) -> tuple[int, ...]:
        """The logical shape of a variable."""
        return self.block.vars[name].shape

    def producer(self, name: str, *types: str) -> Op | None:
        """The operator that computes `name`; None if there is none, or it is not one of `types`."""
        op = self._producer.get(name)
        return op if op is not None and (not types or op.type in types) else None

    def readers(self, name: str) -> list[Op]:
        """The distinct operators that read `name`, in order."""
        return self._readers.get(name, [])

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
        at = self._position(op)
        self.block.ops[at : at + 1] = new
        self._changed()
        self._collect([*op.outputs, *op.inputs])

    def insert_after(self, op: Op | None, *new: Op) -> None:
        """Inserts `new` directly after `op`; at the beginning if `op` is None."""
        at = 0 if op is None else self._position(op) + 1
        self.block.ops[at:at] = new
        self._changed()

    def insert_before(self, op: Op, *new: Op) -> None:
        """Inserts `new` directly before `op`."""
        at = self._position(op)
        self.block.ops[at:at] = new
        self._changed()

    def remove(self, *ops: Op) -> None:
        """Removes operators, and the variables and operators that only they used."""
        removed = {id(op) for op in ops}
        self.block.ops[:] = [op for op in self.block.ops if id(op) not in removed]
        for op in ops:
            self._forget(op)
        self._collect([name for op in ops for name in (*op.outputs, *op.inputs)])

    def set_inputs(self, op: Op, inputs: Iterable[str]) -> None:
        """Replaces the operands of `op`."""
        before, op.inputs = op.inputs, list(inputs)
        if before == op.inputs:
            return
        self._changed()
        self._collect(before)

    def replace_uses(self, old: str, new: str, readers: Iterable[Op] | None = None) -> None:
        """Makes `readers` of `old` (default: all) read `new`."""
        for op in list(self.readers(old) if readers is None else readers):
            op.inputs = [new if name == old else name for name in op.inputs]
        self._changed()

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
            producer.outputs = [y if name == x else name for name in producer.outputs]
            self.replace_uses(x, y)
            self.remove(op)
            self._collect([x])
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
            elif not any(self.readers(o) or self.program.is_output(o) for o in producer.outputs):
                del self.block.ops[self._position(producer)]
                self._forget(producer)
                names += [*producer.outputs, *producer.inputs]
