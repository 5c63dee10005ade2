"""The weights of a .caffemodel file: a NetParameter message of caffe.proto.

The schema declares only the fields for weights; the protobuf library skips all others, including
those of Caffe's forks. Field numbers are those of caffe.proto. Packed lists of numbers are declared
as `bytes`, which have the same encoding, so that numpy reads them in place.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.errors import ModelFileError
from trimtab.importers._files import read_bytes
from trimtab.importers._graph import Array
from trimtab.importers._protobuf import message_class, parsed

LIMIT_BYTES = 2**31 - 1  # the limit of a protobuf message

# `data` has packed floats, `double_data` packed doubles; `raw_data` is of NVIDIA's fork.
_SCHEMA = {
    "BlobShape": "int64* dim = 1",
    "BlobProto": (
        "int64 num = 1; int64 channels = 2; int64 height = 3; int64 width = 4; bytes* data = 5;"
        "BlobShape shape = 7; bytes* double_data = 8; int32 raw_data_type = 10; bytes raw_data = 12"
    ),
    "Layer": "string name = 1; string type = 2; string* bottom = 3; string* top = 4;"
    "BlobProto* blobs = 7",
    "V1Layer": "string name = 4; BlobProto* blobs = 6",
    "Net": "string name = 1; V1Layer* layers = 2; Layer* layer = 100",
}

_RAW_TYPES = ("<f8", "<f4", "<f2")  # by `raw_data_type`


@cache
def net_class() -> Any:
    """The message of a file."""
    return message_class("caffe", _SCHEMA, "Net")


def read(path: Path) -> dict[str, list[Array]]:
    """The blobs of each layer with weights: float32, in the shapes of the file."""
    hint = "copy it again; it must be a binary NetParameter message"
    net = parsed(net_class()(), read_bytes(path, LIMIT_BYTES), path, "a Caffe model", hint)
    result: dict[str, list[Array]] = {}
    for layer in [*net.layers, *net.layer]:
        if layer.blobs and layer.name not in result:
            result[layer.name] = [
                _array(blob, f"{path}: layer '{layer.name}', blob {i}")
                for i, blob in enumerate(layer.blobs)
            ]
    if not (net.layers or net.layer):
        raise ModelFileError(
            "is not a Caffe model, or is truncated: it has no layers",
            where=str(path),
            hint=hint,
        )
    return result


def _array(blob: Any, where: str) -> Array:
    data, code = _bytes(blob)
    size = np.dtype(code).itemsize
    if blob.HasField("shape"):
        shape = tuple(blob.shape.dim)
    elif any(blob.HasField(name) for name in ("num", "channels", "height", "width")):
        shape = (blob.num, blob.channels, blob.height, blob.width)
    else:
        shape = (len(data) // size,)
    if min(shape, default=1) < 0 or math.prod(shape) * size != len(data):
        raise ModelFileError(
            f"its shape {list(shape)} takes {math.prod(shape)} values, the file has"
            f" {len(data) / size:g}",
            where=where,
            hint="the file is damaged: copy it again",
        )
    return np.frombuffer(data, code).astype(np.float32, copy=False).reshape(shape)


def _bytes(blob: Any) -> tuple[bytes, str]:
    """The data of a blob, and numpy's name of its encoding."""
    if blob.raw_data:
        return blob.raw_data, _RAW_TYPES[blob.raw_data_type if 0 <= blob.raw_data_type < 3 else 1]
    if blob.double_data:
        return b"".join(blob.double_data), "<f8"
    return b"".join(blob.data), "<f4"
