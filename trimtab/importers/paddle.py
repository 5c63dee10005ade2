"""Paddle programs: what save_inference_model and jit.save wrote, or a model for paddle-mobile.

Three layouts: `__model__` with one file per parameter, `__model__` with one file for all of them,
`.pdmodel` with `.pdiparams`; a folder stands for the program in it. `framework` reads the program,
`weights` the parameters, and the other modules of `trimtab.importers.paddle_ops` turn operators
into those of the engine. The format is that of Paddle's framework.proto and SerializeToStream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trimtab.errors import DynamicShapeError, ImportModelError, ModelFileError
from trimtab.importers._layers import Array, LayerImport, Value, companion
from trimtab.importers._nodes import Constants, Operand
from trimtab.importers.paddle_ops import framework, handlers, weights
from trimtab.importers.paddle_ops.framework import OpDesc, ProgramDesc, VarDesc
from trimtab.importers.paddle_ops.node import Node, Results
from trimtab.program import Program

if TYPE_CHECKING:
    from trimtab.importers import Shapes

SUFFIXES = (".pdmodel", ".pdiparams", "__model__", "__params__")

SUPPORTED = "docs/importers.md lists what is supported; export the network without these operators"

# Names under which programs, and all their parameters in one file, are usually saved.
_PROGRAMS = ("__model__", "model")
_COMBINED = ("__params__", "params", "weights")

# Output slots of which an operator has one that matters.
_MAIN_OUTPUTS = ("Out", "Output", "Y", "OutputBox")

# What the engine takes as an input of a program.
_INPUT_DTYPES = {"<f4": "f32", "<f8": "f32", "<i4": "i32", "<i8": "i64", "u1": "u8", "?": "bool"}


def sniff(path: Path) -> bool:
    """A folder with a program in it, or a ProgramDesc: a block with the number 0 and no parent."""
    if path.is_dir():
        return _program_in(path) is not None
    try:
        with path.open("rb") as file:
            head = file.read(24)
    except OSError:
        return False
    # blocks = 1 (tag 0a, size), in it idx = 1 (08 00), parent_idx = 2 (10, -1 as ten bytes).
    start = head.find(b"\x08\x00\x10\xff\xff\xff\xff")
    return head[:1] == b"\x0a" and 2 <= start <= 6


def load(path: Path, inputs: Shapes) -> Program:
    """The program at `path`; errors as `trimtab.importers.Importer` lists them.

    A free first dimension of an input is the batch: 1 if not given.
    """
    model = _find_program(path)
    desc = framework.read(model)
    work = _Walk(model, desc, _parameters(path, model, desc))
    return work.run(inputs)


def _program_in(folder: Path) -> Path | None:
    for name in _PROGRAMS:
        if (folder / name).is_file():
            return folder / name
    found = sorted(folder.glob("*.pdmodel"))
    return found[0] if len(found) == 1 else None


def _find_program(path: Path) -> Path:
    """The program that `path` is, holds, or has the parameters of."""
    found: Path | None = path
    if path.is_dir():
        found = _program_in(path)
    elif path.name.endswith(".pdiparams"):
        found = companion(path, ".pdmodel", lambda _: True) or _program_in(path.parent)
    elif path.name == "__params__":
        found = _program_in(path.parent)
    if found is None:
        raise ModelFileError(
            "has no program in it" if path.is_dir() else "has no program beside it",
            where=str(path),
            hint="the program is called __model__, or ends in .pdmodel",
        )
    return found


def _parameters(path: Path, model: Path, desc: ProgramDesc) -> Mapping[str, Array]:
    """The parameters that the operators read."""
    read = {name for op in desc.ops for names in op.inputs.values() for name in names}
    # A combined file holds those that nobody reads, too.
    declared = [v for v in desc.vars.values() if v.persistable and v.type == framework.LOD_TENSOR]
    needed = [var for var in declared if var.name in read]
    if combined := _combined_file(path, model, needed):
        return weights.read_all(combined, declared)
    files = {var.name: _own_file(model, var) for var in needed}
    if missing := [name for name, file in files.items() if not file.is_file()]:
        raise ModelFileError(
            f"the files of {len(missing)} parameters are missing, such as '{missing[0]}'",
            where=str(model.parent),
            hint="put the files of all parameters beside the program, or the one file that holds"
            f" them under the name {model.stem}.pdiparams or __params__",
        )
    return {var.name: weights.read_one(files[var.name], var) for var in needed}


def _own_file(model: Path, var: VarDesc) -> Path:
    """The file of one parameter; names come from the program and must not lead elsewhere."""
    relative = Path(var.name)
    if relative.is_absolute() or ".." in relative.parts or "\0" in var.name:
        raise ModelFileError(f"'{var.name}' is no name for a parameter's file", where=str(model))
    return model.parent / relative


def _combined_file(path: Path, model: Path, needed: Sequence[VarDesc]) -> Path | None:
    """The file that holds all parameters, if there is one."""
    if path.name == "__params__" or path.suffix == ".pdiparams":
        return path
    if model.suffix == ".pdmodel":
        return companion(model, ".pdiparams", lambda _: True)
    if not needed or all(_own_file(model, var).is_file() for var in needed):
        return None
    for name in _COMBINED:
        if (model.parent / name).is_file():
            return model.parent / name
    if found := companion(model, ".pdiparams", lambda _: True):
        return found
    if _own_file(model, needed[0]).is_file():
        return None
    others = [p for p in sorted(model.parent.iterdir()) if p.is_file() and p != model]
    return others[0] if len(others) == 1 else None


class _Walk:
    """Operators in their order; variables are known by name, and may be written again."""

    def __init__(self, path: Path, desc: ProgramDesc, parameters: Mapping[str, Array]) -> None:
        self.path = path
        self.desc = desc
        self.work = LayerImport(path, len(desc.ops))
        if not path.suffix:
            self.work.program.name = path.parent.name
        self.constants = Constants(self.work)
        # None: made by an operator that is not supported.
        self.values: dict[str, Operand | None] = {**parameters, "@EMPTY@": np.zeros(0)}
        self.used = {n for op in desc.ops for names in op.inputs.values() for n in names}

    def run(self, shapes: Shapes) -> Program:
        """The program."""
        self._add_inputs(shapes)
        for index, op in enumerate(self.desc.ops):
            if op.type not in ("feed", "fetch"):
                self._add(op, index)
        outputs = []
        for name in dict.fromkeys(self._borders("fetch")):
            if name not in self.values:
                raise ImportModelError(f"output '{name}' is not computed", where=str(self.path))
            value = self.values[name]
            if isinstance(value, np.ndarray):
                value = self.constants.operand(value, name)
            if value is not None:
                outputs.append((name, value))
        program = self.work.finish(outputs, SUPPORTED)
        if not program.outputs:
            raise ImportModelError("it computes nothing", where=str(self.path))
        return program

    def _borders(self, type: str) -> list[str]:
        """Variables that feed operators make, or fetch operators read, in their order."""
        found = []
        for index, op in enumerate(self.desc.ops):
            if op.type == type:
                slots = op.outputs if type == "feed" else op.inputs
                names = slots.get("Out" if type == "feed" else "X", ())
                column = op.attributes.get("col")
                found.append((column if isinstance(column, int) else index, index, names))
        return [name for _, _, names in sorted(found) for name in names]

    def _add_inputs(self, shapes: Shapes) -> None:
        names = list(dict.fromkeys(self._borders("feed")))
        if unknown := sorted(set(shapes) - set(names)):
            raise ImportModelError(
                f"there is no input {', '.join(map(repr, unknown))}",
                where=str(self.path),
                hint=f"its inputs are: {', '.join(names) or 'none'}",
            )
        for name in names:
            var = self.desc.vars.get(name)
            if var is None:
                raise ImportModelError(f"input '{name}' is not declared", where=str(self.path))
            shape = self._input_shape(var, shapes.get(name))
            dtype = _INPUT_DTYPES.get(framework.DTYPES.get(var.dtype, ""))
            if dtype is None:
                raise ImportModelError(
                    f"input '{name}' has element type number {var.dtype}",
                    where=str(self.path),
                    hint=f"it must be one of {', '.join(sorted(set(_INPUT_DTYPES.values())))}",
                )
            self.values[name] = self.work.add_input(name, shape, dtype)

    def _input_shape(self, var: VarDesc, given: Sequence[int] | None) -> tuple[int, ...]:
        declared = var.dims
        if given is None:
            shape = (1, *declared[1:]) if declared and declared[0] < 1 else declared
            if min(shape, default=0) < 1:
                known = [str(n) if n > 0 else "?" for n in declared]
                example = ", ".join(str(n) if n > 0 else "48" for n in shape) or "1, 3, 224, 224"
                raise DynamicShapeError(
                    f"input '{var.name}' has free dimensions: [{', '.join(known)}]",
                    where=str(self.path),
                    hint=f"give its shape: inputs={{'{var.name}': ({example})}} in Python,"
                    f" {var.name}={example.replace(' ', '')} on the command line",
                )
            return shape
        shape = tuple(int(n) for n in given)
        fits = not declared or (
            len(shape) == len(declared)
            and all(d < 1 or d == n for d, n in zip(declared, shape, strict=True))
        )
        if not fits or min(shape, default=0) < 1:
            raise ImportModelError(
                f"input '{var.name}' is {list(declared)}, the given shape {shape} does not fit",
                where=str(self.path),
                hint="give sizes for the free dimensions (-1) only, and repeat the fixed ones",
            )
        return shape

    def _add(self, op: OpDesc, index: int) -> None:
        outputs = [name for names in op.outputs.values() for name in names]
        name = self._name(op, index)
        title = f"operator {index} '{name}' ({op.type})"
        where = f"{self.path}: {title}"
        for names in op.inputs.values():
            for operand in names:
                if operand not in self.values:
                    raise ImportModelError(f"its input '{operand}' is not computed", where=where)
        first_op = len(self.work.program.ops)
        results: dict[str, Operand] | None = None
        with self.work.layer(title, where):
            node = Node(self.work, self.constants, op, self.values, name, where)
            handler = handlers().get(op.type)
            if handler is None:
                raise node.unsupported("the engine has no such operator")
            if all(self.values.get(n) is not None for names in op.inputs.values() for n in names):
                made = _bound(op, handler(node))
                missing = self.used.intersection(outputs).difference(made, self.values)
                if missing:
                    raise node.unsupported(f"it does not make its output '{min(missing)}'")
                results = made
        for output in outputs:
            if results is None:
                self.values[output] = None
            elif output in results:
                self._bind(output, results[output], first_op)

    @staticmethod
    def _name(op: OpDesc, index: int) -> str:
        for slot in (*_MAIN_OUTPUTS, *op.outputs):
            if names := op.outputs.get(slot):
                return names[0]
        return f"{op.type}_{index}"

    def _bind(self, name: str, operand: Operand, first_op: int) -> None:
        """Lets a variable stand for an operand; what was just made gets the variable's name."""
        if isinstance(operand, Value) and operand.data is None:
            recent = self.work.program.ops[first_op:]
            if any(operand.name in op.outputs for op in recent):
                # A variable that is written again takes its name from what has it.
                self.work.rename(operand, name, 0 if name in self.work.program.vars else first_op)
        self.values[name] = operand


def _bound(op: OpDesc, results: Results) -> dict[str, Operand]:
    """Results by variable."""
    if not isinstance(results, Mapping):
        slot = next((s for s in (*_MAIN_OUTPUTS, *op.outputs) if op.outputs.get(s)), "")
        results = {slot: results}
    bound: dict[str, Operand] = {}
    for slot, made in results.items():
        operands: Iterable[Operand] = [made] if isinstance(made, (Value, np.ndarray)) else made
        bound.update(zip(op.outputs.get(slot, ()), operands, strict=False))
    return bound
