"""Damages files: arbitrary bytes, or single elements of a format. In the latter case the rest stays
valid, so that the damage reaches deeper code of a reader.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import signal
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import TypeVar

import pytest
from hypothesis import strategies as st

from trimtab import paths
from trimtab.errors import TrimtabError

T = TypeVar("T", bytes, tuple[str, bytes])
Damage = Callable[[st.DataObject, bytes], bytes]
_HANG_S = 60

_NUMBERS = (0, 1, 2, 127, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
_TOKENS = (
    *(b"", b"0", b"-1", b"1", b"2147483648", b"-2147483648", b"999999999999999999999"),
    *(
        b"1e400",
        b"nan",
        b"0.5",
        b"-233",
        b"{",
        b"}",
        b"[",
        b"=",
        b",",
        b'"',
        b"#",
        b"\xff",
        b"name",
    ),
)


def one_of(data: st.DataObject, folder: Path, structures: Mapping[str, Damage]) -> None:
    """Damages one of the files of a folder, also by what its name has in `structures`."""
    victims = sorted(file.name for file in folder.iterdir() if file.stat().st_size)
    victim = folder / data.draw(st.sampled_from(victims))
    kinds = [of_bytes, *([structures[victim.name]] if victim.name in structures else [])]
    content, kind = victim.read_bytes(), data.draw(st.sampled_from(kinds))
    for _ in range(data.draw(st.integers(1, 3))):
        content = kind(data, content) if content else b""
    victim.write_bytes(content)


def findings(target: str, folder: Path) -> Iterator[Path]:
    """`folder` with the files of each earlier finding of a fuzz target in turn."""
    for finding in sorted((paths.root() / "tests" / "fuzz" / "found" / target).glob("*")):
        empty(folder)
        shutil.copytree(finding, folder, dirs_exist_ok=True)
        yield folder


def empty(folder: Path) -> None:
    """Removes the files of a folder."""
    for file in folder.iterdir():
        file.unlink()


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Fails if a reader takes too long; `./inv fuzz` also limits its memory."""

    def stop(_: int, frame: FrameType | None) -> None:
        raise AssertionError(f"no end within {_HANG_S} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(_HANG_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def handled(folder: Path, config: pytest.Config, name: str) -> Iterator[None]:
    """Fails unless what reads the files of a folder succeeds, or raises an error of trimtab. The
    files are kept under this name then, if `./inv fuzz` runs the test.
    """
    try:
        with limited(), contextlib.suppress(TrimtabError):
            yield
    except BaseException:
        if destination := config.getoption("--found"):
            # The last example of Hypothesis is the smallest.
            shutil.copytree(folder, Path(destination) / name, dirs_exist_ok=True)
        raise


def of_bytes(data: st.DataObject, content: bytes) -> bytes:
    """Replaces up to three bytes, and possibly truncates the file."""
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        return bytes(damaged)
    return bytes(damaged[: data.draw(st.integers(1, len(damaged)))])


def of_text(data: st.DataObject, content: bytes) -> bytes:
    """Removes, repeats, swaps or replaces a token."""
    tokens = re.findall(rb"\s+|[\w.+-]+|.", content, re.DOTALL)
    return b"".join(_of_list(data, tokens, lambda _: data.draw(st.sampled_from(_TOKENS))))


def of_protobuf(data: st.DataObject, content: bytes) -> bytes:
    """A field less, twice, in another's place, of another number or value; at any depth, with the
    lengths of all messages around it right.
    """
    fields: list[bytes] = _read_protobuf(content)
    if not fields:
        return of_bytes(data, content) if content else b"\0"

    def changed(field: bytes) -> bytes:
        tag, at = _read_varint(field, 0)
        wire, body = tag & 7, field[at:]
        if data.draw(st.integers(0, 4)) == 0:
            number = data.draw(st.integers(1, 32))
            return _varint(number << 3 | wire) + body
        if wire == 0:
            value = data.draw(st.sampled_from(_NUMBERS) | st.integers(0, 2**64 - 1))
            return _varint(tag) + _varint(value)
        if wire == 2:
            _, start = _read_varint(body, 0)
            inner = of_protobuf(data, body[start:])
            return _varint(tag) + _varint(len(inner)) + inner
        return _varint(tag) + data.draw(st.binary(min_size=len(body), max_size=len(body)))

    return b"".join(_of_list(data, fields, changed))


def of_words(data: st.DataObject, content: bytes) -> bytes:
    """Replaces a number of 16 or 32 bits by another one, or by one from elsewhere in the file.
    Tables and offsets of a flatbuffer are such numbers.
    """
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 3))):
        size = data.draw(st.sampled_from([2, 4]))
        places = st.integers(0, len(content) // size - 1)
        at, other = size * data.draw(places), size * data.draw(places)
        near = int.from_bytes(content[at : at + size], "little") + data.draw(st.integers(-8, 8))
        value = data.draw(st.sampled_from((*_NUMBERS, near))) % 2 ** (8 * size)
        word = value.to_bytes(size, "little")
        is_other = data.draw(st.booleans())
        damaged[at : at + size] = content[other : other + size] if is_other else word
    return bytes(damaged)


def of_zip(data: st.DataObject, content: bytes) -> bytes:
    """Removes, repeats, renames or changes a member of a valid archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    if not members:
        return content

    def changed(member: tuple[str, bytes]) -> tuple[str, bytes]:
        name, body = member
        if data.draw(st.booleans()):
            return data.draw(st.sampled_from([other for other, _ in members] + ["../x"])), body
        return name, of_bytes(data, body) if body else b"\0"

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # duplicate names are intended
        for name, body in _of_list(data, members, changed):
            archive.writestr(name, body)
    return out.getvalue()


def _of_list(data: st.DataObject, items: list[T], changed: Callable[[T], T]) -> list[T]:
    items = list(items)
    at = data.draw(st.integers(0, len(items) - 1))
    match data.draw(st.sampled_from(["change", "drop", "twice", "swap"])):
        case "change":
            items[at] = changed(items[at])
        case "drop":
            del items[at]
        case "twice":
            items.insert(data.draw(st.integers(0, len(items))), items[at])
        case _:
            other = data.draw(st.integers(0, len(items) - 1))
            items[at], items[other] = items[other], items[at]
    return items


def _read_protobuf(content: bytes) -> list[bytes]:
    """The fields of a message, each with its tag; empty if the bytes are not a message."""
    fields, at = [], 0
    try:
        while at < len(content):
            tag, end = _read_varint(content, at)
            match tag & 7:
                case 0:
                    _, end = _read_varint(content, end)
                case 1:
                    end += 8
                case 2:
                    size, end = _read_varint(content, end)
                    end += size
                case 5:
                    end += 4
                case _:
                    return []
            if tag < 8 or end > len(content):
                return []
            fields.append(content[at:end])
            at = end
    except IndexError:
        return []
    return fields


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    """The varint at `at` and its end; IndexError if it is truncated."""
    value = shift = 0
    while True:
        byte = content[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
