"""Protobuf messages from a table of fields, without a compiled schema."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from trimtab.errors import ModelFileError

# Scalar types by FieldDescriptorProto.Type; any other type is a message.
_TYPES = {"double": 1, "float": 2, "int64": 3, "int32": 5, "bool": 8, "string": 9, "bytes": 12}
_MESSAGE = 11


def message_class(package: str, schema: Mapping[str, str], name: str) -> Any:
    """The class of message `name`; it skips fields that are not in the schema, which has those of
    each message as in a .proto file: "int64* dim = 1; Layer layer = 2", where * means repeated.
    """
    file = descriptor_pb2.FileDescriptorProto(
        name=f"trimtab/{package}.proto", package=f"trimtab.{package}", syntax="proto2"
    )
    for title, fields in schema.items():
        message = file.message_type.add(name=title)
        for kind, field, _, number in map(str.split, fields.split(";")):
            element = kind.removesuffix("*")
            message.field.add(
                name=field,
                number=int(number),
                type=_TYPES.get(element, _MESSAGE),
                label=1 if element == kind else 3,
                type_name=None if element in _TYPES else f".trimtab.{package}.{element}",
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"trimtab.{package}.{name}"))


def parsed(message: Any, data: bytes, path: Path, what: str, hint: str) -> Any:
    """Parses the content of a file into the empty `message`; ModelFileError: it is not `what`."""
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise ModelFileError(
            f"is not {what}, or is truncated", where=str(path), hint=hint
        ) from error
    return message
