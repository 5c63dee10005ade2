"""TFLite models (.tflite) that compute with floats; weights may be float16 or scaled integers.

Inputs and outputs keep the file's shapes, [n, h, w, c] for images. `trimtab.importers.tflite_ops`
reads the file and turns its operators into those of the engine. Format:
https://github.com/tensorflow/tensorflow/blob/master/tensorflow/lite/schema/schema.fbs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.errors import DynamicShapeError, ImportModelError
from trimtab.importers._layers import LayerImport, Value
from trimtab.importers._nodes import GraphNode
from trimtab.importers.tflite_ops import handlers
from trimtab.importers.tflite_ops.model import Model, Operator, Tensor, read
from trimtab.importers.tflite_ops.node import SINGLE, Blocks, Form, Image, Node, Tensors
from trimtab.program import Program

if TYPE_CHECKING:
    from trimtab.importers import Shapes

SUFFIXES = (".tflite",)

SUPPORTED = "docs/importers.md lists what is supported; convert the network without these operators"

_INPUT_DTYPES = {0: "f32", 2: "i32", 3: "u8", 4: "i64", 6: "bool", 9: "i8"}


def sniff(path: Path) -> bool:
    """The mark of the format at byte 4."""
    try:
        with path.open("rb") as file:
            return file.read(8)[4:] == b"TFL3"
    except OSError:
        return False


def load(path: Path, inputs: Shapes) -> Program:
    """The program of the model at `path`; errors as `trimtab.importers.Importer` lists them."""
    return _Walk(path, read(path)).run(inputs)


class _Walk:
    """Operators in their order."""

    def __init__(self, path: Path, model: Model) -> None:
        self.path = path
        self.model = model
        self.work = LayerImport(path, len(model.operators))
        self.tensors = Tensors(self.work, model)

    def run(self, shapes: Shapes) -> Program:
        """The program."""
        self._add_inputs(shapes)
        for index, op in enumerate(self.model.operators):
            self._add(op, index)
        end = GraphNode(self.work, "output", str(self.path))
        outputs: dict[str, Value] = {}
        for index in dict.fromkeys(self.model.outputs):
            name = self.tensors.name(index)
            if index not in self.tensors:
                raise ImportModelError(f"output '{name}' is not computed", where=str(self.path))
            if name in outputs:
                name = f"{name}_{index}"
            if not self.tensors.is_missing(index):
                with self.work.layer(f"output '{name}'", f"{self.path}: output '{name}'"):
                    outputs[name] = self.tensors.value(index, end)
        program = self.work.finish(list(outputs.items()), SUPPORTED)
        if not program.outputs:
            raise ImportModelError("it computes nothing", where=str(self.path))
        return program

    def _add_inputs(self, shapes: Shapes) -> None:
        found = {self.model.tensors[i].name: i for i in self.model.inputs}
        if len(found) != len(self.model.inputs):
            raise ImportModelError("two inputs have one name", where=str(self.path))
        if unknown := sorted(set(shapes) - set(found)):
            raise ImportModelError(
                f"there is no input {', '.join(map(repr, unknown))}",
                where=str(self.path),
                hint=f"its inputs are: {', '.join(found) or 'none'}",
            )
        for name, index in found.items():
            tensor = self.model.tensors[index]
            if tensor.type not in _INPUT_DTYPES:
                raise ImportModelError(
                    f"input '{name}' has element type number {tensor.type}",
                    where=str(self.path),
                    hint=f"it must be one of {', '.join(_INPUT_DTYPES.values())}",
                )
            shape = self._input_shape(tensor, shapes.get(name))
            value = self.work.add_input(name, shape, _INPUT_DTYPES[tensor.type])
            self.tensors.bind(index, value)

    def _input_shape(self, tensor: Tensor, given: Sequence[int] | None) -> tuple[int, ...]:
        """What is given where the signature leaves it open, else what the file says."""
        shape = tensor.shape if given is None else tuple(int(n) for n in given)
        if given is None and min(shape, default=1) < 1:
            raise DynamicShapeError(
                f"input '{tensor.name}' has free dimensions: {list(tensor.signature)}",
                where=str(self.path),
                hint=f"give its shape: inputs={{'{tensor.name}': (1, 224, 224, 3)}} in Python,"
                f" {tensor.name}=1,224,224,3 on the command line",
            )
        fits = len(shape) == len(tensor.signature) and all(
            s < 1 or s == n for s, n in zip(tensor.signature, shape, strict=True)
        )
        if min(shape, default=1) < 1 or not fits:
            raise ImportModelError(
                f"input '{tensor.name}' is {list(tensor.signature)}, the given shape"
                f" {shape} does not fit",
                where=str(self.path),
                hint="give sizes for the free dimensions (-1) only, and repeat the fixed ones",
            )
        return shape

    def _add(self, op: Operator, index: int) -> None:
        title = f"operator {index} ({op.type})"
        where = f"{self.path}: {title}"
        for operand in op.inputs:
            if operand >= 0 and operand not in self.tensors:
                raise ImportModelError(
                    f"its input '{self.tensors.name(operand)}' is not computed", where=where
                )
        for output in op.outputs:
            if output >= 0 and self.model.tensors[output].data is not None:
                raise ImportModelError("it writes to a constant", where=where)
        first_op = len(self.work.program.ops)
        made: list[Form] = []
        with self.work.layer(title, where):
            node = Node(self.work, self.tensors, self.model, op, where)
            handler = handlers().get(op.type)
            if handler is None:
                raise node.unsupported("the engine has no such operator")
            if not any(i >= 0 and self.tensors.is_missing(i) for i in op.inputs):
                results = handler(node)
                made = [results] if isinstance(results, SINGLE) else list(results)
                if len(made) < len(op.outputs):
                    raise node.unsupported(f"it has {len(op.outputs)} outputs")
        for i, output in enumerate(op.outputs):
            if output >= 0:
                self._bind(output, made[i] if i < len(made) else None, first_op)

    def _bind(self, index: int, form: Form | None, first_op: int) -> None:
        """Lets a tensor stand for a result; what was just made gets the tensor's name."""
        value = form.value if isinstance(form, (Image, Blocks)) else form
        if isinstance(value, Value) and value.data is None:
            recent = self.work.program.ops[first_op:]
            if any(value.name in op.outputs for op in recent):
                name = self.work.program.block.new_name(self.tensors.short_name(index))
                self.work.rename(value, name, first_op)
        self.tensors.bind(index, form)
