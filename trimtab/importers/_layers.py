"""What importers of layered formats share: a program in the making, layer by layer.

Caffe and Darknet describe a network as a list of layers with a type, a name and parameters. An
importer makes a `LayerImport`, wraps each layer in `LayerImport.layer`, and calls `finish`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import (
    ImportModelError,
    ModelFileError,
    ProgramError,
    TrimtabError,
    UnsupportedOperatorError,
)
from trimtab.program import Program, Var

Array = NDArray[Any]
Value = Var
Values = Value | Sequence[Value]


# Layers of a network; the deepest known have some thousand. More would only take long.
MOST_LAYERS = 10_000


class UnsupportedFormError(Exception):
    """The engine cannot express a layer, or this form of it; collected, never shown alone."""


def read_text(path: Path, limit_bytes: int) -> str:
    """The text of a file that describes a network; ModelFileError when it cannot be one."""
    return read_bytes(path, limit_bytes).decode("utf-8-sig", errors="replace")


def read_bytes(path: Path, limit_bytes: int) -> bytes:
    """The content of a file; ModelFileError when it is unreadable or larger than any model."""
    try:
        size = path.stat().st_size
        if size > limit_bytes:
            raise ModelFileError(
                f"has {size} bytes, such files have at most {limit_bytes}",
                where=str(path),
                hint="check that it is the right file",
            )
        return path.read_bytes()
    except OSError as error:
        raise ModelFileError(
            f"cannot be read: {error.strerror}", where=str(path), hint="check the path and rights"
        ) from error


def companion(path: Path, suffix: str, likely: Callable[[Path], bool]) -> Path | None:
    """The file with `suffix` that belongs to `path`: of the same name, else the only one beside it
    that is `likely`; None when there is none at all.

    ModelFileError when there are several.
    """
    if (twin := path.with_suffix(suffix)).exists():
        return twin
    found = sorted(p for p in path.parent.glob(f"*{suffix}") if likely(p))
    if len(found) > 1:
        raise ModelFileError(
            f"several files may belong to it: {', '.join(p.name for p in found)}",
            where=str(path),
            hint=f"give both files one name: {path.stem}{suffix} beside {path.name}",
        )
    return found[0] if found else None


class LayerImport:
    """A program in the making, and the layers of which nothing can be made."""

    def __init__(self, path: Path, layers: int) -> None:
        self.path = str(path)
        if layers > MOST_LAYERS:
            raise ImportModelError(
                f"it has {layers} layers, at most {MOST_LAYERS} are read", where=self.path
            )
        self.program = Program(path.stem)
        self._unsupported: list[str] = []

    def add_input(self, name: str, shape: Sequence[int], dtype: str = "f32") -> Value:
        """Declares an input of the program."""
        try:
            return self.program.vars[self.program.add_input(name, shape, dtype)]
        except ProgramError as error:
            raise ImportModelError(
                error.what, where=f"{self.path}: input '{name}'", hint="give positive sizes"
            ) from error

    def add_constant(self, value: Array | float, name: str) -> Value:
        """A constant operand, float32 unless it holds integers."""
        array = np.asarray(value)
        if array.dtype.kind == "f":
            array = array.astype(np.float32)
        return self.program.vars[self.program.block.add_constant(array, name)]

    def add_op(
        self, op: str, inputs: Sequence[Value], attributes: dict[str, Any], outputs: int, name: str
    ) -> tuple[Value, ...]:
        """Appends an operator of the engine."""
        names = self.program.block.add_op(op, [v.name for v in inputs], attributes, outputs, name)
        return tuple(self.program.vars[n] for n in names)

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
            raise ImportModelError(error.what, where=where, hint=error.hint) from error
        except TrimtabError:
            raise
        except Exception as error:
            # A damaged layer breaks a handler's assumptions in ways that are not worth listing.
            raise ImportModelError(
                f"it is malformed: {error}", where=where, hint="check its parameters"
            ) from error

    def finish(self, outputs: Sequence[tuple[str, Value]], supported: str) -> Program:
        """The program with these outputs (name, operand).

        UnsupportedOperatorError names all layers that are not supported; `supported` says where to
        read what is.
        """
        if self._unsupported:
            count = len(self._unsupported)
            verb = "layers are" if count > 1 else "layer is"
            raise UnsupportedOperatorError(
                "\n  ".join([f"{count} {verb} not supported:", *self._unsupported]),
                where=self.path,
                hint=supported,
            )
        for name, value in outputs:
            with self.layer(name, f"{self.path}: output '{name}'"):
                self.program.outputs.append(self._output(name, value))
        return self.program

    def _output(self, name: str, value: Value) -> str:
        """The operand that leaves the program, under `name`."""
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
