"""What a handler sees of a TFLite operator: options, operands, how to add operators.

TFLite's images are [n, h, w, c], the engine's [n, c, h, w]. A tensor of the file can stand for a
value of the program in either form: as the file has it, or as an image of the engine. Handlers
take the form that they need, and those that do not mind the form that is there, so that only what
borders on the file's order is transposed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trimtab.importers._layers import Array, LayerImport, Value
from trimtab.importers._nodes import Constants, GraphNode, Operand
from trimtab.importers.tflite_ops.model import Model, Operator, options

TO_CHANNELS_FIRST, TO_CHANNELS_LAST = (0, 3, 1, 2), (0, 2, 3, 1)

# Where the dimensions of [n, h, w, c] are in an image of the engine.
_PLACES = (0, 2, 3, 1)


@dataclass(frozen=True)
class Image:
    """A value [n, c, h, w] that stands for a tensor [n, h, w, c]."""

    value: Value


@dataclass(frozen=True)
class Blocks:
    """An image [n, c, h, w], once it is padded, that stands for many images: one for every place in
    a block, [n * block, h / block, w / block, c]. A convolution of these is a dilated one of it.

    `pads`: top, left, bottom, right.
    """

    value: Value
    block: tuple[int, int]
    pads: tuple[int, int, int, int]

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The shape of the tensor that it stands for."""
        n, c, h, w = self.value.shape
        top, left, bottom, right = self.pads
        rows, columns = self.block
        return rows * columns * n, (h + top + bottom) // rows, (w + left + right) // columns, c

    def made(self, node: GraphNode) -> Value:
        """The tensor that it stands for."""
        top, left, bottom, right = self.pads
        x = node.transpose(self.value, TO_CHANNELS_LAST)
        if any(self.pads):
            x = node.add("pad", x, pads=(0, top, left, 0, 0, bottom, right, 0))
        _, h, w, c = self.shape
        rows, columns = self.block
        x = node.reshape(x, (self.value.shape[0], h, rows, w, columns, c))
        return node.reshape(node.transpose(x, (2, 4, 0, 1, 3, 5)), self.shape)


Form = Operand | Image | Blocks
SINGLE = (Value, np.ndarray, Image, Blocks)
Results = Form | Sequence[Form]
Handler = Callable[["Node"], Results]

HANDLERS: dict[str, Handler] = {}


