"""Program: a network, its inputs and outputs, and its history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import ProgramError, UsageError
from trimtab.program import shapes
from trimtab.program.block import Block, Op, Var
from trimtab.program.hints import ModelHints


@dataclass(frozen=True)
class _File:
    """The file of a program: its graph inputs and outputs, and its decoder; `image`: its bytes if
    it is a .ttm file, and `reader`, which makes a program of them and of a name; `origin`: what
    identifies its content.
    """

    image: NDArray[np.uint8] | None
    inputs_and_outputs: tuple[list[str], list[str]]
    decode: Callable[[], Block]
    origin: str = ""
    reader: Callable[[bytes, str], Program] | None = None


@dataclass(frozen=True)
class ImportedLayerFacts:
    """One layer of a file, as its importer saw it: `operators` are the indices of those that it
    became in the program, `refused` the reasons why it is not supported. A layer that reads the
    result of such a one is not `checked`.
    """

    title: str
    operators: range
    refused: tuple[str, ...]
    checked: bool


class Program:
    """A network: a block, its graph inputs and outputs by name, and its history.

    `source` is the program before optimization (None if this is not optimized). `target`,
    `threads` and `weights` (the type of stored ones) are those of the plan. `passes` lists the
    passes that have run, in order. `input_ranges`: the lowest and the highest value of inputs,
    where the model's file declares them; a .ttm file does not. `hints`: what that file says about
    its use. `layers`: those of the model's file in its order, if an importer has just read it.
    """

    # The function behind `save`: that of `trimtab.modelfile`, a layer above, which sets it.
    writer: ClassVar[Callable[[Program, Path, bool], None]]

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._block = Block()
        self._file: _File | None = None
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.source: Program | None = None
        self.passes: list[str] = []
        self.input_ranges: dict[str, tuple[float, float]] = {}
        self.hints = ModelHints()
        self.layers: tuple[ImportedLayerFacts, ...] = ()
        self.target: str = ""
        self.threads: int = 1
        self.weights: str = "f32"

    @property
    def block(self) -> Block:
        """Tensors and operators; those of a file are decoded at the first access."""
        if self._file:
            self._block, self._file = self._file.decode(), None
        return self._block

    @property
    def image(self) -> NDArray[np.uint8] | None:
        """The mapped .ttm file of the program, as long as it is certain to be equal: nobody has
        accessed the block or replaced graph inputs or outputs.
        """
        file = self._unchanged_file()
        return file.image if file else None

    @property
    def origin(self) -> str:
        """Identifies the content of the model file that the program was loaded from, as long as it
        is certain to be equal, as for `image`; "" if that is unknown.
        """
        file = self._unchanged_file()
        return file.origin if file else ""

    def _unchanged_file(self) -> _File | None:
        file, current = self._file, (self.inputs, self.outputs)
        return file if file and file.inputs_and_outputs == current else None

    def defer(self, origin: str, decode: Callable[[], Block] | None = None) -> None:
        """Makes this the program of a model file with the content `origin`. `decode` returns its
        block at the first access; None: a copy of the present block.
        """
        ends = list(self.inputs), list(self.outputs)
        self._file = _File(None, ends, decode or self._block.copy, origin)
        self._block = Block()

    def read_from(
        self,
        image: NDArray[np.uint8],
        decode: Callable[[], Block],
        reader: Callable[[bytes, str], Program],
    ) -> None:
        """Makes this the program of a .ttm file, whose block `decode` reads; inputs and outputs are
        already set. `reader` makes a program of such bytes and of a name, after pickling.
        """
        ends = list(self.inputs), list(self.outputs)
        self._file = _File(image, ends, decode, reader=reader)

    def __repr__(self) -> str:
        block = self._file.decode() if self._file else self._block  # the program keeps its image

        def tensors(names: list[str]) -> str:
            operands = (block.vars[name] for name in names)
            return ", ".join(f"{var.name} {var.dtype}{list(var.shape)}" for var in operands)

        state = f"planned for {self.target}" if self.planned else "not planned"
        arrow = f"{tensors(self.inputs)} -> {tensors(self.outputs)}"
        return f"<Program {self.name}: {arrow}; {len(block.ops)} operators, {state}>"

    def __getstate__(self) -> dict[str, Any]:
        """The state to pickle: a program that equals its .ttm file is pickled as that file."""
        state: dict[str, Any] = {**self.__dict__, "_file": None}
        file = self._unchanged_file()
        if file and file.image is not None:
            return {**state, "reader": file.reader, "image": file.image.tobytes()}
        return {**state, "_block": self.block}

    def __setstate__(self, state: dict[str, Any]) -> None:
        image, reader = state.pop("image", None), state.pop("reader", None)
        self.__dict__.update(state)
        if reader:
            self._file = reader(image, self.name)._file

    def __copy__(self) -> Program:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        return self.copy()

    @property
    def vars(self) -> dict[str, Var]:
        """Tensors of the block."""
        return self.block.vars if self._file else self._block.vars

    @property
    def ops(self) -> list[Op]:
        """Operators of the block, in execution order."""
        return self.block.ops if self._file else self._block.ops

    @property
    def steps(self) -> list[Op]:
        """The operators of each inference; the others prepare constants at set-up."""
        return [op for op in self.ops if not op.schema.prepares]

    def dtype(self, op: Op) -> str:
        """See `Block.dtype`."""
        return self.block.dtype(op)

    @property
    def is_free(self) -> bool:
        """Whether inputs have free dimensions, or sizes depend on data; shapes are then those of
        the largest sizes.
        """
        return self.is_counted or any(op.type == "free_sizes" for op in self.ops)

    @property
    def is_counted(self) -> bool:
        """Whether sizes depend on data; shapes are then those of the largest sizes."""
        return any(op.counts for op in self.ops)

    def require_fixed_sizes(self, what: str) -> None:
        """UsageError that `what` needs one size, if sizes are free or depend on data."""
        if self.is_counted:
            raise UsageError(
                f"{what} needs fixed sizes, and some depend on data",
                where=self.name,
                hint="load the part of the network before them, with `outputs` or --tensor",
            )
        self.require_fixed_inputs(what)

    def require_fixed_inputs(self, what: str) -> None:
        """UsageError that `what` needs inputs of one size, if their dimensions are free."""
        if any(op.type == "free_sizes" for op in self.ops):
            raise UsageError(
                f"{what} needs inputs of one size, not free dimensions",
                where=self.name,
                hint="load the network with sizes instead of bounds",
            )

    @property
    def planned(self) -> bool:
        """Whether the planner has chosen kernels, so that the engine can run the program."""
        return bool(self.target)

    def add_input(self, name: str, shape: Iterable[int], dtype: str = "f32") -> str:
        """Adds a graph input; ProgramError if a dimension is not positive or the tensor is too
        large.
        """
        dims = tuple(int(d) for d in shape)
        if any(d <= 0 for d in dims):
            raise ProgramError(
                f"input shape {dims} has a dimension that is not positive",
                where=f"input {name}",
                hint="give positive sizes",
            )
        self.vars[name] = Var(name, dims, dtype)
        self.inputs.append(name)
        return name

    def constants(self) -> Iterator[Var]:
        """The constant tensors."""
        return (v for v in self.vars.values() if v.data is not None)

    def constant_bytes(self) -> int:
        """Size of all constants in bytes."""
        return sum(var.bytes for var in self.constants())

    def copy(self) -> Program:
        """An independent copy; the arrays of constants are shared, because they never change."""
        twin = Program(self.name)
        if self._file:
            twin._file = self._file
        else:
            twin._block = self._block.copy()
        twin.inputs, twin.outputs = list(self.inputs), list(self.outputs)
        twin.source, twin.passes = self.source, list(self.passes)
        twin.target, twin.threads, twin.weights = self.target, self.threads, self.weights
        twin.input_ranges, twin.hints = dict(self.input_ranges), self.hints
        return twin

    def is_output(self, var: str) -> bool:
        """Whether `var` is a graph output."""
        return var in self.outputs

    def sole_reader(self, var: str) -> Op | None:
        """The only operator that computes with `var`; None if there are others or it is a graph
        output.
        """
        readers = [op for op in self.block.consumers(var) if not op.schema.checks]
        return readers[0] if len(readers) == 1 and not self.is_output(var) else None

    def shapes_at(self, inputs: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor if the graph inputs have the shapes `inputs`.

        ProgramError with the engine's reason if operators do not fit these.
        """
        result = {name: var.shape for name, var in self.vars.items()} | dict(inputs)
        for op in self.steps:
            operands = [
                (result[name], self.vars[name].dtype) if name else None for name in op.inputs
            ]
            where = f"operator {op.name}"
            inferred = shapes.infer(op.schema, operands, op.attributes, len(op.outputs), where)
            result.update(zip(op.outputs, (shape for shape, _ in inferred), strict=True))
        return result

    def keep_only(self, outputs: Iterable[str]) -> None:
        """Makes these tensors the graph outputs, and drops the operators that they do not need."""
        self.outputs = list(outputs)
        needed = set(self.outputs)
        for op in reversed(self.ops):
            if op.schema.checks or needed.intersection(op.outputs):
                needed.update((*op.inputs, *op.outputs))
        self.block.ops = [op for op in self.ops if needed.intersection(op.outputs)]
        used = needed.union(self.inputs, *(op.outputs for op in self.ops))
        for name in self.vars.keys() - used:
            del self.vars[name]

    def save(self, path: str | Path, names: bool = True) -> None:
        """Writes a .ttm file atomically; `names = False` omits operator and tensor names."""
        type(self).writer(self, Path(path), names)
