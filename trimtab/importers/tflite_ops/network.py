"""The operators of a TFLite model in their order, one after the other into a program."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trimtab.errors import ImportModelError
from trimtab.importers._handled_layer import HandledLayer
from trimtab.importers._inputs import Declared, declared_inputs
from trimtab.importers._layers import LayerImport, Value
from trimtab.importers.tflite_ops.forms import Blocks, Forms, Image
from trimtab.importers.tflite_ops.model import Model, Tensor, read
from trimtab.importers.tflite_ops.node import HANDLERS, Node
from trimtab.program import Program

if TYPE_CHECKING:
    from trimtab.importers import Shapes

_INPUT_DTYPES = {0: "f32", 2: "i32", 3: "u8", 4: "i64", 6: "bool", 9: "i8"}


def load(path: Path, inputs: Shapes) -> Program:
    """The program of the model at `path`."""
    model = read(path)
    work = TensorImport(path, model)
    for index, shape in _inputs(path, model, inputs).items():
        tensor = model.tensors[index]
        work.values[index] = work.add_input(tensor.name, shape, _INPUT_DTYPES[tensor.type])
    for index, op in enumerate(model.operators):
        work.add(Node(work, op, index))
    outputs: dict[str, Hashable] = {}
    for index in dict.fromkeys(model.outputs):
        name = model.tensors[index].name
        outputs[f"{name}_{index}" if name in outputs else name] = index
    return work.finish(outputs)


def _inputs(path: Path, model: Model, given: Shapes) -> dict[int, tuple[int, ...]]:
    """The shape of every input, by the number of the tensor."""
    found = {model.tensors[i].name: i for i in model.inputs}
    if len(found) != len(model.inputs):
        raise ImportModelError("two inputs have one name", where=str(path))
    for name, index in found.items():
        if model.tensors[index].type not in _INPUT_DTYPES:
            raise ImportModelError(
                f"input '{name}' has element type number {model.tensors[index].type}",
                where=str(path),
                hint=f"it must be one of {', '.join(_INPUT_DTYPES.values())}",
            )
    declared = {name: _declared(model.tensors[i], given.get(name)) for name, i in found.items()}
    shapes = declared_inputs(declared, given, str(path), fixed=True)
    return {found[name]: shape for name, shape in shapes.items()}


def _declared(tensor: Tensor, given: Sequence[int] | None) -> Declared:
    """What the file says; its signature, when sizes are given, says which ones are free."""
    if given is None and min(tensor.shape, default=1) > 0:
        return tensor.shape
    return [size if size > 0 else None for size in tensor.signature]


class TensorImport(LayerImport):
    """Tensors are known by number, and stand for values in either of two forms."""

    def __init__(self, path: Path, model: Model) -> None:
        super().__init__(path, HANDLERS, len(model.operators))
        self.model = model
        self.values |= {i: t.data for i, t in enumerate(model.tensors) if t.data is not None}
        self.forms = Forms(self.values)

    def check_defined(self, layer: HandledLayer) -> None:
        """Refuses operators that write to constants, besides."""
        super().check_defined(layer)
        if any(
            isinstance(i, int) and self.model.tensors[i].data is not None for i in layer.outputs
        ):
            raise ImportModelError("it writes to a constant", where=layer.where)

    def bind(self, layer: HandledLayer, results: Mapping[Hashable, Any], first_op: int) -> None:
        """Lets tensors stand for results, and for nothing else."""
        self.forms.forget(layer.outputs)
        super().bind(layer, results, first_op)

    def name(self, value: Any, name: str, first_op: int) -> None:
        """Names an operand; tensors may share a name."""
        value = value.value if isinstance(value, (Image, Blocks)) else value
        super().name(value, self.program.block.new_name(name), first_op)

    def result(self, key: Hashable, name: str) -> Value:
        """A tensor as the file has it."""
        end = HandledLayer(self, "output", "output", [key], [], where=self.path, title=name)
        return self.operand(self.forms.plain(key, end), name)
