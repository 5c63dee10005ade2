"""Writes ncnn files, following the public description of the format; runs ncnn as the oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ops.cases.case import Array
from trimtab.exporters import ncnn as exporter

_TAGS = {"f32": 0, "f16": 0x01306B47, "table": 0x12345678, "i8": 0x000D4B38, "scaled": 0x0002C056}

Number = int | float
Param = Number | Sequence[Number] | str


@dataclass(frozen=True)
class Tagged:
    """Weights with a tag for their encoding."""

    values: Array
    form: str = "f32"


def line(
    type: str,
    bottoms: str,
    tops: str = "y",
    params: Mapping[int, Param] | None = None,
    name: str = "",
) -> str:
    """A layer; bottoms and tops are names separated by spaces."""
    pairs = []
    for key, value in (params or {}).items():
        if isinstance(value, int | float):
            pairs.append(f"{key}={_number(value)}")
        elif isinstance(value, str):
            pairs.append(f'{key}="{value}"')
        else:
            numbers = [str(len(value)), *map(_number, value)]
            pairs.append(f"{-23300 - key}={','.join(numbers)}")
    counts = f"{len(bottoms.split())} {len(tops.split())}"
    words = [type, name or (tops.split() or [type])[0], counts, bottoms, tops, *pairs]
    return " ".join(word for word in words if word)


def _number(value: Number) -> str:
    return str(value) if isinstance(value, int) else f"{value:e}"


def head(shapes: Mapping[str, Sequence[int]]) -> list[str]:
    """Input layers for blobs without a batch."""
    keys = {1: (0,), 2: (1, 0), 3: (2, 1, 0), 4: (2, 11, 1, 0)}
    return [
        line("Input", "", name, dict(zip(keys[len(shape)], shape, strict=True)))
        for name, shape in shapes.items()
    ]


def network(lines: Sequence[str]) -> str:
    """The text of a .param file."""
    blobs = sum(int(text.split()[3]) for text in lines)
    return "\n".join(["7767517", f"{len(lines)} {blobs}", *lines, ""])


def binary(weights: Sequence[Array | Tagged]) -> bytes:
    """The content of a .bin file."""
    return b"".join(_buffer(weight) for weight in weights)


def _buffer(weight: Array | Tagged) -> bytes:
    if not isinstance(weight, Tagged):
        return weight.astype("<f4").tobytes()
    values = weight.values.reshape(-1)
    tag = _TAGS[weight.form].to_bytes(4, "little")
    if weight.form == "f16":
        data = values.astype("<f2").tobytes()
    elif weight.form == "table":
        low, high = float(values.min()), float(values.max())
        indices = np.round((values - low) / (high - low) * 255).astype(np.uint8)
        table = np.linspace(low, high, 256, dtype=np.float32)
        data = table.astype("<f4").tobytes() + indices.tobytes()
    elif weight.form == "i8":
        data = values.astype(np.int8).tobytes()
    else:
        data = values.astype("<f4").tobytes()
    return tag + data + bytes(-len(data) % 4)


def write(folder: Path, lines: Sequence[str], weights: Sequence[Array | Tagged] = ()) -> Path:
    """Writes net.param and net.bin; returns the former."""
    path = folder / "net.param"
    path.write_text(network(lines))
    (folder / "net.bin").write_bytes(binary(weights))
    return path


def run_ncnn(path: Path, inputs: Mapping[str, Array], outputs: Sequence[str]) -> list[Array]:
    """The outputs of ncnn; inputs and outputs have no batch."""
    ncnn: Any = pytest.importorskip("ncnn", reason="ncnn is the oracle")
    net = ncnn.Net()
    net.opt.num_threads = 1
    for option in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_storage"):
        setattr(net.opt, f"use_{option}", False)
    assert net.load_param(str(path)) == 0
    assert net.load_model(str(path.with_suffix(".bin"))) == 0
    extractor = net.create_extractor()
    for name, value in inputs.items():
        extractor.input(name, exporter.mat(ncnn, value))
    results = []
    for name in outputs:
        code, mat = extractor.extract(name)
        assert code == 0
        results.append(np.array(mat))
    return results
