"""Checkpoints: the values and the iteration of a training, in a file that is replaced atomically.

The file is the SHA-256 of its rest, and an .npz archive of float32 arrays by name and the number of
completed iterations.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import files
from trimtab.errors import ModelFileError

_PREFIX, _ITERATION = "value.", "iteration"
_DIGEST_BYTES = 32

Values = Mapping[str, NDArray[np.float32]]


def write(path: Path, values: Values, iteration: int) -> None:
    """Writes a checkpoint; after a power failure the file is the old or the new one."""
    stream = io.BytesIO()
    arrays: dict[str, Any] = {f"{_PREFIX}{name}": value for name, value in values.items()}
    arrays[_ITERATION] = np.array(iteration)
    np.savez(stream, **arrays)
    archive = stream.getvalue()
    files.write_bytes(path, _digest(archive) + archive, durable=True)


def read(path: Path, expected: Values) -> tuple[dict[str, NDArray[np.float32]], int]:
    """The values and the iteration of a checkpoint; ModelFileError if it is damaged, or if its
    names or shapes are not those of `expected`.
    """
    hint = "use a checkpoint of this training, or begin anew"
    try:
        data = path.read_bytes()
        archive = data[_DIGEST_BYTES:]
        if _digest(archive) != data[:_DIGEST_BYTES]:
            raise ValueError("it is damaged")
        with np.load(io.BytesIO(archive), allow_pickle=False) as arrays:
            if {*arrays.files} != {_ITERATION, *(f"{_PREFIX}{name}" for name in expected)}:
                raise ValueError("its tensors are not those of the training")
            values = {name: arrays[f"{_PREFIX}{name}"] for name in expected}
            iteration = int(arrays[_ITERATION])
        for name, value in values.items():
            if (value.shape, value.dtype) != (expected[name].shape, expected[name].dtype):
                raise ValueError(f"{name} is {value.dtype}{list(value.shape)}")
    except Exception as error:  # numpy, zipfile and zlib raise many kinds for damaged files
        reason = str(error) or type(error).__name__
        raise ModelFileError(
            f"is no checkpoint of this training: {reason}", where=str(path), hint=hint
        ) from error
    return values, iteration


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
