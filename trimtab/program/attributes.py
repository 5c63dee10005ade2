"""Attribute blocks: the encoded attributes of an operator, which the engine decodes.

A block has one 8-byte slot per attribute in the order of the schema, then the elements of lists;
see docs/model-format.md, "Attributes".
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from trimtab import kernels, schema
from trimtab.errors import ProgramError

SLOT_BYTES = 8
_WIDE = {"int": "<q", "uint": "<Q", "double": "<d"}


def complete(
    op: schema.Operator,
    attributes: dict[str, Any],
    where: str = "",
    canonical: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """Adds defaults, and converts values to canonical types (int, float, bool, str, tuple).

    `canonical`: those of `attributes` that an operator with the same attribute has already.
    ProgramError for an unknown or missing attribute or a value of the wrong type.
    """
    by_name = op.attributes_by_name
    if unknown := sorted(attributes.keys() - by_name.keys()):
        raise ProgramError(
            f"operator {op.name} has no attribute {', '.join(unknown)}",
            where=where,
            hint=f"it has {', '.join(by_name) or 'none'} (docs/operators.md)",
        )
    values: dict[str, Any] = {}
    defaults = _defaults(op)
    for attribute in op.attributes:
        if attribute.name in canonical:
            values[attribute.name] = canonical[attribute.name]
            continue
        if attribute.name not in attributes and attribute.name in defaults:
            values[attribute.name] = defaults[attribute.name]
            continue
        value = attributes.get(attribute.name, attribute.default)
        if value is None and not attribute.plan:
            raise ProgramError(
                f"operator {op.name} needs attribute {attribute.name}",
                where=where,
                hint=f"{attribute.name}: {attribute.doc} (docs/operators.md)",
            )
        try:
            values[attribute.name] = "" if value is None else _canonical(attribute, value)
        except (TypeError, ValueError, OverflowError) as e:
            raise ProgramError(
                f"attribute {attribute.name} of {op.name}: {e}",
                where=where,
                hint=f"{attribute.name}: {attribute.doc} (docs/operators.md)",
            ) from None
    return values


def _defaults(op: schema.Operator) -> Mapping[str, Any]:
    """The canonical defaults of an operator's attributes."""
    if id(op) not in _DEFAULTS:
        values = {a.name: "" for a in op.attributes if a.default is None and a.plan}
        for a in op.attributes:
            with contextlib.suppress(TypeError, ValueError, OverflowError):
                if a.default is not None:
                    values[a.name] = _canonical(a, a.default)
        _DEFAULTS[id(op)] = op, values
    return _DEFAULTS[id(op)][1]


# By the identity of the operator, which the entry keeps alive: hashing a schema takes long.
_DEFAULTS: dict[int, tuple[schema.Operator, Mapping[str, Any]]] = {}


class AttributeRecord(dict[str, Any]):
    """An element of an attribute that is a list of records. It is hashable and must not change,
    because passes compare operators by their attributes.
    """

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


def _record(fields: tuple[schema.Attribute, ...], record: Any) -> AttributeRecord:
    if not isinstance(record, Mapping):
        raise TypeError(f"{record!r} is not a record of {', '.join(f.name for f in fields)}")
    if unknown := sorted(record.keys() - {f.name for f in fields}):
        raise ValueError(f"a record has no {', '.join(unknown)}")
    values = AttributeRecord()
    for field in fields:
        value = record.get(field.name, field.default)
        if value is None:
            raise ValueError(f"a record lacks {field.name}")
        values[field.name] = _canonical(field, value)
    return values


def _canonical(attribute: schema.Attribute, value: Any) -> Any:
    match attribute.type:
        case "int":
            return _in_range(attribute.range, _integer(value))
        case "uint":
            return _integer(value, 0, 2**64)
        case "float":
            return _real(value)
        case "double":
            return float(value)
        case "bool":
            return bool(value)
        case "records":
            records = tuple(_record(attribute.fields, record) for record in value)
            return _of_length(attribute, records)
        case "ints" | "floats":
            elements = tuple(map(_integer if attribute.type == "ints" else _real, value))
            return _of_length(attribute, elements)
        case "enum":
            if value not in attribute.values:
                raise ValueError(f"{value!r} is not one of {', '.join(attribute.values)}")
        case "op":
            if value and not schema.operator(value).activation:
                raise ValueError(f"{value} is not an element-wise activation")
    return str(value)


def _of_length(attribute: schema.Attribute, elements: tuple[Any, ...]) -> tuple[Any, ...]:
    """`elements`; ValueError if the attribute has another fixed length."""
    lengths = (attribute.length, 4 * attribute.length if attribute.terms else attribute.length)
    if attribute.length and len(elements) not in lengths:
        raise ValueError(f"needs {attribute.length} values, got {len(elements)}")
    return elements


