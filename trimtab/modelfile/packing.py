"""Packs the tables of a file; docs/model-format.md, "Packed tables", describes the tokens.

The engine unpacks them (`Unpack` in runtime/core/loader.cpp).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

_MOST_LITERALS, _MOST_COPIED = 7, 64
_SLACK = bytes(10)  # behind the last token, so that the engine may read it whole
_FAR = 0xFFFF  # the largest distance
_KEY = 3  # bytes that find earlier positions
_POSITIONS = 16  # latest ones of a key that are compared


def pack(data: bytes) -> bytes:
    """Tokens that unpack to `data`."""
    packed = bytearray()
    positions: dict[bytes, list[int]] = defaultdict(list)
    start = indexed = at = distance = 0  # start: of the literals that no token has yet
    while at < len(data):
        for position in range(indexed, at):
            positions[data[position : position + _KEY]].append(position)
        indexed = at
        copied, best = _longest(data, at, distance, positions[data[at : at + _KEY]][-_POSITIONS:])
        if copied:
            packed += _token(data[start:at], copied, best if best != distance else 0)
            distance, at = best, at + copied
            start = at
        else:
            at += 1
        if at - start == _MOST_LITERALS:
            packed += _token(data[start:at], 0, 0)
            start = at
    if start < len(data):
        packed += _token(data[start:], 0, 0)
    return bytes(packed + _SLACK)


def _longest(data: bytes, at: int, near: int, positions: Sequence[int]) -> tuple[int, int]:
    """How many bytes to copy, and from which distance: the copy of `near`, the distance of the
    token before, or of ascending `positions` that saves most bytes; (0, 0) if none does.
    """
    ahead = data[at : at + _MOST_COPIED]
    bits, most = int.from_bytes(ahead, "little"), len(ahead)
    saved = copied = best = 0
    if 0 < near <= at:
        count = _equal(data, at - near, bits, most)
        if count > 1:
            saved, copied, best = count - 1, count, near
    for position in reversed(positions):
        distance = at - position
        if copied == most or distance > _FAR:
            break
        count = _equal(data, position, bits, most)
        gain = count - 3  # another distance takes two bytes more
        if gain > saved or (gain == saved and distance < best):
            saved, copied, best = gain, count, distance
    return copied, best


def _equal(data: bytes, begin: int, bits: int, most: int) -> int:
    """How many of `most` bytes from `begin` on equal those of the little-endian number `bits`,
    rounded down to what one token can copy.
    """
    differing = int.from_bytes(data[begin : begin + most], "little") ^ bits
    count = (differing & -differing).bit_length() - 1 >> 3 if differing else most
    return count if count < 8 else count // 8 * 8


def _token(literals: bytes, copied: int, distance: int) -> bytes:
    """A token with its literals; `distance`: 0 for that of the token before."""
    length = copied if copied < 8 else 7 + copied // 8
    head = bytes([len(literals) << 5 | bool(distance) << 4 | length])
    return head + literals + (distance.to_bytes(2, "little") if distance else b"")
