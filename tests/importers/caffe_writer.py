"""Writes Caffe files, following the public caffe.proto and the protobuf encoding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tests.ops.cases.case import Array

Blobs = Mapping[str, Sequence[Array]]


def varint(value: int) -> bytes:
    """The varint encoding of a number."""
    value &= 2**64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number: int, payload: bytes | int) -> bytes:
    """A field: varint, or length-delimited."""
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def blob(array: Array, form: str = "current") -> bytes:
    """BlobProto. `form`: current, legacy (four dimensions), double, half."""
    if form == "legacy":
        shape = (1,) * (4 - array.ndim) + array.shape
        head = b"".join(field(i + 1, n) for i, n in enumerate(shape))
    else:
        head = field(7, field(1, b"".join(varint(n) for n in array.shape)))
    if form == "double":
        return head + field(8, array.astype("<f8").tobytes())
    if form == "half":
        return head + field(10, 2) + field(12, array.astype("<f2").tobytes())
    return head + field(5, array.astype("<f4").tobytes())


def caffemodel(blobs: Blobs, form: str = "current", v1: bool = False) -> bytes:
    """NetParameter with a layer for each entry of `blobs`, and some irrelevant fields."""
    out = field(1, b"a network")
    for name, arrays in blobs.items():
        if v1:
            body = field(2, b"bottom") + field(3, b"top") + field(4, name.encode()) + field(5, 4)
            out += field(2, body + b"".join(field(6, blob(a, form)) for a in arrays))
        else:
            body = field(1, name.encode()) + field(2, b"Some") + field(3, b"bottom")
            out += field(100, body + b"".join(field(7, blob(a, form)) for a in arrays))
    return out


def head(shapes: Mapping[str, Sequence[int]]) -> str:
    """Input layers."""
    return "".join(
        f'layer {{ name: "{name}" type: "Input" top: "{name}"'
        f" input_param {{ shape {{ {' '.join(f'dim: {n}' for n in shape)} }} }} }}\n"
        for name, shape in shapes.items()
    )


def layer(type: str, bottoms: str, tops: str = "y", param: str = "", name: str = "") -> str:
    """A layer as text; bottoms and tops are names separated by spaces."""
    return (
        f'layer {{ name: "{name or tops.split(maxsplit=1)[0]}" type: "{type}"\n'
        + "".join(f'  bottom: "{b}"\n' for b in bottoms.split())
        + "".join(f'  top: "{t}"\n' for t in tops.split())
        + f"  {param}\n}}\n"
    )


def write(folder: Path, text: str, blobs: Blobs | None = None, form: str = "current") -> Path:
    """Writes net.prototxt, and net.caffemodel if there are weights; returns the former."""
    path = folder / "net.prototxt"
    path.write_text(text)
    if blobs:
        (folder / "net.caffemodel").write_bytes(caffemodel(blobs, form))
    return path


def random(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Array:
    """float32 values, the same in every run."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)
