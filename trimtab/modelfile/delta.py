"""Differences of model files: what an update sends in place of the file.

Everything in a file is in blocks of 64 bytes: header, tables, and each constant. A difference says
which blocks of the new file are those of the old one, wherever they were, and has the others. A
constant that was not retrained has the same blocks. docs/model-format.md describes the bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trimtab import files
from trimtab.engine import engine
from trimtab.errors import UsageError
from trimtab.modelfile.reader import read_image
from trimtab.modelfile.records import ALIGNMENT, SEAL

_MAGIC = b"ttdelta1"
_HEADER = struct.Struct("<8sQQQQQ16x")
_STEP = struct.Struct("<III")
_COMPARED = 1 << 14  # blocks at once

Blocks = NDArray[np.uint64]


def difference(old: NDArray[np.uint8], new: NDArray[np.uint8]) -> bytes:
    """The difference that makes the bytes of the model file `new` of those of `old`."""
    body = b"".join(_steps(_blocks(old), _blocks(new)))
    body += bytes(-len(body) % ALIGNMENT)
    seal = SEAL.unpack_from(old.data)
    facts = old.size, *seal[4:6], new.size
    checksum = engine().Checksum()
    for piece in (_HEADER.pack(_MAGIC, 0, *facts), body):
        checksum.add(np.frombuffer(piece, np.uint8))
    return _HEADER.pack(_MAGIC, checksum.digest(), *facts) + body


def write(old: Path, new: Path, output: Path) -> int:
    """Writes the difference of two model files, and returns its size. It is proven: the function of
    the C API makes the new file of it.

    TtmError for files that are damaged or no model files, UsageError if both are the same.
    """
    before, after = read_image(old), read_image(new)
    if np.array_equal(before, after):
        raise UsageError("both files are the same: there is no difference", where=str(new))
    delta = difference(before, after)
    proof = engine().apply_delta(before, np.frombuffer(delta, np.uint8))
    assert np.array_equal(proof, after)
    files.write_bytes(output, delta)
    return len(delta)


def _blocks(image: NDArray[np.uint8]) -> Blocks:
    return np.ascontiguousarray(image).view(np.uint64).reshape(-1, ALIGNMENT // 8)


def _steps(old: Blocks, new: Blocks) -> Iterator[bytes]:
    """Steps with the blocks that they add: as many as possible are copied."""
    indices = _indices(old, new)
    equal = np.flatnonzero(indices >= 0)
    at = 0
    while at < len(new):
        next_equal = np.searchsorted(equal, at)
        begin = int(equal[next_equal]) if next_equal < equal.size else len(new)
        first = max(int(indices[begin]), 0) if begin < len(new) else 0
        count = _common(old[first:], new[begin:])
        yield _STEP.pack(begin - at, count, first) + new[at:begin].tobytes()
        at = begin + count


def _indices(old: Blocks, new: Blocks) -> NDArray[np.int64]:
    """A block of `old` that equals each one of `new`, -1 where there is none."""
    factors = np.random.default_rng(0).integers(1, 2**63, old.shape[1], np.uint64) * 2 + 1
    keys, searched = ((blocks * factors).sum(axis=1, dtype=np.uint64) for blocks in (old, new))
    order = np.argsort(keys, kind="stable")
    indices = order[np.searchsorted(keys[order], searched).clip(max=len(order) - 1)]
    return np.where((old[indices] == new).all(axis=1), indices, -1)


def _common(a: Blocks, b: Blocks) -> int:
    """The number of blocks that both begin with."""
    count = min(len(a), len(b))
    for at in range(0, count, _COMPARED):
        end = min(at + _COMPARED, count)
        differs = np.flatnonzero((a[at:end] != b[at:end]).any(axis=1))
        if differs.size:
            return at + int(differs[0])
    return count
