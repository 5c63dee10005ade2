"""One program from those of a network at several sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trimtab import schema
from trimtab.errors import UnsupportedOperatorError
from trimtab.importers.free_dimensions import forms
from trimtab.importers.free_dimensions.bounds import FreeDimensions, Point
from trimtab.importers.free_dimensions.forms import FixedSizeError, FreeForm, Occurrence
from trimtab.importers.free_dimensions.terms import SizeTerm, TermFit
from trimtab.program import ImportedLayerFacts, Op, Program

_SIZES = "free_dimensions"


class _ProgramWalk:
    """The program at one point, during a walk along the operators of the first program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.names = dict(zip(program.inputs, program.inputs, strict=True))
        self._next = 0

    def take(self, op: Op) -> Op | None:
        """The operator that computes the same as `op`; None if it moves nothing at this size, and
        the network does not have it.
        """
        ops = self.program.ops
        other = ops[self._next] if self._next < len(ops) else None
        if other is not None and self._corresponds(op, other):
            self._next += 1
            self.names.update(zip(op.outputs, other.outputs, strict=True))
            return other
        if op.schema.kind != "movement" or op.inputs[0] not in self.names:
            raise FixedSizeError("another operator has its place")
        self.names[op.outputs[0]] = self.names[op.inputs[0]]
        return None

    def _corresponds(self, op: Op, other: Op) -> bool:
        return (
            op.type == other.type
            and len(op.outputs) == len(other.outputs)
            and len(op.inputs) == len(other.inputs)
            and all(
                self.names[name] == twin if name in self.names else self._is_constant(twin)
                for name, twin in zip(op.inputs, other.inputs, strict=True)
            )
        )

    def _is_constant(self, name: str) -> bool:
        return not name or self.program.vars[name].data is not None

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape here of a tensor of the first program."""
        return self.program.vars[self.names[name]].shape


class Merge:
    """The program for all points: that of the first point, whose sizes follow the others."""

    def __init__(
        self, free: FreeDimensions, programs: Mapping[Point, Program], fit: TermFit, where: str
    ) -> None:
        self._free, self._fit, self._where = free, fit, where
        self._base = next(iter(programs.values()))
        self._walks = {point: _ProgramWalk(program) for point, program in programs.items()}
        self._constants: dict[tuple[str, ...], str] = {}

    def run(self) -> Program:
        """The program; UnsupportedOperatorError lists operators that cannot follow the sizes."""
        program = self._base.copy()
        block = program.block
        sizes = block.make_op(
            "free_sizes", self._free.inputs, self._free.attributes(), [block.new_name(_SIZES)]
        )
        self._sizes, refused = sizes.outputs[0], []
        ops, block.ops, starts = block.ops, [sizes], [0]
        for op in ops:
            starts[-1] = len(block.ops)
            try:
                self._add(program, op)
            except FixedSizeError as error:
                refused.append(f"{op.type} {op.name!r}: {error}")
                block.ops.append(op)
                if len(refused) == 1 and error.ends:
                    break
            starts.append(len(block.ops))
        if refused:
            self._refuse(refused)
        program.layers = tuple(
            ImportedLayerFacts(
                layer.title,
                range(starts[layer.operators.start], starts[layer.operators.stop]),
                layer.refused,
                layer.checked,
            )
            for layer in self._base.layers
        )
        return program

    def _refuse(self, refused: Sequence[str]) -> None:
        many = f"{len(refused)} operators do" if len(refused) > 1 else "an operator does"
        raise UnsupportedOperatorError(
            "\n  ".join([f"{many} not follow the free dimensions:", *refused]),
            where=self._where,
            hint="give these dimensions fixed sizes, or bounds in steps, such as 64..640/32"
            " (docs/free-dimensions.md)",
        )

    def shapes(self, point: Point) -> dict[str, tuple[int, ...]]:
        """The shapes of all tensors at a point; none if the network was not imported there."""
        twin = self._walks.get(point)
        return {name: twin.shape(name) for name in twin.names} if twin else {}

    def _add(self, program: Program, op: Op) -> None:
        """Appends `op` in its free form to the operators of `program`."""
        try:
            others = [twin.take(op) for twin in self._walks.values()]
        except FixedSizeError as error:
            raise FixedSizeError(str(error), ends=True) from None
        inputs = [
            self._constant(program, op, index, others)
            if name and name not in self._computed
            else name
            for index, name in enumerate(op.inputs)
        ]
        values = [other.attributes if other else None for other in others]
        if all(value is None or value == op.attributes for value in values):
            if inputs != op.inputs:
                op.inputs = inputs
            program.block.ops.append(op)
            return
        shapes = [[twin.shape(name) for twin in self._walks.values()] for name in self._movers(op)]
        form = forms.form(Occurrence(op, values, *shapes), self._fit)
        self._replace(program, op, form, inputs)

    @property
    def _computed(self) -> Mapping[str, str]:
        return next(iter(self._walks.values())).names

    def _movers(self, op: Op) -> tuple[str, str]:
        if op.inputs[0] not in self._computed:
            raise FixedSizeError("its operand is constant")
        return op.inputs[0], op.outputs[0]

    def _replace(self, program: Program, op: Op, form: FreeForm, inputs: Sequence[str]) -> None:
        block = program.block
        operands = self._sized(form, inputs) if form.terms else inputs
        before = {name: block.vars.pop(name) for name in op.outputs}
        new = block.make_op(form.type, operands, form.values, op.outputs, op.name)
        for name, var in before.items():
            block.vars[name].quantization = var.quantization
        block.ops.append(new)

    def _sized(self, form: FreeForm, inputs: Sequence[str]) -> list[str]:
        """The operands of an operator whose sizes follow the free dimensions."""
        place = schema.operator(form.type).size_ports["terms"]
        return [*inputs, *[""] * (place - len(inputs)), self._sizes]

    def _constant(self, program: Program, op: Op, index: int, others: Sequence[Op | None]) -> str:
        """The operand `index`, a constant in every program: itself, or the part that the free
        dimensions choose.
        """
        name = op.inputs[index]
        twins = list(self._walks.values())
        arrays = [
            twin.program.vars[other.inputs[index]].data
            for twin, other in zip(twins, others, strict=True)
            if other
        ]
        data = program.vars[name].data
        if len(arrays) < len(twins) or all(a is data or _is_same(a, data) for a in arrays):
            return name
        key = name, *(other.inputs[index] for other in others if other)
        if key not in self._constants:
            ports = op.schema.inputs
            if ports[min(index, len(ports) - 1)].constant:
                raise FixedSizeError(f"its weights {name!r} follow the sizes")
            data, lengths = self._part(name, arrays)
            part = program.block.add_constant(data, name, program.vars[name].quantization)
            for form in forms.parts(data.shape, lengths):
                operands = self._sized(form, [part])
                (part,) = program.block.add_op(form.type, operands, form.values, [f"{name}.part"])
            self._constants[key] = part
        return self._constants[key]

    def _part(self, name: str, arrays: Sequence[Any]) -> tuple[Any, list[SizeTerm]]:
        """The array that holds those of all points as its first elements in every dimension, of
        which those of 1 are repeated, and the sizes that choose them.
        """
        whole = arrays[0]
        if any(array.ndim != whole.ndim for array in arrays):
            raise FixedSizeError(f"the rank of its constant {name!r} differs")
        lengths = [
            self._fit.term([array.shape[axis] for array in arrays]) for axis in range(whole.ndim)
        ]
        if all(array.shape == whole.shape for array in arrays) or None in lengths:
            raise FixedSizeError(f"its constant {name!r} is computed from the sizes")
        for axis, length in enumerate(lengths):
            first = np.take(whole, [0], axis)
            if (
                length
                and length.free >= 0
                and np.array_equal(np.broadcast_to(first, whole.shape), whole)
            ):
                whole = first
        for array in arrays:
            part = whole[tuple(slice(n) for n in array.shape)]
            if not np.array_equal(np.broadcast_to(part, array.shape), array):
                raise FixedSizeError(f"its constant {name!r} is computed from the sizes")
        return whole, [length for length in lengths if length]


def _is_same(array: Any, other: Any) -> bool:
    return np.array_equal(array, other)
