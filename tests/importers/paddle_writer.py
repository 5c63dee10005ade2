"""Writes Paddle programs, following the public framework.proto and the format of tensors."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.importers.caffe_writer import field as message_field
from tests.importers.caffe_writer import varint
from tests.ops.cases.case import Array

_CODES = {"bool": 0, "int32": 2, "int64": 3, "float16": 4, "float32": 5, "float64": 6, "uint8": 20}

Slots = Mapping[str, Sequence[str]]


@dataclass
class Net:
    """A program under construction: operators, input values and parameters."""

    feeds: dict[str, Array] = field(default_factory=dict)
    parameters: dict[str, Array] = field(default_factory=dict)
    ops: list[tuple[str, Slots, Slots, Mapping[str, Any]]] = field(default_factory=list)
    fetches: list[str] = field(default_factory=list)
    # Declared shapes of inputs where they differ from those of the values.
    declared: dict[str, Sequence[int]] = field(default_factory=dict)

    def add(
        self, type: str, inputs: Mapping[str, str], outputs: Mapping[str, str], **attributes: Any
    ) -> Net:
        """Adds an operator; the operands of a slot are names separated by spaces."""
        slots = [{k: tuple(v.split()) for k, v in m.items()} for m in (inputs, outputs)]
        self.ops.append((type, slots[0], slots[1], attributes))
        return self

    def program(self) -> bytes:
        """ProgramDesc."""
        ops = [
            ("feed", {"X": ("feed",)}, {"Out": (name,)}, {"col": i})
            for i, name in enumerate(self.feeds)
        ]
        fetches = [
            ("fetch", {"X": (name,)}, {"Out": ("fetch",)}, {"col": i})
            for i, name in enumerate(self.fetches)
        ]
        block = message_field(1, 0) + message_field(2, -1)
        for name, type in (("feed", 9), ("fetch", 10)):
            block += message_field(3, _var(name, message_field(1, type), persistable=True))
        for name, value in self.feeds.items():
            shape = self.declared.get(name, value.shape)
            block += message_field(3, _var(name, _tensor_type(value, shape)))
        for name, value in self.parameters.items():
            block += message_field(3, _var(name, _tensor_type(value), persistable=True))
        defined = {*self.feeds, *self.parameters}
        computed = {n for _, _, outputs, _ in self.ops for names in outputs.values() for n in names}
        for name in sorted(computed - defined):
            block += message_field(3, _var(name, _tensor_type(np.zeros(0, np.float32), ())))
        for op in [*ops, *self.ops, *fetches]:
            block += message_field(4, _op(*op))
        return message_field(1, block) + message_field(4, message_field(1, 0))

    def write(self, folder: Path, layout: str = "pdmodel") -> Path:
        """Writes the program and returns its path; `layout`: pdmodel, combined or split."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / ("net.pdmodel" if layout == "pdmodel" else "__model__")
        path.write_bytes(self.program())
        streams = {name: stream(self.parameters[name]) for name in sorted(self.parameters)}
        if layout == "split":
            for name, data in streams.items():
                (folder / name).write_bytes(data)
        else:
            name = "net.pdiparams" if layout == "pdmodel" else "__params__"
            (folder / name).write_bytes(b"".join(streams.values()))
        return path


def stream(array: Array) -> bytes:
    """A tensor as Paddle serializes it, without levels of detail."""
    desc = _tensor_desc(array)
    head = struct.pack("<IQIi", 0, 0, 0, len(desc))
    return head + desc + np.ascontiguousarray(array).tobytes()


def _tensor_desc(array: Array, shape: Sequence[int] | None = None) -> bytes:
    dims = array.shape if shape is None else shape
    code = message_field(1, _CODES[array.dtype.name])
    return code + b"".join(message_field(2, n) for n in dims)


def _tensor_type(array: Array, shape: Sequence[int] | None = None) -> bytes:
    return message_field(1, 7) + message_field(3, message_field(1, _tensor_desc(array, shape)))


def _var(name: str, type: bytes, *, persistable: bool = False) -> bytes:
    out = message_field(1, name.encode()) + message_field(2, type)
    return out + (message_field(3, 1) if persistable else b"")


def _op(type: str, inputs: Slots, outputs: Slots, attributes: Mapping[str, Any]) -> bytes:
    out = b""
    for number, slots in ((1, inputs), (2, outputs)):
        for slot, names in slots.items():
            arguments = b"".join(message_field(2, name.encode()) for name in names)
            out += message_field(number, message_field(1, slot.encode()) + arguments)
    out += message_field(3, type.encode())
    return out + b"".join(
        message_field(4, message_field(1, name.encode()) + _attribute(value))
        for name, value in attributes.items()
    )


def _float(number: int, value: float) -> bytes:
    return varint(number << 3 | 5) + struct.pack("<f", value)


def _attribute(value: Any) -> bytes:
    """Type and value; integers are INT, as nearly everywhere, or LONG where they must be. numpy's
    doubles are FLOAT64.
    """
    if isinstance(value, bool):
        return message_field(2, 6) + message_field(10, int(value))
    if isinstance(value, int):
        fits = -(2**31) <= value < 2**31
        return message_field(2, 0 if fits else 9) + message_field(3 if fits else 13, value)
    if isinstance(value, np.float64):
        return message_field(2, 15) + varint(19 << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, float):
        return message_field(2, 1) + _float(4, value)
    if isinstance(value, str):
        return message_field(2, 2) + message_field(5, value.encode())
    if not value or isinstance(value[0], float):
        return message_field(2, 4) + b"".join(_float(7, v) for v in value)
    return message_field(2, 3) + b"".join(message_field(6, v) for v in value)