def _integer(value: Any, minimum: int = -(2**63), end: int = 2**63) -> int:
    """A 64-bit integer, by default signed."""
    number = int(value)
    if not minimum <= number < end:
        raise ValueError(f"{number} is out of range")
    return number


def _in_range(range: tuple[int, ...], number: int) -> int:
    """`number`; ValueError if it is outside the attribute's range."""
    if range and not range[0] <= number <= range[1]:
        raise ValueError(f"{number} is not from {range[0]} to {range[1]}")
    return number


def _real(value: Any) -> float:
    """A number in the range of float32."""
    number = float(value)
    struct.pack("<f", number)  # raises OverflowError
    return number


def encode(op: schema.Operator, values: dict[str, Any]) -> bytes:
    """Encodes complete and canonical `values` to an attribute block."""
    tail = bytearray()
    slots = _slots(op.attributes, values, tail, SLOT_BYTES * len(op.attributes))
    tail += bytes(-len(tail) % SLOT_BYTES)
    return slots + bytes(tail)


def _slots(
    attributes: tuple[schema.Attribute, ...], values: Mapping[str, Any], tail: bytearray, start: int
) -> bytes:
    """The slots of attributes; the elements of lists go to `tail`, which begins at `start`."""
    slots = bytearray()
    for attribute in attributes:
        value = values[attribute.name]
        match attribute.type:
            case "int" | "uint" | "double":
                slots += struct.pack(_WIDE[attribute.type], value)
            case "float":
                slots += struct.pack("<fI", value, 0)
            case "bool":
                slots += struct.pack("<II", value, 0)
            case "enum":
                slots += struct.pack("<II", attribute.values.index(value), 0)
            case "op":
                slots += struct.pack("<II", schema.operator(value).id if value else 0, 0)
            case "kernel":
                slots += _encode_kernel(value)
            case "records":
                at = _aligned(tail)
                slots += struct.pack("<II", start + at, len(value))
                tail += bytes(SLOT_BYTES * len(attribute.fields) * len(value))
                for record in value:
                    encoded = _slots(attribute.fields, record, tail, start)
                    tail[at : at + len(encoded)] = encoded
                    at += len(encoded)
            case _:
                slots += struct.pack("<II", start + _aligned(tail), len(value))
                tail += struct.pack(
                    f"<{len(value)}{'q' if attribute.type == 'ints' else 'f'}", *value
                )
    return bytes(slots)


def _aligned(tail: bytearray) -> int:
    tail += bytes(-len(tail) % SLOT_BYTES)
    return len(tail)


def decode(op: schema.Operator, block: bytes) -> dict[str, Any]:
    """Decodes an attribute block that the engine's loader has checked or `encode` has written."""
    return _values(op.attributes, block, 0)


def _values(attributes: tuple[schema.Attribute, ...], block: bytes, start: int) -> dict[str, Any]:
    """Decodes the slots from `start` on."""
    values: dict[str, Any] = {}
    for i, attribute in enumerate(attributes):
        at = start + i * SLOT_BYTES
        word, count = struct.unpack_from("<II", block, at)
        match attribute.type:
            case "int" | "uint" | "double":
                values[attribute.name] = struct.unpack_from(_WIDE[attribute.type], block, at)[0]
            case "float":
                values[attribute.name] = struct.unpack_from("<f", block, at)[0]
            case "bool":
                values[attribute.name] = bool(word)
            case "enum":
                values[attribute.name] = attribute.values[word]
            case "op":
                values[attribute.name] = _op_name(word)
            case "kernel":
                values[attribute.name] = _kernel_name(word)
            case "records":
                stride = SLOT_BYTES * len(attribute.fields)
                values[attribute.name] = tuple(
                    AttributeRecord(_values(attribute.fields, block, word + i * stride))
                    for i in range(count)
                )
            case _:
                letter = "q" if attribute.type == "ints" else "f"
                values[attribute.name] = struct.unpack_from(f"<{count}{letter}", block, word)
    return values


def _encode_kernel(name: str) -> bytes:
    if not name:
        return bytes(SLOT_BYTES)
    kernel = kernels.kernel(name)
    return struct.pack(
        "<IHBB",
        schema.name_hash(name),
        schema.name_hash(kernel.typed_family) & 0xFFFF,
        *kernel.packing,
    )


def _op_name(op_id: int) -> str:
    return next((op.name for op in schema.operators().values() if op.id == op_id), "")


def _kernel_name(name_hash: int) -> str:
    if name_hash == 0:
        return ""
    return next(
        (k for k in kernels.inventory() if schema.name_hash(k) == name_hash), f"#{name_hash:08x}"
    )
