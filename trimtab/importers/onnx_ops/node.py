"""What a handler sees of an ONNX node: its attributes, its operands, and how to add operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from trimtab.importers._attributes import AttributedLayer
from trimtab.importers._handlers import Handlers
from trimtab.importers._layers import Value
from trimtab.importers.vocabulary.quantization import Stored
from trimtab.program.program import NUMPY_DTYPES

if TYPE_CHECKING:
    from trimtab.importers.onnx_ops.network import GraphImport

# numpy's name of an element type: the engine's.
DTYPE_NAMES = {np.dtype(code).name: name for name, code in NUMPY_DTYPES.items()}


def dtype_name(elem_type: int) -> str | None:
    """The engine's name of an ONNX element type, if it has that type."""
    try:
        return DTYPE_NAMES.get(helper.tensor_dtype_to_np_dtype(elem_type).name)
    except KeyError:
        return None


class Node(AttributedLayer):
    """One ONNX node while it is imported."""

    _work: GraphImport

    def __init__(self, work: GraphImport, proto: onnx.NodeProto, index: int) -> None:
        name = proto.name or next(filter(None, proto.output), f"{proto.op_type}_{index}")
        domain = "" if proto.domain in ("", "ai.onnx") else f"{proto.domain}."
        type = f"{domain}{proto.op_type}"
        super().__init__(
            work,
            type,
            name,
            [name or None for name in proto.input],
            [name or None for name in proto.output],
            where=f"{work.path}: node '{name}' ({proto.op_type})",
            title=f"node '{name}': {type} (opset {work.opset})",
        )
        self._attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
        self.opset = work.opset

    def attribute(self, name: str) -> Any:
        """An attribute as ONNX has it."""
        return self._attributes.get(name)

    def parameters(self) -> Mapping[str, Any]:
        """Its attributes; tensors as arrays."""
        return {
            name: numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
            for name, value in self._attributes.items()
        }

    def given(self, *names: str) -> dict[str, Any]:
        """Those of the real attributes that the node has: the engine's defaults are ONNX's."""
        return {name: self.real(name) for name in names if name in self._attributes}

    # Operands.

    def dtype(self, i: int) -> str:
        """The engine's name of the element type of input `i`."""
        found = self.operand(i)
        if isinstance(found, Value):
            return found.dtype
        if found.dtype.name not in DTYPE_NAMES:
            raise self.unsupported(f"input {i} is of {found.dtype.name}")
        return DTYPE_NAMES[found.dtype.name]

    def floats(self, i: int, what: str) -> tuple[float, ...]:
        """A known vector of real numbers."""
        return tuple(float(v) for v in self.known(i, what).reshape(-1))

    def optional_ints(self, i: int, what: str) -> tuple[int, ...]:
        """A known vector of integers, empty when input `i` is not there."""
        return self.ints(i, what) if self.has(i) else ()

    def number(self, i: int, what: str) -> float:
        """A known number."""
        return float(self.known(i, what).reshape(()))

    def uses_output(self, i: int) -> bool:
        """Whether anything reads output `i`."""
        return i < len(self.outputs) and self._work.is_used(self.outputs[i])

    # Constants that the file stores as integers.

    def note_stored(self, stored: Stored) -> None:
        """Says that the node's result is a constant that the file stores in this way."""
        self._work.stored[self.outputs[0]] = stored

    def stored(self, i: int) -> Stored | None:
        """How the file stores input `i`, if it is a constant of scaled integers."""
        return self._work.stored.get(self.key(i)) if self.has(i) else None

    # What becomes of it.

    def zero_of(self, x: Value) -> Value:
        """A constant 0 without dimensions, of the type of `x`."""
        return self.value(np.zeros((), NUMPY_DTYPES[x.dtype]))


HANDLERS = Handlers[Node](__name__)
handles = HANDLERS.handles
