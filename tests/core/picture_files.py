"""Files that Pillow does not write: interlaced PNG, of any depth; JPEG with other names."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Channels of each color type of PNG."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# ISO/IEC 15948, 8.2: the first column and row of each pass, and the steps.
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
           (0, 1, 1, 2))  # fmt: skip


def chunk(name: bytes, data: bytes) -> bytes:
    """A chunk with its length and checksum."""
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def header(width: int, height: int, depth: int, color: int, interlaced: bool = False) -> bytes:
    """The signature and the first chunk."""
    facts = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced)
    return _SIGNATURE + chunk(b"IHDR", facts)


def png(
    samples: NDArray[np.int64],
    depth: int,
    color: int,
    *,
    interlaced: bool = False,
    palette: bytes = b"",
    part_bytes: int = 100,
) -> bytes:
    """A file of the samples [height, width, channels], whose rows have filters in turn.

    `part_bytes`: of a chunk of pixels.
    """
    height, width, _ = samples.shape
    passes = _PASSES if interlaced else ((0, 0, 1, 1),)
    rows = b"".join(
        _filtered(samples[top::row_step, left::step], depth) for left, top, step, row_step in passes
    )
    packed = zlib.compress(rows)
    parts = [packed[i : i + part_bytes] for i in range(0, len(packed), part_bytes)]
    colors = chunk(b"PLTE", palette) if palette else b""
    pixels = b"".join(chunk(b"IDAT", part) for part in parts)
    return header(width, height, depth, color, interlaced) + colors + pixels + chunk(b"IEND", b"")


def _filtered(samples: NDArray[np.int64], depth: int) -> bytes:
    """The rows of a pass, each behind the number of its filter; nothing for no pixels."""
    height, width, channels = samples.shape
    if not height or not width:
        return b""
    bits = (samples.reshape(height, -1, 1) >> np.arange(depth - 1, -1, -1)) & 1
    rows = np.packbits(bits.reshape(height, -1).astype(np.uint8), axis=1).astype(np.int64)
    step = max(channels * depth // 8, 1)
    left = np.pad(rows, ((0, 0), (step, 0)))[:, : rows.shape[1]]
    above = np.pad(rows, ((1, 0), (0, 0)))[:height]
    corner = np.pad(above, ((0, 0), (step, 0)))[:, : rows.shape[1]]
    guess = left + above - corner
    distances = np.abs(guess - np.stack([left, above, corner]))
    paeth = np.choose(distances.argmin(0), [left, above, corner])
    guesses = (0 * rows, left, above, (left + above) // 2, paeth)
    filtered = [(row - guesses[y % 5][y]).astype(np.uint8) for y, row in enumerate(rows)]
    return b"".join(bytes([y % 5]) + row.tobytes() for y, row in enumerate(filtered))


def jpeg_with(file: bytes, app0: bytes, transform: int | None, names: bytes) -> bytes:
    """A JPEG file of three components with other facts about its colors.

    `app0`: the beginning of the segment of that name, b"" for none; `transform`: of Adobe's
    segment, None for none; `names`: of the components.
    """
    start, rest = file[:2], file[2:]
    parts = [start]
    if app0:
        parts.append(b"\xff\xe0\0\x10" + app0 + b"\1\1\0\0\1\0\1\0\0")
    if transform is not None:
        parts.append(b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0" + bytes([transform]))
    while True:
        marker, size = rest[1], struct.unpack(">H", rest[2:4])[0]
        segment, rest = bytearray(rest[: size + 2]), rest[size + 2 :]
        if marker == 0xC0:  # ITU T.81, B.2.2: a name, the factors and a table for each component
            segment[10:19:3] = names
        elif marker == 0xDA:  # B.2.3: a name and the tables for each
            segment[5:11:2] = names
            return b"".join((*parts, bytes(segment), rest))
        if marker != 0xE0:
            parts.append(bytes(segment))
