"""Writes PNNX files, following the public description of the format."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.ops.cases.case import Array


def line(
    type: str,
    name: str,
    inputs: str,
    outputs: str,
    params: Mapping[str, Any] | None = None,
    keys: Mapping[str, str] | None = None,
    weights: Mapping[str, Array] | None = None,
) -> str:
    """An operator; inputs and outputs are names separated by spaces."""
    words = [type, name, str(len(inputs.split())), str(len(outputs.split())), inputs, outputs]
    words += [f"{key}={_text(value)}" for key, value in (params or {}).items()]
    words += [f"@{key}={_tensor(value)}" for key, value in (weights or {}).items()]
    words += [f"${key}={value}" for key, value in (keys or {}).items()]
    return " ".join(word for word in words if word)


def _text(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"({','.join(map(_text, value))})"
    return f"{value:e}" if isinstance(value, float) else str(value)


def _tensor(array: Array) -> str:
    names = {"float32": "f32", "float16": "f16", "int64": "i64", "float64": "f64"}
    return f"({','.join(map(str, array.shape))}){names[str(array.dtype)]}"


def input_line(name: str, operand: str, shape: Sequence[int | str]) -> str:
    """An input."""
    sizes = ",".join(map(str, shape))
    return f"pnnx.Input {name} 0 1 {operand} #{operand}=({sizes})f32"


def output_line(name: str, operands: str) -> str:
    """An output."""
    return f"pnnx.Output {name} {len(operands.split())} 0 {operands}"


def network(lines: Sequence[str]) -> str:
    """The text of a .pnnx.param file."""
    operands = sum(int(text.split()[3]) for text in lines)
    return "\n".join(["7767517", f"{len(lines)} {operands}", *lines, ""])


def write(folder: Path, lines: Sequence[str], weights: Mapping[str, Array] | None = None) -> Path:
    """Writes net.pnnx.param and net.pnnx.bin (weights: operator.attribute); returns the former."""
    path = folder / "net.pnnx.param"
    path.write_text(network(lines))
    with zipfile.ZipFile(folder / "net.pnnx.bin", "w") as archive:
        for name, value in (weights or {}).items():
            archive.writestr(name, value.tobytes())
    return path
