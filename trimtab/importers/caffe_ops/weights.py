"""Weights as .caffemodel files: protobuf messages of caffe.proto, NetParameter and what it holds.

Only what weights need is declared: everything else in the file, and whatever a fork of Caffe adds,
is skipped by the protobuf library as unknown. Field numbers are those of caffe.proto. Packed lists
of numbers are declared as `bytes`, which have the same encoding, so that numpy reads them in place.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from trimtab.errors import ModelFileError
from trimtab.importers._layers import Array, read_bytes

LIMIT_BYTES = 2**31 - 1  # what a protobuf message may have

_INT64, _STRING, _MESSAGE, _BYTES, _INT32 = 3, 9, 11, 12, 5

# Message: field: number, type, repeated, message type.
_SCHEMA: dict[str, dict[str, tuple[int, int, bool, str]]] = {
    "BlobShape": {"dim": (1, _INT64, True, "")},
    "BlobProto": {
        "num": (1, _INT64, False, ""),
        "channels": (2, _INT64, False, ""),
        "height": (3, _INT64, False, ""),
        "width": (4, _INT64, False, ""),
        "data": (5, _BYTES, True, ""),  # packed floats
        "shape": (7, _MESSAGE, False, "BlobShape"),
        "double_data": (8, _BYTES, True, ""),  # packed doubles
        "raw_data_type": (10, _INT32, False, ""),  # NVIDIA's fork: 0 double, 1 float, 2 half
        "raw_data": (12, _BYTES, False, ""),
    },
    "Layer": {
        "name": (1, _STRING, False, ""),
        "blobs": (7, _MESSAGE, True, "BlobProto"),
    },
    "V1Layer": {
        "name": (4, _STRING, False, ""),
        "blobs": (6, _MESSAGE, True, "BlobProto"),
    },
    "Net": {
        "layers": (2, _MESSAGE, True, "V1Layer"),
        "layer": (100, _MESSAGE, True, "Layer"),
    },
}

_RAW_TYPES = ("<f8", "<f4", "<f2")


@cache
def _net_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="trimtab/caffe.proto", package="trimtab.caffe", syntax="proto2"
    )
    for name, fields in _SCHEMA.items():
        message = file.message_type.add(name=name)
        for field, (number, kind, repeated, target) in fields.items():
            message.field.add(
                name=field,
                number=number,
                type=kind,
                label=3 if repeated else 1,
                type_name=f".trimtab.caffe.{target}" if target else None,
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("trimtab.caffe.Net"))


def read(path: Path) -> dict[str, list[Array]]:
    """Blobs of every layer that has some: float32, in the shape that the file gives them."""
    net: Any = _net_class()()
    try:
        net.ParseFromString(read_bytes(path, LIMIT_BYTES))
    except DecodeError as error:
        raise ModelFileError(
            "is not a Caffe model, or is truncated",
            where=str(path),
            hint="copy it again; it must be a binary NetParameter message",
        ) from error
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
            hint="copy it again; it must be a binary NetParameter message",
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
            f"its shape {list(shape)} takes {math.prod(shape)} values, the file holds"
            f" {len(data) / size:g}",
            where=where,
            hint="the file is damaged: copy it again",
        )
    return np.frombuffer(data, code).astype(np.float32, copy=False).reshape(shape)


def _bytes(blob: Any) -> tuple[bytes, str]:
    """The numbers of a blob and numpy's name for their encoding."""
    if blob.raw_data:
        return blob.raw_data, _RAW_TYPES[blob.raw_data_type if 0 <= blob.raw_data_type < 3 else 1]
    if blob.double_data:
        return b"".join(blob.double_data), "<f8"
    return b"".join(blob.data), "<f4"
