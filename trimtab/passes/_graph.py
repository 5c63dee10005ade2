"""What passes ask of a program, and the edits they make."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.program import Op, Program, Var


class Graph:
    """A program's block with an index of who makes and who reads what, kept right through edits.

    Every edit goes through this class and leaves no dead code behind: operators whose last reader
    went away go too. Iterate over `ops()`, a snapshot, and skip those that are no longer `alive`.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.block = program.block
        self._producer: dict[str, Op] = {}
        self._readers: dict[str, list[Op]] = {}
        self._index()

    def _index(self) -> None:
        self._producer = {out: op for op in self.block.ops for out in op.outputs}
        self._readers = {}
        for op in self.block.ops:
            for name in dict.fromkeys(op.inputs):
                self._readers.setdefault(name, []).append(op)

    def ops(self, *types: str) -> list[Op]:
        """A snapshot of the operators (of these types, if any are given) in order."""
        return [op for op in self.block.ops if not types or op.type in types]

    def alive(self, op: Op) -> bool:
        """Whether no edit has removed `op`."""
        return bool(op.outputs) and self._producer.get(op.outputs[0]) is op

    def var(self, name: str) -> Var:
        """The variable of that name."""
        return self.block.vars[name]

    def shape(self, name: str) -> tuple[int, ...]:
        """The logical shape of a variable."""
        return self.block.vars[name].shape

    def producer(self, name: str, *types: str) -> Op | None:
        """The operator that computes `name`, if it is of one of `types` (when any are given)."""
        op = self._producer.get(name)
        return op if op is not None and (not types or op.type in types) else None

    def readers(self, name: str) -> list[Op]:
        """The distinct operators that read `name`, in order."""
        return self._readers.get(name, [])

    def sole_reader(self, name: str) -> Op | None:
        """The one operator that reads `name`, once; None if others do or it leaves the program."""
        readers = self.readers(name)
        if len(readers) != 1 or self.program.is_output(name):
            return None
        return readers[0] if readers[0].inputs.count(name) == 1 else None

    def constant(self, name: str) -> NDArray[Any] | None:
        """The elements of a constant, in its shape; None for anything else."""
        var = self.block.vars.get(name)
        return var.data if var is not None and not var.packed else None

    def scalar(self, name: str) -> float | None:
        """The value of a constant whose elements are all one number; None for anything else."""
        data = self.constant(name)
        if data is None or data.size == 0 or not np.all(data == data.flat[0]):
            return None
        return float(data.flat[0])

    def is_computed(self, name: str) -> bool:
        """True when an operator computes `name`."""
        return name in self._producer

    def replace(self, op: Op, *new: Op) -> None:
        """Puts `new` at the place of `op`."""
        at = self._position(op)
        self.block.ops[at : at + 1] = new
        self._index()
        self._collect([*op.outputs, *op.inputs])

    def insert_after(self, op: Op | None, *new: Op) -> None:
        """Puts `new` right behind `op`, or first of all when it is None."""
        at = 0 if op is None else self._position(op) + 1
        self.block.ops[at:at] = new
        self._index()

    def insert_before(self, op: Op, *new: Op) -> None:
        """Puts `new` right before `op`."""
        at = self._position(op)
        self.block.ops[at:at] = new
        self._index()

    def remove(self, *ops: Op) -> None:
        """Removes operators, and what only they knew."""
        gone = {id(op) for op in ops}
        self.block.ops[:] = [op for op in self.block.ops if id(op) not in gone]
        self._index()
        self._collect([name for op in ops for name in (*op.outputs, *op.inputs)])

    def set_inputs(self, op: Op, inputs: Iterable[str]) -> None:
        """Lets `op` read other operands."""
        before, op.inputs = op.inputs, list(inputs)
        if before == op.inputs:
            return
        self._index()
        self._collect(before)

    def replace_uses(self, old: str, new: str, readers: Iterable[Op] | None = None) -> None:
        """Lets `readers` (by default all) of `old` read `new`."""
        for op in list(self.readers(old) if readers is None else readers):
            op.inputs = [new if name == old else name for name in op.inputs]
        self._index()

    def substitute(
        self, op: Op, type: str, inputs: Iterable[str], attributes: dict[str, Any] | None = None
    ) -> Op:
        """Replaces `op` by an operator that computes its only result in another way."""
        (out,) = op.outputs
        var = self.block.vars.pop(out)
        new = self.block.make_op(type, list(inputs), attributes, [out], op.name)
        assert self.block.vars[out].shape == var.shape, f"{op.name}: a pass changed the shape"
        self.block.vars[out].layout = var.layout
        self.block.vars[out].quantization = var.quantization
        self.replace(op, new)
        return new

    def bypass(self, op: Op) -> bool:
        """Removes `op`, whose result is its first input. False when the program's border needs it.

        A result that leaves the program keeps its name: the input is renamed instead.
        """
        x, y = op.inputs[0], op.outputs[0]
        if self.program.is_output(y):
            if not self.is_computed(x) or self.program.is_output(x):
                return False
            maker = self._producer[x]
            maker.outputs = [y if name == x else name for name in maker.outputs]
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
        """Drops those of `names` that are unused, with the operators that only they keep alive."""
        while names:
            name = names.pop()
            border = name in self.program.inputs or self.program.is_output(name)
            if border or self.readers(name):
                continue
            maker = self._producer.get(name)
            if maker is None:
                self.block.vars.pop(name, None)
            elif not any(self.readers(o) or self.program.is_output(o) for o in maker.outputs):
                del self.block.ops[self._position(maker)]
                self._index()
                names += [*maker.outputs, *maker.inputs]
