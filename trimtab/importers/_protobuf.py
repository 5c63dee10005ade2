"""Protobuf messages from a table of fields, so that no schema has to be compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# Types of fields, by protobuf's own numbers (FieldDescriptorProto.Type).
DOUBLE, FLOAT, INT64, INT32, BOOL, STRING, MESSAGE, BYTES = 1, 2, 3, 5, 8, 9, 11, 12

Field = tuple[int, int, bool, str]
"""Number, type, repeated, name of the message that it holds."""


def message_class(package: str, schema: Mapping[str, Mapping[str, Field]], name: str) -> Any:
    """The class of message `name`; fields that the schema does not have are skipped when read."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"trimtab/{package}.proto", package=f"trimtab.{package}", syntax="proto2"
    )
    for title, fields in schema.items():
        message = file.message_type.add(name=title)
        for field, (number, kind, repeated, target) in fields.items():
            message.field.add(
                name=field,
                number=number,
                type=kind,
                label=3 if repeated else 1,
                type_name=f".trimtab.{package}.{target}" if target else None,
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"trimtab.{package}.{name}"))
