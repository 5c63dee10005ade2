"""Imports a PNNX network operator by operator."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

from trimtab.errors import ImportModelError, ModelFileError
from trimtab.importers._files import read_text
from trimtab.importers._inputs import Shapes, declared_inputs
from trimtab.importers._layer import ImportedLayer
from trimtab.importers._walk import NetworkImport
from trimtab.importers.pnnx_ops.graph import OperatorText, parse
from trimtab.importers.pnnx_ops.operator import HANDLERS, PnnxOperator
from trimtab.importers.pnnx_ops.weights import PnnxWeights
from trimtab.program import Program, Var

LIMIT_BYTES = 2**24  # of a .pnnx.param; large transformers have 1 MB

_INPUT, _OUTPUT = "pnnx.Input", "pnnx.Output"

_MAX_OUTPUTS = 1000

_CONVERT_AGAIN = "convert the network again"


def load(text: Path, binary: Path | None, inputs: Shapes) -> Program:
    """The program of the .pnnx.param file `text`."""
    operators = parse(read_text(text, LIMIT_BYTES), str(text))
    if not any(operator.type == _OUTPUT for operator in operators):
        raise ModelFileError(
            "is not a PNNX network: it has no pnnx.Output",
            where=str(text),
            hint="give the file that ends with .pnnx.param",
        )
    weights = PnnxWeights(binary)
    try:
        return PnnxImport(text, weights, len(operators)).run(operators, inputs)
    finally:
        weights.close()


class PnnxImport(NetworkImport):
    """Values are operands by name: tensors, or constant numbers and lists."""

    input_word = "operand"
    single_assignment = True

    def __init__(self, path: Path, weights: PnnxWeights, operators: int) -> None:
        super().__init__(path, HANDLERS, operators)
        self.weights = weights
        self.budget.add_stored(weights.stored_bytes)

    def run(self, operators: list[OperatorText], inputs: Shapes) -> Program:
        """The program of all operators."""
        declared = {o.name: _declared(o) for o in operators if o.type == _INPUT}
        shapes = declared_inputs(declared, inputs, self.path, fixed=False)
        outputs: dict[str, Hashable] = {}
        for text in operators:
            operator = PnnxOperator(self, text, self.weights)
            self.check_defined(operator)
            if text.type == _INPUT:
                self.values[text.outputs[0]] = self.add_input(text.name, shapes[text.name])
            elif text.type != _OUTPUT:
                self.add(operator)
            elif self.missing.isdisjoint(text.inputs):
                outputs |= self._results(text)
        return self.finish(outputs)

    def _results(self, text: OperatorText) -> Mapping[str, Hashable]:
        """The keys of the tensors that leave the program through an output operator, by name."""
        tensors = _flat([self.values[name] for name in text.inputs], text.where)
        if not all(isinstance(value, Var) for value in tensors):
            raise ImportModelError(
                "a result is not a tensor", where=text.where, hint="let the module return tensors"
            )
        count = len(tensors)
        names = [text.name if count == 1 else f"{text.name}_{i}" for i in range(count)]
        keys: list[Hashable] = [(_OUTPUT, name) for name in names]
        self.values |= zip(keys, tensors, strict=True)
        return dict(zip(names, keys, strict=True))

    def bound(self, layer: ImportedLayer, results: Any) -> Mapping[Hashable, Any]:
        """The results of a handler by output; a list is one operand."""
        values = super().bound(layer, results)
        if len(values) < len(layer.outputs):
            raise ImportModelError(
                f"it has {len(layer.outputs)} outputs, expected {len(values)}",
                where=layer.where,
                hint=_CONVERT_AGAIN,
            )
        return values


def _declared(text: OperatorText) -> tuple[int | None, ...] | None:
    """The shape of an input; None if the file has none."""
    if len(text.outputs) != 1:
        raise ImportModelError(
            "an input must have one operand", where=text.where, hint=_CONVERT_AGAIN
        )
    tensor = text.shapes.get(text.outputs[0])
    if tensor and tensor.dtype not in ("f32", "f16", "f64"):
        raise ImportModelError(
            f"it has elements of type {tensor.dtype}",
            where=text.where,
            hint="convert the network with float inputs",
        )
    return tensor.shape or None if tensor else None


def _flat(values: list[Any], where: str) -> list[Any]:
    """The elements of nested lists."""
    pending, result = values[::-1], []
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending += value[::-1]
        else:
            result.append(value)
        # Lists that contain each other twice would never end.
        if len(pending) + len(result) > _MAX_OUTPUTS:
            raise ImportModelError(
                f"it has more than {_MAX_OUTPUTS} results",
                where=where,
                hint="let the module return fewer tensors",
            )
    return result
