"""Checkpoints: the values of a training and the number of its steps, in a file that is replaced
atomically. Here and on devices the format is the same (docs/training.md, "Checkpoints").

A header of 64 bytes, the size of each value in bytes (u64), and the values, in the order of the
program's inputs. Sizes and values begin at multiples of 64. The checksum is that of model files,
over the whole file with a checksum of 0.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trimtab import files
from trimtab.engine import engine
from trimtab.errors import ModelFileError

Values = Mapping[str, NDArray[np.float32]]

_HEADER = struct.Struct("<8sQIIQQ24x")  # magic, checksum, version, values, steps, identity
_MAGIC, _VERSION = b"trimtabw", 1
_CHECKSUM = slice(8, 16)
_ALIGNMENT = 64


def encode(values: Values, steps: int) -> bytes:
    """The bytes of a checkpoint."""
    sizes = np.array([value.nbytes for value in values.values()], "<u8")
    header = _HEADER.pack(_MAGIC, 0, _VERSION, len(values), steps, _identity(values))
    parts = [header, sizes.tobytes()]
    parts += [np.asarray(value, "<f4", order="C").tobytes() for value in values.values()]
    data = bytearray().join(part.ljust(_padded(len(part)), b"\0") for part in parts)
    data[_CHECKSUM] = checksum_of(data)
    return bytes(data)


def decode(data: bytes, expected: Values, where: str) -> tuple[dict[str, NDArray[np.float32]], int]:
    """The values and the number of steps of a checkpoint; ModelFileError if it is damaged, or if
    its names or shapes are not those of `expected`.
    """
    sizes = [value.nbytes for value in expected.values()]
    at = _HEADER.size + _padded(8 * len(sizes))
    size = at + sum(map(_padded, sizes))
    if len(data) < _HEADER.size or data[:8] != _MAGIC:
        raise _refused("it is another kind of file", where)
    _, _, version, count, steps, identity = _HEADER.unpack_from(data)
    blank = bytearray(data)
    blank[_CHECKSUM] = bytes(8)
    if version != _VERSION or len(data) % _ALIGNMENT or data[_CHECKSUM] != checksum_of(blank):
        raise _refused("it is damaged, or of another version", where)
    if (count, identity, len(data)) != (len(sizes), _identity(expected), size):
        raise _refused("its tensors are not those of the training", where)
    values = {}
    for name, value in expected.items():
        array = np.frombuffer(data, "<f4", value.size, at)
        values[name] = array.reshape(value.shape).astype(np.float32)
        at += _padded(value.nbytes)
    return values, steps


def write(path: Path, values: Values, steps: int) -> None:
    """Writes a checkpoint; after a power failure the file is the old or the new one."""
    files.write_bytes(path, encode(values, steps), durable=True)


def read(path: Path, expected: Values) -> tuple[dict[str, NDArray[np.float32]], int]:
    """Reads a checkpoint; errors of `decode`, also for a file that cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _refused(f"it cannot be read: {error.strerror}", str(path)) from error
    return decode(data, expected, str(path))


def _refused(reason: str, where: str) -> ModelFileError:
    return ModelFileError(
        f"is not a checkpoint of this training: {reason}",
        where=where,
        hint="use a checkpoint of this training, or begin anew",
    )


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def checksum_of(data: bytearray) -> bytes:
    """The eight bytes for a checkpoint whose own are 0 in `data`."""
    checksum = engine().Checksum()
    checksum.add(np.frombuffer(data, np.uint8))
    return struct.pack("<Q", checksum.digest())


def _identity(values: Values) -> int:
    """A number for the names and shapes of values."""
    text = "".join(f"{name} {list(value.shape)}\n" for name, value in values.items())
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
