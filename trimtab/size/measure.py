"""Attributes every byte of a binary to a part, from its link map and its unstripped copy."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from trimtab.errors import BinaryFileError
from trimtab.paths import PROGRAM
from trimtab.size import elf, linkmap
from trimtab.size.owner import owner
from trimtab.size.report import SizeReport, Symbol

# A larger gap between two contributions is not alignment padding, but unattributed.
_MAX_ALIGNMENT = 64


def measure(
    binary: Path, unstripped: Path | None = None, link_map: Path | None = None
) -> SizeReport:
    """Measures a binary, or the `trimtab-run` in a build's folder.

    The unstripped copy and the map default to the files of a build: `debug/NAME.full` and
    `debug/NAME.map`. Without a map all code is `unattributed`; without the copy there are no
    symbols. Raises BinaryFileError if a file cannot be read, or if the copy is of another binary.
    """
    if binary.is_dir():
        binary = binary / "trimtab-run"
    debug = binary.parent / "debug"
    unstripped = unstripped or _present(debug / f"{binary.name}.full")
    link_map = link_map or _present(debug / f"{binary.name}.map")
    image = elf.read(binary)
    contributions = linkmap.parse(_text(link_map)) if link_map else linkmap.LinkMap((), {})
    pieces = list(_pieces(image, contributions))
    groups = Counter[str]()
    for start, end, group in pieces:
        groups[group] += end - start
    sections = Counter[str]()
    for section in image.sections:
        if section.file_bytes:
            sections[section.name] += section.file_bytes
    sections["(headers)"] = groups["elf"] - sections[".shstrtab"]
    sections["(padding)"] = image.file_bytes - sum(sections.values())
    return SizeReport(
        name=binary.parent.name if binary.name == "trimtab-run" else binary.name,
        file_bytes=image.file_bytes,
        memory_bytes=sum(s.memory_bytes for s in image.sections if s.is_loaded),
        sections={name: n for name, n in sections.most_common() if n},
        groups={name: n for name, n in groups.most_common() if n},
        symbols=_symbols(image, unstripped, contributions) if unstripped else (),
    )


def _present(path: Path) -> Path | None:
    return path if path.is_file() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BinaryFileError(
            f"cannot read the file: {error.strerror}",
            where=str(path),
            hint=f"name a binary, or a folder that {PROGRAM} build has made",
        ) from None


def _pieces(image: elf.Image, link_map: linkmap.LinkMap) -> Iterator[tuple[int, int, str]]:
    """(start, end, group) in file offsets, which cover the file without gaps or overlaps."""
    in_file = sorted((s for s in image.sections if s.file_bytes), key=lambda s: s.offset)
    position = 0
    for section in in_file:
        if section.offset > position:
            yield position, section.offset, "padding" if position else "elf"
        end = section.offset + section.file_bytes
        start = max(section.offset, position)
        if not section.is_loaded:
            yield start, end, "elf" if section.name == ".shstrtab" else "symbols"
        else:
            yield from _contributed(section, start, end, link_map)
        position = max(position, end)
    if position < image.file_bytes:
        yield position, image.file_bytes, "elf"  # the table of section headers


def _contributed(
    section: elf.Section, position: int, end: int, link_map: linkmap.LinkMap
) -> Iterator[tuple[int, int, str]]:
    """The pieces of one loaded section."""
    shift = section.offset - section.address
    first = bisect_right(link_map.contributions, section.address - 1, key=lambda c: c.address)
    for piece in link_map.contributions[first:]:
        start = max(piece.address + shift, position)
        stop = min(piece.address + piece.bytes + shift, end)
        if piece.address + shift >= end:
            break
        if stop <= start:
            continue
        if start > position:
            yield position, start, _gap(start - position)
        yield start, stop, owner(piece.object, piece.section)
        position = stop
    if position < end:
        yield position, end, _gap(end - position)


def _gap(size: int) -> str:
    return "padding" if size < _MAX_ALIGNMENT else "unattributed"


def _symbols(
    image: elf.Image, unstripped_path: Path, link_map: linkmap.LinkMap
) -> tuple[Symbol, ...]:
    """The symbols with bytes in the file, largest first; the first of several at one address."""
    unstripped = elf.read(unstripped_path)
    loaded = [(s.name, s.address, s.memory_bytes) for s in image.sections if s.is_loaded]
    if loaded != [(s.name, s.address, s.memory_bytes) for s in unstripped.sections if s.is_loaded]:
        raise BinaryFileError(
            "not the unstripped copy of this binary: its sections have other addresses",
            where=str(unstripped_path),
            hint="build again",
        )
    spans = [
        (s.address, s.address + s.file_bytes)
        for s in image.sections
        if s.is_loaded and s.file_bytes
    ]
    by_address: dict[int, elf.RawSymbol] = {}
    for symbol in unstripped.symbols:
        if any(start <= symbol.address < end for start, end in spans):
            by_address.setdefault(symbol.address, symbol)
    symbols = [
        Symbol(link_map.names.get(s.address, s.name), s.bytes, _owner_at(s.address, link_map))
        for s in by_address.values()
    ]
    return tuple(sorted(symbols, key=lambda s: (-s.bytes, s.name)))


def _owner_at(address: int, link_map: linkmap.LinkMap) -> str:
    index = bisect_right(link_map.contributions, address, key=lambda c: c.address) - 1
    if index >= 0:
        piece = link_map.contributions[index]
        if address < piece.address + piece.bytes:
            return owner(piece.object, piece.section)
    return "unattributed"
