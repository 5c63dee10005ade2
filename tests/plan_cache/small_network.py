"""A small network, its input, and the entries that a cache has of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import trimtab
from trimtab.zoo.builder import INPUT, Net

X = np.random.default_rng(3).standard_normal((1, 3, 12, 12)).astype(np.float32)


def network(seed: int = 0, size: int = 12) -> bytes:
    net = Net("small", (1, 3, size, size), seed)
    x = net.conv_bn(net.conv_bn(INPUT, 16, 3), 24, 3, 2)
    net.output(net.linear(net.global_pool(x), 10), "y")
    data: bytes = net.model("").SerializeToString()
    return data


def image(session: trimtab.Session) -> bytes:
    assert session.program.image is not None
    return session.program.image.tobytes()


def entries(folder: Path, suffix: str = ".plan") -> list[Path]:
    return sorted(folder.glob(f"*{suffix}"))
