"""PNNX networks: a .pnnx.param (text) with its .pnnx.bin (a zip archive of weights).

`trimtab.importers.pnnx_ops` turns operators into those of the engine. Operators are PyTorch's, see
https://github.com/Tencent/ncnn/blob/master/tools/pnnx/README.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from trimtab.errors import DynamicShapeError, ImportModelError, ModelFileError
from trimtab.importers._layers import LayerImport, Value, read_text
from trimtab.importers.pnnx_ops import handlers
from trimtab.importers.pnnx_ops.graph import MAGIC, OperatorText, parse
from trimtab.importers.pnnx_ops.operator import Operand, Operator
from trimtab.importers.pnnx_ops.weights import Weights
from trimtab.program import Program, Var

if TYPE_CHECKING:
    from trimtab.importers import Shapes

SUFFIXES = (".pnnx.param", ".pnnx.bin")

LIMIT_BYTES = 2**24  # of a .pnnx.param; large transformers have 1 MB

SUPPORTED = "docs/importers.md lists what is supported"

_MOST_OUTPUTS = 1000

_BUILT = ("prim::TupleConstruct", "prim::ListConstruct")
_TAKEN_APART = ("prim::TupleUnpack", "prim::ListUnpack")


def sniff(path: Path) -> bool:
    """Text that begins with the magic number of ncnn and has an input of PNNX."""
    try:
        with path.open("rb") as file:
            head = file.read(2**10)
    except OSError:
        return False
    return head.split(b"\n")[0].strip() == MAGIC.encode() and b"pnnx." in head


def load(path: Path, inputs: Shapes) -> Program:
    """The program of the network at `path`, or of the one beside the weights at `path`.

    Inputs and outputs have the names of their operators. Errors as `trimtab.importers.Importer`
    lists them.
    """
    text, binary = _pair(path)
    operators = parse(read_text(text, LIMIT_BYTES), str(text))
    if not any(operator.type == "pnnx.Output" for operator in operators):
        raise ModelFileError(
            "is not a PNNX network: it has no pnnx.Output",
            where=str(text),
            hint="give the file that ends with .pnnx.param",
        )
    weights = Weights(binary)
    try:
        return _Walk(text, operators, weights).run(inputs)
    finally:
        weights.close()


def _pair(path: Path) -> tuple[Path, Path | None]:
    """Network and weights."""
    if path.suffix != ".bin":
        binary = path.with_suffix(".bin")
        return path, binary if binary.exists() else None
    text = path.with_suffix(".param")
    if text.exists():
        return text, path
    raise ModelFileError(
        "has no .pnnx.param beside it, which describes the network",
        where=str(path),
        hint=f"put it there under the name {text.name}",
    )


class _Walk:
    """Operators in their order, and what is known of every operand."""

    def __init__(self, path: Path, operators: list[OperatorText], weights: Weights) -> None:
        self.path = path
        self.operators = operators
        self.weights = weights
        self.work = LayerImport(path, len(operators))
        self.values: dict[str, Operand] = {}
        # Results of what is not supported, and of what reads them.
        self.unknown: set[str] = set()
        self.outputs: list[tuple[str, Value]] = []

    def run(self, inputs: Shapes) -> Program:
        """The program."""
        declared = [o.name for o in self.operators if o.type == "pnnx.Input"]
        if unknown := sorted(set(inputs) - set(declared)):
            raise ImportModelError(
                f"there is no input {', '.join(map(repr, unknown))}",
                where=str(self.path),
                hint=f"its inputs are: {', '.join(declared) or 'none'}",
            )
        for operator in self.operators:
            self._check(operator)
            if operator.type == "pnnx.Input":
                self._add_input(operator, inputs)
            elif self.unknown.intersection(operator.inputs):
                self._skip(operator)
            elif operator.type == "pnnx.Output":
                self._add_output(operator)
            else:
                self._add(operator)
        return self.work.finish(self.outputs, SUPPORTED)

    def _check(self, operator: OperatorText) -> None:
        for name in operator.inputs:
            if name not in self.values and name not in self.unknown:
                raise ImportModelError(f"operand '{name}' is not defined", where=operator.where)
        for name in operator.outputs:
            if name in self.values or name in self.unknown:
                raise ImportModelError(f"operand '{name}' is defined twice", where=operator.where)

    def _skip(self, operator: OperatorText) -> None:
        self.unknown.update(operator.outputs)
        known = (*handlers(), *_BUILT, *_TAKEN_APART, "pnnx.Output")
        if operator.type not in known:
            with self.work.layer(self._title(operator), operator.where):
                raise self._missing(operator)

    def _title(self, operator: OperatorText) -> str:
        return f"'{operator.name}' ({operator.type}), line {operator.line}"

    def _missing(self, operator: OperatorText) -> Exception:
        work = Operator(self.work, operator, dict.fromkeys(operator.inputs), self.weights)
        return work.unsupported("the engine has no such operator")

    def _add(self, operator: OperatorText) -> None:
        self.unknown.update(operator.outputs)
        with self.work.layer(self._title(operator), operator.where):
            first_op = len(self.work.program.ops)
            results: list[Any]
            if operator.type in _BUILT:
                results = [[self.values[name] for name in operator.inputs]]
            elif operator.type in _TAKEN_APART:
                parts = self.values[operator.inputs[0]] if operator.inputs else None
                results = parts if isinstance(parts, list) else [parts]
            elif handler := handlers().get(operator.type):
                work = Operator(self.work, operator, self.values, self.weights)
                result = handler(work)
                work.check_unread()
                results = list(result) if isinstance(result, tuple) else [result]
            else:
                raise self._missing(operator)
            if len(results) < len(operator.outputs):
                raise ImportModelError(
                    f"it has {len(operator.outputs)} outputs, not {len(results)}",
                    where=operator.where,
                )
            self.unknown.difference_update(operator.outputs)
            self._bind(operator.outputs, results, first_op)

    def _bind(self, names: list[str], results: list[Any], first_op: int) -> None:
        """Gives results their values, and new tensors the names of their operands."""
        made = {name for op in self.work.program.ops[first_op:] for name in op.outputs}
        for name, value in zip(names, results, strict=False):
            if isinstance(value, Var) and value.name in made:
                made.discard(value.name)
                self.work.rename(value, name, first_op)
            self.values[name] = value

    def _add_input(self, operator: OperatorText, inputs: Shapes) -> None:
        if len(operator.outputs) != 1:
            raise ImportModelError("an input has one operand", where=operator.where)
        text = operator.shapes.get(operator.outputs[0])
        declared = text.shape if text else ()
        shape = inputs.get(operator.name, declared)
        if text and text.dtype not in ("f32", "f16", "f64"):
            raise ImportModelError(f"it has elements of type {text.dtype}", where=operator.where)
        if not shape or any(size is None for size in shape):
            shown = ", ".join("?" if size is None else str(size) for size in declared)
            raise DynamicShapeError(
                f"input '{operator.name}' has free dimensions: [{shown}]",
                where=operator.where,
                hint=f"give its shape: inputs={{'{operator.name}': (1, 3, 224, 224)}} in Python,"
                f" {operator.name}=1,3,224,224 on the command line",
            )
        sizes = [int(size) for size in shape if size is not None]
        self.values[operator.outputs[0]] = self.work.add_input(operator.name, sizes)

    def _add_output(self, operator: OperatorText) -> None:
        found = _flat([self.values[name] for name in operator.inputs], operator.where)
        for i, value in enumerate(found):
            name = operator.name if len(found) == 1 else f"{operator.name}_{i}"
            if not isinstance(value, Var):
                raise ImportModelError("a result is no tensor", where=operator.where)
            self.outputs.append((name, value))


def _flat(values: list[Any], where: str) -> list[Any]:
    """The elements of lists in lists."""
    waiting, result = values[::-1], []
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value[::-1]
        else:
            result.append(value)
        # Lists that hold each other twice would never come to an end.
        if len(waiting) + len(result) > _MOST_OUTPUTS:
            raise ImportModelError(f"it has more than {_MOST_OUTPUTS} results", where=where)
    return result
