"""Attribute blocks: the bytes of an operator's attributes, as the engine decodes them.

One 8-byte slot per attribute in schema order, then the elements of lists; see docs/model-format.md,
"Attributes".
"""

from __future__ import annotations

import struct
from typing import Any

from trimtab import kernels, schema
from trimtab.errors import ProgramError

SLOT_BYTES = 8


def complete(op: schema.Operator, given: dict[str, Any], where: str = "") -> dict[str, Any]:
    """`given` with defaults filled in and values in canonical Python types (int, float, bool, str,
    tuples).

    ProgramError for unknown or missing attributes and values of the wrong type.
    """
    if unknown := sorted(set(given) - {a.name for a in op.attributes}):
        raise ProgramError(
            f"operator {op.name} has no attribute {', '.join(unknown)}",
            where=where,
            hint=f"docs/operators.md#{op.name} lists them",
        )
    values: dict[str, Any] = {}
    for attribute in op.attributes:
        value = given.get(attribute.name, attribute.default)
        if value is None and not attribute.plan:
            raise ProgramError(f"operator {op.name} needs attribute {attribute.name}", where=where)
        try:
            values[attribute.name] = "" if value is None else _canonical(attribute, value)
        except (TypeError, ValueError, OverflowError) as e:
            raise ProgramError(
                f"attribute {attribute.name} of {op.name}: {e}", where=where
            ) from None
    return values


def _canonical(attribute: schema.Attribute, value: Any) -> Any:
    match attribute.type:
        case "int":
            return _within(attribute.range, _integer(value))
        case "float":
            return _real(value)
        case "bool":
            return bool(value)
        case "ints" | "floats":
            elements = tuple(map(_integer if attribute.type == "ints" else _real, value))
            if attribute.length and len(elements) != attribute.length:
                raise ValueError(f"needs {attribute.length} values, got {len(elements)}")
            return elements
        case "enum":
            if value not in attribute.values:
                raise ValueError(f"{value!r} is none of {', '.join(attribute.values)}")
        case "op":
            if value and not schema.operator(value).activation:
                raise ValueError(f"{value} is not an element-wise activation")
    return str(value)


def _integer(value: Any) -> int:
    """An integer of 64 bits, which is what a model file has room for."""
    number = int(value)
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{number} is out of range")
    return number


def _within(range: tuple[int, ...], number: int) -> int:
    """A number that is in the attribute's range, if it has one."""
    if range and not range[0] <= number <= range[1]:
        raise ValueError(f"{number} is not from {range[0]} to {range[1]}")
    return number


def _real(value: Any) -> float:
    """A number that a float32 can hold."""
    number = float(value)
    struct.pack("<f", number)  # OverflowError, which says so
    return number


def encode(op: schema.Operator, values: dict[str, Any]) -> bytes:
    """The attribute block of `values` (complete and canonical)."""
    slots, tail = bytearray(), bytearray()
    start = SLOT_BYTES * len(op.attributes)
    for attribute in op.attributes:
        value = values[attribute.name]
        match attribute.type:
            case "int":
                slots += struct.pack("<q", value)
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
            case _:
                tail += bytes(-len(tail) % SLOT_BYTES)
                slots += struct.pack("<II", start + len(tail), len(value))
                tail += struct.pack(
                    f"<{len(value)}{'q' if attribute.type == 'ints' else 'f'}", *value
                )
    tail += bytes(-len(tail) % SLOT_BYTES)
    return bytes(slots + tail)


def decode(op: schema.Operator, block: bytes) -> dict[str, Any]:
    """The values of an attribute block that the engine's loader has checked or we have written."""
    values: dict[str, Any] = {}
    for i, attribute in enumerate(op.attributes):
        at = i * SLOT_BYTES
        word, count = struct.unpack_from("<II", block, at)
        match attribute.type:
            case "int":
                values[attribute.name] = struct.unpack_from("<q", block, at)[0]
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
