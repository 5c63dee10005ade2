"""The wire format of protobuf: the fields of a message in a mapped file, without its schema.

The protobuf library reads a whole message into memory. This module finds the parts of a large file
that are worth that, and needs no package. Format: https://protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import NamedTuple

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types
_FIXED_BYTES = {FIXED64: 8, FIXED32: 4}
_MAX_VARINT_BYTES = 10


class IrregularError(Exception):
    """The file is damaged, or has a form that only the library reads."""


class Field(NamedTuple):
    """A field of a message: `start`: the position of its tag, `content` to `end`: its value, which
    is `number` for a varint.
    """

    id: int
    wire_type: int
    start: int
    content: int
    end: int
    number: int = 0


@contextmanager
def mapped(file: BufferedReader) -> Iterator[mmap.mmap]:
    """The content of a file for random access, without a copy."""
    try:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:  # it is empty
        raise IrregularError from None
    with content:
        yield content


def fields(content: mmap.mmap, start: int, end: int) -> Iterator[Field]:
    """The fields of the message between two positions."""
    while start < end:
        tag, at = _varint(content, start)
        number, wire_type = 0, tag & 7
        if wire_type == VARINT:
            number, stop = _varint(content, at)
        elif wire_type == BYTES:
            length, at = _varint(content, at)
            stop = at + length
        elif wire_type in _FIXED_BYTES:
            stop = at + _FIXED_BYTES[wire_type]
        else:
            raise IrregularError
        if stop > end:
            raise IrregularError
        yield Field(tag >> 3, wire_type, start, at, stop, number)
        start = stop


def _varint(content: mmap.mmap, at: int) -> tuple[int, int]:
    """A number, and the position after it."""
    value = 0
    for position, byte in enumerate(content[at : at + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * position
        if byte < 0x80:
            return value, at + position + 1
    raise IrregularError
