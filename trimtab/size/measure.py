"""Attributes every byte of a binary, with its unstripped twin and its link map."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from trimtab.errors import BinaryFileError
from trimtab.size import elf, linkmap
from trimtab.size.owner import owner
from trimtab.size.report import SizeReport, Symbol

# A gap between two contributions is alignment up to this many bytes, and unexplained beyond.
_LARGEST_ALIGNMENT = 64


def measure(
    binary: Path, unstripped: Path | None = None, link_map: Path | None = None
) -> SizeReport:
    """Measures a binary, or the `trimtab-run` in the folder of a build.

    The twin and the map are looked for where builds put them: `debug/NAME.full`, `debug/NAME.map`.
    Without a map all code is `unattributed`; without a twin there are no symbols. BinaryFileError
    when a file cannot be read, or when the twin is not of this binary.
    """
    if binary.is_dir():
        binary = binary / "trimtab-run"
    debug = binary.parent / "debug"
    unstripped = unstripped or _present(debug / f"{binary.name}.full")
    link_map = link_map or _present(debug / f"{binary.name}.map")
    image = elf.read(binary)
    found = linkmap.parse(_text(link_map)) if link_map else linkmap.LinkMap((), {})
    pieces = list(_pieces(image, found))
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
        symbols=_symbols(image, unstripped, found) if unstripped else (),
    )


def _present(path: Path) -> Path | None:
    return path if path.is_file() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BinaryFileError(f"cannot read: {error.strerror}", where=str(path)) from None


def _pieces(image: elf.Image, found: linkmap.LinkMap) -> Iterator[tuple[int, int, str]]:
    """(start, end, group) in file offsets: without gap or overlap from 0 to the file's end."""
    backed = sorted((s for s in image.sections if s.file_bytes), key=lambda s: s.offset)
    position = 0
    for section in backed:
        if section.offset > position:
            yield position, section.offset, "padding" if position else "elf"
        end = section.offset + section.file_bytes
        start = max(section.offset, position)
        if not section.is_loaded:
            yield start, end, "elf" if section.name == ".shstrtab" else "symbols"
        else:
            yield from _contributed(section, start, end, found)
        position = max(position, end)
    if position < image.file_bytes:
        yield position, image.file_bytes, "elf"  # the table of section headers


def _contributed(
    section: elf.Section, position: int, end: int, found: linkmap.LinkMap
) -> Iterator[tuple[int, int, str]]:
    """The pieces of one section that is loaded."""
    shift = section.offset - section.address
    first = bisect_right(found.contributions, section.address - 1, key=lambda c: c.address)
    for piece in found.contributions[first:]:
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
    return "padding" if size < _LARGEST_ALIGNMENT else "unattributed"


def _symbols(image: elf.Image, twin_path: Path, found: linkmap.LinkMap) -> tuple[Symbol, ...]:
    """The symbols of what is in the file, largest first; of several for one place, the first."""
    twin = elf.read(twin_path)
    loaded = [(s.name, s.address, s.memory_bytes) for s in image.sections if s.is_loaded]
    if loaded != [(s.name, s.address, s.memory_bytes) for s in twin.sections if s.is_loaded]:
        raise BinaryFileError(
            "is not the unstripped twin: its sections lie elsewhere",
            where=str(twin_path),
            hint="build again",
        )
    spans = [
        (s.address, s.address + s.file_bytes)
        for s in image.sections
        if s.is_loaded and s.file_bytes
    ]
    places: dict[int, elf.RawSymbol] = {}
    for symbol in twin.symbols:
        if any(start <= symbol.address < end for start, end in spans):
            places.setdefault(symbol.address, symbol)
    symbols = [
        Symbol(found.names.get(s.address, s.name), s.bytes, _owner_at(s.address, found))
        for s in places.values()
    ]
    return tuple(sorted(symbols, key=lambda s: (-s.bytes, s.name)))


def _owner_at(address: int, found: linkmap.LinkMap) -> str:
    index = bisect_right(found.contributions, address, key=lambda c: c.address) - 1
    if index >= 0:
        piece = found.contributions[index]
        if address < piece.address + piece.bytes:
            return owner(piece.object, piece.section)
    return "unattributed"
