"""Protobuf messages from a table of fields, so that no schema has to be compiled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from trimtab.errors import ModelFileError

# Types of fields, by protobuf's own numbers (FieldDescriptorProto.Type); else it is a message.
_TYPES = {"double": 1, "float": 2, "int64": 3, "int32": 5, "bool": 8, "string": 9, "bytes": 12}
_MESSAGE = 11

Field = tuple[int, str]
"""Number and type, or the name of the message that it holds; `*` behind it: repeated."""


def message_class(package: str, schema: Mapping[str, Mapping[str, Field]], name: str) -> Any:
    """The class of message `name`; fields that the schema does not have are skipped when read."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"trimtab/{package}.proto", package=f"trimtab.{package}", syntax="proto2"
    )
    for title, fields in schema.items():
        message = file.message_type.add(name=title)
        for field, (number, kind) in fields.items():
            held = kind.removesuffix("*")
            message.field.add(
                name=field,
                number=number,
                type=_TYPES.get(held, _MESSAGE),
                label=1 if held == kind else 3,
                type_name=None if held in _TYPES else f".trimtab.{package}.{held}",
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"trimtab.{package}.{name}"))


def parsed(message: Any, data: bytes, path: Path, what: str, hint: str) -> Any:
    """`message`, which is empty, with the content of a file; ModelFileError: it is not `what`."""
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise ModelFileError(
            f"is not {what}, or is truncated", where=str(path), hint=hint
        ) from error
    return message
