"""Reads linker maps, which attribute the bytes of a binary to object files.

The formats are those of LLVM's lld (zig, the NDK) and of GNU ld, as written by `--print-map`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Contribution:
    """The bytes of one section of one object.

    `object` is a path, with the member of an archive in parentheses: `lib.a(conv.cpp.o)`. Bytes
    that the linker generates have the object `<internal>`.
    """

    address: int
    bytes: int
    object: str
    section: str


@dataclass(frozen=True)
class LinkMap:
    """All contributions, sorted by address, and demangled names by symbol address."""

    contributions: tuple[Contribution, ...]
    names: dict[int, str]


INTERNAL = "<internal>"

# lld: VMA, LMA and size in hexadecimal, alignment, then the output section; an input section is
# indented by 8 more columns, a symbol by 16.
_LLD_HEADER = re.compile(r"^\s*VMA\s+LMA\s+Size\s+Align\s+Out\s+In\s+Symbol\s*$")
_LLD_ROW = re.compile(r"^ *([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) +\d+ ( *)(.*)$")
_LLD_INPUT = re.compile(r"^(.+):\((.*)\)$")

_GNU_HEADER = "Linker script and memory map"
_GNU_NAME = re.compile(r"^ (\.\S+)$")
_GNU_INPUT = re.compile(r"^ (\S*) +0x([0-9a-f]+) +0x([0-9a-f]+) (\S.*)$")
_GNU_SYMBOL = re.compile(r"^ {16}0x([0-9a-f]+) {16}([^= ].*)$")
_GNU_GENERATED_OBJECTS = {"linker stubs", "ld-generated"}


def parse(text: str) -> LinkMap:
    """Parses a map of either format; any other text gives an empty map."""
    lines = iter(text.splitlines())
    for line in lines:
        if _LLD_HEADER.match(line):
            return _collected(_lld(lines))
        if line.startswith(_GNU_HEADER):
            return _collected(_gnu(lines))
    return LinkMap((), {})


def _collected(rows: Iterable[Contribution | tuple[int, str]]) -> LinkMap:
    contributions: list[Contribution] = []
    names: dict[int, str] = {}
    for row in rows:
        if isinstance(row, Contribution):
            contributions.append(row)
        else:
            names.setdefault(*row)
    return LinkMap(tuple(sorted(contributions, key=lambda c: c.address)), names)


def _lld(lines: Iterable[str]) -> Iterator[Contribution | tuple[int, str]]:
    for line in lines:
        if not (row := _LLD_ROW.match(line)):
            continue
        address, size, indent = int(row[1], 16), int(row[2], 16), len(row[3])
        if indent == 8 and size and (match := _LLD_INPUT.match(row[4])):
            yield Contribution(address, size, match[1], match[2])
        elif indent == 16 and not row[4].startswith("$"):  # $x, $d, $t are mapping symbols
            yield address, row[4]


def _gnu(lines: Iterable[str]) -> Iterator[Contribution | tuple[int, str]]:
    name = ""
    for line in lines:
        if match := _GNU_NAME.match(line):
            name = match[1]  # a long name stands alone, its numbers on the next line
        elif match := _GNU_INPUT.match(line):
            section, source = match[1] or name, match[4]
            if section != "*fill*" and int(match[3], 16):
                source = INTERNAL if source in _GNU_GENERATED_OBJECTS else source
                yield Contribution(int(match[2], 16), int(match[3], 16), source, section)
        elif match := _GNU_SYMBOL.match(line):
            yield int(match[1], 16), match[2]
