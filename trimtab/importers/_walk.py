"""The walk over a network: layer by layer, from the file to the program.

An importer makes a `NetworkImport`, declares the inputs, adds one layer after the other, and calls
`finish`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.errors import (
    ImportModelError,
    ProgramError,
    TrimtabError,
    UnsupportedOperatorError,
)
from trimtab.importers._graph import ImportGraph, UnsupportedFormError, Value
from trimtab.importers._handlers import Handler, Handlers
from trimtab.importers._layer import ImportedLayer
from trimtab.program import ImportedLayerFacts, Program, Var

_MAX_CUT = 4  # named results of a network that ends before unsupported layers

MAX_LAYERS = 10_000
"""The deepest known networks have some thousand layers; more would only take long."""


class UnsupportedLayersError(UnsupportedOperatorError):
    """`supported`: the operators of the other layers, a program without outputs."""

    def __init__(self, supported: Program, what: str, *, where: str, hint: str) -> None:
        super().__init__(what, where=where, hint=hint)
        self.supported = supported


def ends(program: Program) -> tuple[str, ...]:
    """The tensors that operators compute and none reads."""
    read = {name for op in program.ops for name in op.inputs}
    return tuple(name for op in program.ops for name in op.outputs if name not in read)


class NetworkImport(ImportGraph):
    """The program under construction and the layers that it cannot express.

    `missing` holds the keys of values that depend on an unsupported layer.
    """

    layer_word, input_word = "layer", "input"
    """What this format calls a layer and its input, for messages."""
    single_assignment = False
    """Whether the format defines each value only once."""

    def __init__(self, path: Path, handlers: Handlers[Any], layers: int) -> None:
        super().__init__(path)
        if layers > MAX_LAYERS:
            raise ImportModelError(
                f"it has {layers} layers, the limit is {MAX_LAYERS}",
                where=self.path,
                hint="check where the file is from: no known network is that deep",
            )
        self.missing: set[Hashable] = set()
        self._handlers = handlers
        self._unsupported: list[str] = []
        self._skipped = 0  # layers that read the output of an unsupported one
        self._layers: list[ImportedLayerFacts] = []
        self._depth = 0  # of layers that are expanded into others

    def is_defined(self, key: Hashable) -> bool:
        """Whether an input, a constant or a layer defines the value `key`, supported or not."""
        return key in self.values or key in self.missing

    def is_used(self, key: Hashable) -> bool:
        """Whether a layer reads the value `key`."""
        return True

    def handler(self, layer: Any) -> Handler[Any] | None:
        """The handler of a layer: that of its type, if there is one."""
        return self._handlers.get(layer.type)

    def add(self, layer: ImportedLayer) -> None:
        """Runs the handler of a layer and binds its results to the layer's outputs.

        A layer without a handler is unsupported; one that reads a missing value is skipped.
        """
        self.check_defined(layer)
        complete = self.missing.isdisjoint(layer.inputs)
        self.missing.update(key for key in layer.outputs if key is not None)
        with self.layer(layer.title, layer.where):
            handler = self.handler(layer)
            if handler is None:
                raise layer.unsupported("the engine has no such operator")
            if not complete:
                self._skipped += 1
            else:
                first_op = len(self.program.ops)
                results = handler(layer)
                layer.check_unread()
                self.bind(layer, self.bound(layer, results), first_op)

    def check_defined(self, layer: ImportedLayer) -> None:
        """ImportModelError if the layer reads an undefined value or defines one again."""
        for key in layer.inputs:
            if key is not None and not self.is_defined(key):
                name = layer.value_name(key)
                raise ImportModelError(
                    f"its {self.input_word} '{name}' is not defined",
                    where=layer.where,
                    hint="check that the file is complete; export or convert it again",
                )
        for key in layer.outputs if self.single_assignment else ():
            if key is not None and self.is_defined(key):
                raise ImportModelError(
                    f"its output '{key}' is defined twice",
                    where=layer.where,
                    hint="give each output its own name; export or convert the file again",
                )

    def bound(self, layer: ImportedLayer, results: Any) -> Mapping[Hashable, Any]:
        """The results of a handler by the layer's outputs; several results are a tuple."""
        values = results if isinstance(results, tuple) else (results,)
        return dict(zip(layer.outputs, values, strict=False))

    def bind(self, layer: ImportedLayer, results: Mapping[Hashable, Any], first_op: int) -> None:
        """Binds the results, which operators from `first_op` on compute, to the layer's outputs."""
        for key in layer.outputs:
            if key is not None and key in results:
                self._pay(layer, results[key])
                self.values[key] = results[key]
                self.name(results[key], layer.value_name(key), first_op)
            elif key is not None and key not in self.values and self.is_used(key):
                name = layer.value_name(key)
                word = self.layer_word
                raise layer.unsupported(f"a {word} reads its additional output '{name}'")
            self.missing.discard(key)

    def _pay(self, layer: ImportedLayer, result: Any) -> None:
        """Spends the budget on an array that the layer's handler made: neither an operand nor a
        view.
        """
        if isinstance(result, np.ndarray) and result.base is None:
            operands = (self.values.get(key) for key in layer.inputs)
            is_new = not any(result is operand for operand in operands)
            self.budget.take_bytes(result.nbytes if is_new else 0, layer.where)

    def name(self, value: Any, name: str, first_op: int) -> None:
        """Gives a tensor the name that the file has for it, if an operator from `first_op` on
        computes it.
        """
        recent = self.program.ops[first_op:]
        if isinstance(value, Var) and any(value.name in op.outputs for op in recent):
            # Any operator may use a tensor that already has this name.
            self.rename(value, name, 0 if name in self.program.vars else first_op)

    def alias(self, new: Hashable, old: Hashable) -> None:
        """Makes the key `new` stand for the value of `old`."""
        if old in self.missing:
            self.missing.add(new)
        else:
            self.values[new] = self.values[old]

    @contextmanager
    def layer(self, title: str, where: str) -> Iterator[None]:
        """Collects unsupported forms under `title`; any other failure is an error at `where`."""
        first_op, refusals, skipped = len(self.program.ops), len(self._unsupported), self._skipped
        self._depth += 1
        try:
            yield
        except UnsupportedFormError as reason:
            self._unsupported.append(f"{title}: {reason}")
        except ProgramError as error:
            raise ImportModelError(error.what, where=where, hint=self._hint(error)) from error
        except (TrimtabError, ImportError):
            raise
        except Exception as error:
            # A damaged layer breaks a handler's assumptions in more ways than a handler can check.
            raise ImportModelError(
                f"it is malformed: {error}", where=where, hint="check its parameters"
            ) from error
        finally:
            self._depth -= 1
        if not self._depth:
            reasons = self._unsupported[refusals:]
            refused = tuple(reason.removeprefix(f"{title}: ") for reason in reasons)
            indices = range(first_op, len(self.program.ops))
            checked = self._skipped == skipped
            self._layers.append(ImportedLayerFacts(title, indices, refused, checked))

    def _hint(self, error: ProgramError) -> str:
        """The hint for operands that do not match: the cause is often different input batches."""
        shapes = {name: self.program.vars[name].shape for name in self.program.inputs}
        if len({shape[:1] for shape in shapes.values()}) < 2:
            return error.hint
        listed = ", ".join(f"{name}={list(shape)}" for name, shape in shapes.items())
        return f"its inputs have different batches, {listed}: give shapes that match"

    def finish(self, outputs: Mapping[str, Hashable]) -> Program:
        """The finished program with these outputs: keys of values by output name.

        UnsupportedOperatorError lists all unsupported layers.
        """
        self.program.layers = tuple(self._layers)
        self._check_supported()
        if not outputs:
            raise ImportModelError(
                "it has no outputs", where=self.path, hint="check that the file is complete"
            )
        for name, key in outputs.items():
            if not self.is_defined(key):
                raise ImportModelError(
                    f"no layer computes the output '{name}'",
                    where=self.path,
                    hint="check that the file is complete",
                )
            with self.layer(name, f"{self.path}: output '{name}'"):
                self.program.outputs.append(self._output(name, self.result(key, name)))
        self._check_supported()
        return self.program

    def _check_supported(self) -> None:
        if self._unsupported:
            raise UnsupportedLayersError(self.program, **self._unsupported_layers())

    def _unsupported_layers(self) -> dict[str, str]:
        """The arguments of the error."""
        count = len(self._unsupported)
        verb = f"{self.layer_word}s are" if count > 1 else f"{self.layer_word} is"
        lines = [f"{count} {verb} not supported:", *self._unsupported]
        if self._skipped:
            lines.append(f"not checked, because they read these results: {self._skipped} more")
        return {
            "what": "\n  ".join(lines),
            "where": self.path,
            "hint": "`inv explain` tells more, docs/importers.md lists what is supported; export"
            f" the network without these {self.layer_word}s{self._cut_hint()}",
        }

    def _cut_hint(self) -> str:
        """Advice where to end the network, as `explain` gives it."""
        cut = list(ends(self.program))
        if not 0 < len(cut) <= _MAX_CUT:
            return ", or end it before them, where `inv explain` says" if cut else ""
        options = " ".join(f"--tensor {name}" for name in cut)
        return f", or end it before them: outputs={cut} in Python, {options}"

    def result(self, key: Hashable, name: str) -> Value:
        """The tensor that leaves the program for a value of the file."""
        return self.operand(self.values[key], name)

    def _output(self, name: str, value: Value) -> str:
        """Names the tensor that leaves the program."""
        if value.name == name in self.program.inputs:
            return name
        if value.data is not None or value.name in (*self.program.inputs, *self.program.outputs):
            # The tensor must keep its name, so a view of it gets the output's name.
            same = {"dimensions": tuple(range(len(value.shape)))}
            view = ("free_view", same) if value.counted else ("reshape", {"shape": value.shape})
            (value,) = self.add_op(view[0], [value], view[1], 1, name)
        self.rename(value, name)
        return value.name
