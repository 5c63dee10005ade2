"""The operators of a PNNX network in their order, one after the other into a program."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trimtab.errors import ImportModelError, ModelFileError
from trimtab.importers._files import read_text
from trimtab.importers._handled_layer import HandledLayer
from trimtab.importers._inputs import declared_inputs
from trimtab.importers._layers import LayerImport
from trimtab.importers.pnnx_ops.graph import OperatorText, parse
from trimtab.importers.pnnx_ops.operator import HANDLERS, Operator
from trimtab.importers.pnnx_ops.weights import Weights
from trimtab.program import Program, Var

if TYPE_CHECKING:
    from trimtab.importers import Shapes

LIMIT_BYTES = 2**24  # of a .pnnx.param; large transformers have 1 MB

_INPUT, _OUTPUT = "pnnx.Input", "pnnx.Output"

_MOST_OUTPUTS = 1000


def load(text: Path, binary: Path | None, inputs: Shapes) -> Program:
    """The program of the network in the file `text`."""
    operators = parse(read_text(text, LIMIT_BYTES), str(text))
    if not any(operator.type == _OUTPUT for operator in operators):
        raise ModelFileError(
            "is not a PNNX network: it has no pnnx.Output",
            where=str(text),
            hint="give the file that ends with .pnnx.param",
        )
    weights = Weights(binary)
    try:
        return OperandImport(text, weights, len(operators)).run(operators, inputs)
    finally:
        weights.close()


class OperandImport(LayerImport):
    """Operands are known by name: tensors, or what is known of numbers and lists."""

    input_word = "operand"
    single_assignment = True

    def __init__(self, path: Path, weights: Weights, operators: int) -> None:
        super().__init__(path, HANDLERS, operators)
        self.weights = weights

    def run(self, operators: list[OperatorText], given: Shapes) -> Program:
        """The program."""
        declared = {o.name: _declared(o) for o in operators if o.type == _INPUT}
        shapes = declared_inputs(declared, given, self.path, fixed=False)
        outputs: dict[str, Hashable] = {}
        for text in operators:
            operator = Operator(self, text)
            self.check_defined(operator)
            if text.type == _INPUT:
                self.values[text.outputs[0]] = self.add_input(text.name, shapes[text.name])
            elif text.type != _OUTPUT:
                self.add(operator)
            elif self.missing.isdisjoint(text.inputs):
                outputs |= self._results(text)
        return self.finish(outputs)

    def _results(self, text: OperatorText) -> Mapping[str, Hashable]:
        """What leaves the program by an output operator."""
        found = _flat([self.values[name] for name in text.inputs], text.where)
        if not all(isinstance(value, Var) for value in found):
            raise ImportModelError("a result is no tensor", where=text.where)
        names = [text.name if len(found) == 1 else f"{text.name}_{i}" for i in range(len(found))]
        keys: list[Hashable] = [(_OUTPUT, name) for name in names]
        self.values |= zip(keys, found, strict=True)
        return dict(zip(names, keys, strict=True))

    def bound(self, layer: HandledLayer, results: Any) -> Mapping[Hashable, Any]:
        """What a handler returned; a list is one operand."""
        made = super().bound(layer, results)
        if len(made) < len(layer.outputs):
            raise ImportModelError(
                f"it has {len(layer.outputs)} outputs, not {len(made)}", where=layer.where
            )
        return made


def _declared(text: OperatorText) -> tuple[int | None, ...] | None:
    """The shape of an input; None: the file does not say."""
    if len(text.outputs) != 1:
        raise ImportModelError("an input has one operand", where=text.where)
    tensor = text.shapes.get(text.outputs[0])
    if tensor and tensor.dtype not in ("f32", "f16", "f64"):
        raise ImportModelError(f"it has elements of type {tensor.dtype}", where=text.where)
    return tensor.shape or None if tensor else None


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
