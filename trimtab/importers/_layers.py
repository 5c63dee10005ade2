"""A program in the making, layer by layer.

An importer makes a `LayerImport`, declares the inputs, hands over one layer (`HandledLayer`) after
the other, and calls `finish`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trimtab import schema
from trimtab.errors import (
    ImportModelError,
    ProgramError,
    TrimtabError,
    UnsupportedOperatorError,
)
from trimtab.program import Program, Quantization, Var

if TYPE_CHECKING:
    from trimtab.importers._handled_layer import HandledLayer
    from trimtab.importers._handlers import Handlers

Array = NDArray[Any]
Value = Var
Operand = Value | Array
"""Computed later, or known while importing."""

# Layers of a network; the deepest known have some thousand. More would only take long.
MOST_LAYERS = 10_000


class UnsupportedFormError(Exception):
    """The engine cannot express a layer, or this form of it; collected, never shown alone."""


class LayerImport:
    """A program in the making, and the layers of which nothing can be made.

    `values` is what the program has for the values of the file, by what the file calls them;
    `missing` are those that depend on a layer that is not supported.
    """

    layer_word, input_word = "layer", "input"  # what messages call them
    exact_types = False  # else constants that are real numbers become float32
    single_assignment = False  # a value is made once

    def __init__(self, path: Path, handlers: Handlers[Any], layers: int) -> None:
        self.path = str(path)
        if layers > MOST_LAYERS:
            raise ImportModelError(
                f"it has {layers} layers, at most {MOST_LAYERS} are read", where=self.path
            )
        self.program = Program(path.stem)
        self.values: dict[Any, Any] = {}
        self.missing: set[Hashable] = set()
        self._handlers = handlers
        self._unsupported: list[str] = []
        self._unseen = 0  # layers behind those, which may be none of ours either
        # Operands of known values by the array's identity, with the array, which keeps it its own.
        self._constants: dict[int, tuple[Array, Value]] = {}

    # What handlers add.

    def add_input(self, name: str, shape: Sequence[int], dtype: str = "f32") -> Value:
        """Declares an input of the program."""
        try:
            return self.program.vars[self.program.add_input(name, shape, dtype)]
        except ProgramError as error:
            raise ImportModelError(
                error.what, where=f"{self.path}: input '{name}'", hint="give positive sizes"
            ) from error

    def add_constant(
        self,
        value: Array | float,
        name: str,
        *,
        exact: bool = False,
        quantization: Quantization | None = None,
    ) -> Value:
        """A constant operand, float32 when it is a real number and not `exact`."""
        array = np.asarray(value)
        if array.dtype.kind == "f" and not exact:
            array = array.astype(np.float32)
        try:
            constant = self.program.block.add_constant(array, name, quantization)
            return self.program.vars[constant]
        except ProgramError as error:
            raise UnsupportedFormError(f"operand '{name}': {error.what}") from error

    def operand(self, value: Operand, name: str) -> Value:
        """A value as an operand, called `name` if it is new; the same array is the same operand."""
        if isinstance(value, Var):
            return value
        if id(value) not in self._constants:
            constant = self.add_constant(value, name, exact=self.exact_types)
            self._constants[id(value)] = value, constant
        return self._constants[id(value)][1]

    def add_op(
        self, op: str, inputs: Sequence[Value], attributes: dict[str, Any], outputs: int, name: str
    ) -> tuple[Value, ...]:
        """Appends an operator of the engine."""
        exact = {a.name for a in schema.operator(op).attributes if a.type == "double"}
        numbers = {k: v if k in exact else _decimal(v) for k, v in attributes.items()}
        names = self.program.block.add_op(op, [v.name for v in inputs], numbers, outputs, name)
        return tuple(self.program.vars[n] for n in names)

    # The walk.

    def is_defined(self, key: Hashable) -> bool:
        """Whether something makes the value `key`, supported or not."""
        return key in self.values or key in self.missing

    def is_used(self, key: Hashable) -> bool:
        """Whether anything reads the value `key`."""
        return True

    def add(self, layer: HandledLayer) -> None:
        """Lets the handler of a layer make operators, and binds what it returns.

        A layer without a handler is not supported; one that reads what is missing is left out.
        """
        self.check_defined(layer)
        complete = self.missing.isdisjoint(layer.inputs)
        self.missing.update(key for key in layer.outputs if key is not None)
        with self.layer(layer.title, layer.where):
            handler = self._handlers.get(layer.type)
            if handler is None:
                raise layer.unsupported("the engine has no such operator")
            if not complete:
                self._unseen += 1
            else:
                first_op = len(self.program.ops)
                results = handler(layer)
                layer.check_unread()
                self.bind(layer, self.bound(layer, results), first_op)

    def check_defined(self, layer: HandledLayer) -> None:
        """ImportModelError when a layer reads what nothing makes, or makes something again."""
        for key in layer.inputs:
            if key is not None and not self.is_defined(key):
                name = layer.value_name(key)
                raise ImportModelError(
                    f"its {self.input_word} '{name}' is not defined", where=layer.where
                )
        for key in layer.outputs if self.single_assignment else ():
            if key is not None and self.is_defined(key):
                raise ImportModelError(f"its output '{key}' is defined twice", where=layer.where)

    def bound(self, layer: HandledLayer, results: Any) -> Mapping[Hashable, Any]:
        """What a handler returned, by the layer's outputs; several results are a tuple."""
        made = results if isinstance(results, tuple) else (results,)
        return dict(zip(layer.outputs, made, strict=False))

    def bind(self, layer: HandledLayer, results: Mapping[Hashable, Any], first_op: int) -> None:
        """Lets the layer's outputs stand for results; operators from `first_op` on made them."""
        for key in layer.outputs:
            if key is not None and key in results:
                self.values[key] = results[key]
                self.name(results[key], layer.value_name(key), first_op)
            elif key is not None and key not in self.values and self.is_used(key):
                name = layer.value_name(key)
                raise layer.unsupported(f"its further output '{name}' is used")
            self.missing.discard(key)

    def name(self, value: Any, name: str, first_op: int) -> None:
        """Gives an operand the name that the file has for it, if operators from `first_op` on made
        it.
        """
        recent = self.program.ops[first_op:]
        if isinstance(value, Var) and any(value.name in op.outputs for op in recent):
            # Who has the name already may be known to all operators.
            self.rename(value, name, 0 if name in self.program.vars else first_op)

    def alias(self, new: Hashable, old: Hashable) -> None:
        """Lets `new` stand for the same as `old`."""
        if old in self.missing:
            self.missing.add(new)
        else:
            self.values[new] = self.values[old]

    @contextmanager
    def layer(self, title: str, where: str) -> Iterator[None]:
        """Sorts out what goes wrong inside: forms that are not supported are collected under
        `title`, everything else becomes an error at `where`.
        """
        try:
            yield
        except UnsupportedFormError as reason:
            self._unsupported.append(f"{title}: {reason}")
        except ProgramError as error:
            raise ImportModelError(error.what, where=where, hint=self._hint(error)) from error
        except (TrimtabError, ImportError):
            raise
        except Exception as error:
            # A damaged layer breaks a handler's assumptions in ways that are not worth listing.
            raise ImportModelError(
                f"it is malformed: {error}", where=where, hint="check its parameters"
            ) from error

    def _hint(self, error: ProgramError) -> str:
        """What to do about operands that do not go together: often inputs do not."""
        shapes = {name: self.program.vars[name].shape for name in self.program.inputs}
        if len({shape[:1] for shape in shapes.values()}) < 2:
            return error.hint
        given = ", ".join(f"{name}={list(shape)}" for name, shape in shapes.items())
        return f"its inputs have different batches, {given}: give shapes that go together"

    # The end.

    def finish(self, outputs: Mapping[str, Hashable]) -> Program:
        """The program whose outputs are these values, by the names they leave under.

        UnsupportedOperatorError names all layers that are not supported.
        """
        if self._unsupported:
            count = len(self._unsupported)
            verb = f"{self.layer_word}s are" if count > 1 else f"{self.layer_word} is"
            lines = [f"{count} {verb} not supported:", *self._unsupported]
            if self._unseen:
                lines.append(f"not looked at, as they read what these make: {self._unseen} more")
            raise UnsupportedOperatorError(
                "\n  ".join(lines),
                where=self.path,
                hint="docs/importers.md lists what is supported; export the network without these"
                f" {self.layer_word}s",
            )
        if not outputs:
            raise ImportModelError("it computes nothing", where=self.path)
        for name, key in outputs.items():
            if not self.is_defined(key):
                raise ImportModelError(f"output '{name}' is not computed", where=self.path)
            with self.layer(name, f"{self.path}: output '{name}'"):
                self.program.outputs.append(self._output(name, self.result(key, name)))
        return self.program

    def result(self, key: Hashable, name: str) -> Value:
        """The operand that leaves the program for a value of the file."""
        return self.operand(self.values[key], name)

    def _output(self, name: str, value: Value) -> str:
        """The operand that leaves the program, under `name`."""
        if value.name == name in self.program.inputs:
            return name
        if value.data is not None or value.name in (*self.program.inputs, *self.program.outputs):
            # It must keep its own name: a view of it gets the other one.
            (value,) = self.add_op("reshape", [value], {"shape": value.shape}, 1, name)
        self.rename(value, name)
        return value.name

    def rename(self, value: Value, name: str, first_op: int = 0) -> None:
        """Gives an operand that operators from `first_op` on know a name; who has it gives way, but
        for inputs, which keep theirs.
        """
        old = value.name
        if name == old or name in self.program.inputs:
            return
        if other := self.program.vars.get(name):
            self.rename(other, self.program.block.new_name(f"{name}.inner"), first_op)
        for op in self.program.ops[first_op:]:
            op.inputs = [name if i == old else i for i in op.inputs]
            op.outputs = [name if o == old else o for o in op.outputs]
        self.program.vars[name] = self.program.vars.pop(old)
        value.name = name


def _decimal(value: Any) -> Any:
    """A real number as one writes it: 1e-05, of which some formats have the nearest float32."""
    if not isinstance(value, float) or abs(value) > np.finfo(np.float32).max:
        return value
    return float(str(np.float32(value)))