def handles(*types: str) -> Callable[[Handler], Handler]:
    """Registers the decorated function as the handler of these operators."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(types, handler))
        return handler

    return register


class Tensors:
    """What the tensors of a file stand for so far, in either form."""

    def __init__(self, work: LayerImport, model: Model) -> None:
        self._model = model
        self._constants = Constants(work)
        # None: made by an operator that is not supported.
        self.plain: dict[int, Operand | None] = {
            i: t.data for i, t in enumerate(model.tensors) if t.data is not None
        }
        self.images: dict[int, Value] = {}
        self.blocks: dict[int, Blocks] = {}

    def __contains__(self, index: int) -> bool:
        return index in self.plain or index in self.images or index in self.blocks

    def bind(self, index: int, form: Form | None) -> None:
        """Lets a tensor stand for `form`, and for nothing else."""
        for forms in (self.plain, self.images, self.blocks):
            forms.pop(index, None)
        if isinstance(form, Image):
            self.images[index] = form.value
        elif isinstance(form, Blocks):
            self.blocks[index] = form
        else:
            self.plain[index] = form

    def is_missing(self, index: int) -> bool:
        """Whether the operator that makes a tensor is not supported."""
        return index in self.plain and self.plain[index] is None

    def operand(self, index: int, node: GraphNode) -> Operand:
        """A tensor as the file has it."""
        if index not in self.plain and index in self.blocks:
            self.plain[index] = self.blocks[index].made(node)
        elif index not in self.plain:
            self.plain[index] = node.transpose(self.images[index], TO_CHANNELS_LAST)
        found = self.plain[index]
        if found is None:
            raise node.unsupported(f"its input '{self.name(index)}' is not made")
        return found

    def value(self, index: int, node: GraphNode) -> Value:
        """A tensor as the file has it, as an operand of the engine."""
        found = self.operand(index, node)
        if isinstance(found, Value):
            return found
        return self._constants.operand(found, self.short_name(index))

    def image(self, index: int, node: GraphNode) -> Value:
        """A tensor of four dimensions as an image of the engine."""
        if index not in self.images:
            found = self.operand(index, node)
            if len(found.shape) != 4:
                raise node.unsupported(f"its input has {len(found.shape)} dimensions, not 4")
            if isinstance(found, np.ndarray):
                turned = np.ascontiguousarray(found.transpose(TO_CHANNELS_FIRST))
                return self._constants.operand(turned, self.short_name(index))
            self.images[index] = node.transpose(found, TO_CHANNELS_FIRST)
        return self.images[index]

    def name(self, index: int) -> str:
        """The name that the file gives a tensor."""
        return self._model.tensors[index].name

    def short_name(self, index: int) -> str:
        """The same, without those of the operators that became one with what made it."""
        return self.name(index).split(";")[0]


class Node(GraphNode):
    """One operator while it is imported."""

    def __init__(
        self, work: LayerImport, tensors: Tensors, model: Model, op: Operator, where: str
    ) -> None:
        outputs = [i for i in op.outputs if i >= 0]
        super().__init__(
            work, tensors.short_name(outputs[0]) if outputs else op.type.lower(), where
        )
        self._tensors = tensors
        self._model = model
        self._op = op
        self.type = op.type

    def options(self, name: str) -> Any:
        """The operator's options, whose fields all have defaults."""
        found = options(self._op, name)
        if found is None:
            raise self.invalid(f"it lacks its options ({name})")
        return found

    def has_options(self, name: str) -> bool:
        """Whether it has these options."""
        return options(self._op, name) is not None

    @property
    def input_count(self) -> int:
        """Number of inputs, those left out at the end not counted."""
        return len(self._op.inputs)

    @property
    def output_count(self) -> int:
        """Number of outputs."""
        return len(self._op.outputs)

    def has(self, i: int) -> bool:
        """Whether input `i` is there."""
        return i < len(self._op.inputs) and self._op.inputs[i] >= 0

    def _index(self, i: int) -> int:
        if not self.has(i):
            raise self.invalid(f"it has {len(self._op.inputs)} inputs, number {i} is missing")
        return self._op.inputs[i]

    def operand(self, i: int = 0) -> Operand:
        """Input `i` as the file has it, known or computed."""
        return self._tensors.operand(self._index(i), self)

    def x(self, i: int = 0) -> Value:
        """Input `i` as the file has it."""
        return self._tensors.value(self._index(i), self)

    def image(self, i: int = 0) -> Value:
        """Input `i`, which must be [n, h, w, c], as [n, c, h, w]."""
        return self._tensors.image(self._index(i), self)

    def blocks(self, i: int = 0) -> Blocks | None:
        """Input `i` as blocks of an image, if it is that."""
        return self._tensors.blocks.get(self._index(i))

    def is_image(self, i: int = 0) -> bool:
        """Whether input `i` is there as an image already."""
        return self._index(i) in self._tensors.images

    def either(self, i: int = 0) -> tuple[Value, bool]:
        """Input `i` in the form that is there, and whether that is an image."""
        return (self.image(i), True) if self.is_image(i) else (self.x(i), False)

    def place(self, axis: int, rank: int, image: bool) -> int:
        """Where a dimension of the file is in the given form."""
        axis = self.axis(axis, rank)
        return _PLACES[axis] if image else axis

    def shape(self, i: int = 0) -> tuple[int, ...]:
        """The shape of input `i` as the file has it."""
        if self.is_image(i):
            n, c, h, w = self.image(i).shape
            return n, h, w, c
        if blocks := self.blocks(i):
            return blocks.shape
        return tuple(self.operand(i).shape)

    def is_known(self, i: int) -> bool:
        """Whether the value of input `i` is known now."""
        return not self.is_image(i) and isinstance(self.operand(i), np.ndarray)

    def known(self, i: int, what: str) -> Array:
        """The value of input `i`, which must be known now; `what` is its role."""
        found = None if self.is_image(i) else self.operand(i)
        if not isinstance(found, np.ndarray):
            raise self.unsupported(f"its {what} must be constant")
        return found

    def ints(self, i: int, what: str) -> tuple[int, ...]:
        """A constant vector of integers."""
        return tuple(int(v) for v in self.known(i, what).reshape(-1))

    def weights(self, i: int, what: str, shape: Sequence[int]) -> Array:
        """Constant float operands, of `shape` (-1: any size)."""
        value = self.known(i, what)
        if value.dtype.kind != "f":
            raise self.unsupported(f"its {what} holds {value.dtype}, not floats: it is quantised")
        if value.ndim != len(shape) or any(
            wanted not in (-1, size) for size, wanted in zip(value.shape, shape, strict=True)
        ):
            raise self.invalid(f"its {what} is {list(value.shape)}, expected {list(shape)}")
        return value

    def dequantized(self) -> Array:
        """The numbers that the constant first input stands for."""
        value = self.known(0, "input")
        tensor = self._model.tensors[self._index(0)]
        if value.dtype.kind == "f":
            return value.astype(np.float32)
        if not tensor.scales:
            raise self.invalid("its input has no scale")
        shape = [1] * value.ndim
        if len(tensor.scales) > 1:
            shape[self.axis(tensor.axis, value.ndim)] = -1
        zeros = np.array(tensor.zeros or (0,), np.float32)
        scales = np.array(tensor.scales, np.float32)
        zeros = zeros.reshape(shape) if zeros.size > 1 else zeros
        return (value.astype(np.float32) - zeros) * scales.reshape(shape)

    def output_type(self) -> int:
        """TensorType of the first output."""
        return self._model.tensors[self._op.outputs[0]].type

    def activated(self, y: Value, function: int) -> Value:
        """`y` after a fused activation (ActivationFunctionType)."""
        match function:
            case 0:
                return y
            case 1:
                return self.add("relu", y)
            case 2:
                return self.add("clip", y, alpha=-1.0, beta=1.0)
            case 3:
                return self.add("clip", y, alpha=0.0, beta=6.0)
            case 4:
                return self.add("tanh", y)
        raise self.unsupported(f"its activation is number {function}")


def form(value: Value, image: bool) -> Form:
    """The result of a handler that kept the form of its operand."""
    return Image(value) if image else value
