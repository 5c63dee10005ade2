"""Writes Darknet files, following parser.c."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from tests.ops.cases.case import Array


def net(width: int, height: int, channels: int) -> str:
    """The first section."""
    return f"[net]\nbatch=64\nwidth={width}\nheight = {height}\nchannels={channels}\n\n"


def section(type: str, **options: object) -> str:
    """A layer."""
    lines = "".join(f"{name}={value}\n" for name, value in options.items())
    return f"[{type}]\n{lines}\n"


def weights(*arrays: Array, version: tuple[int, int] = (0, 2)) -> bytes:
    """A .weights file: header, then all values."""
    wide = version[0] * 10 + version[1] >= 2 and max(version) < 1000
    head = struct.pack("<3i", *version, 0) + struct.pack("<q" if wide else "<i", 32013312)
    return head + b"".join(a.astype("<f4").tobytes() for a in arrays)


def values(count: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Array:
    """float32 values, the same in every run."""
    return np.random.default_rng(seed).uniform(low, high, count).astype(np.float32)


def normalized(filters: int, taps: int, seed: int = 0) -> list[Array]:
    """Values of a convolution with batch_normalize: biases, scales, means, variances, weights."""
    return [
        values(filters, seed),
        values(filters, seed + 1, 0.5, 1.5),
        values(filters, seed + 2),
        values(filters, seed + 3, 0.3, 1.0),
        values(filters * taps, seed + 4),
    ]


def write(folder: Path, text: str, data: bytes | None = None) -> Path:
    """Writes net.cfg, and net.weights if there are weights; returns the former."""
    path = folder / "net.cfg"
    path.write_text(text)
    if data is not None:
        (folder / "net.weights").write_bytes(data)
    return path
