"""ONNX models (opset 6 to the newest that the `onnx` package knows).

`trimtab.importers.onnx_ops` reads and checks the file and translates nodes into operators. Format:
https://github.com/onnx/onnx/blob/main/docs/IR.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trimtab.importers._files import head
from trimtab.importers._graph import Array
from trimtab.importers._inputs import Shapes
from trimtab.importers.onnx_ops import external
from trimtab.program import Program

SUFFIXES = (".onnx",)
# Parts of the names of all operators on quantized values, and the domain of onnxruntime's others.
INT8_MARKS = (b"uantize", b"QLinear", b"QGemm", b"Integer", b"NBits", b"com.microsoft")

# Protobuf tags of the fields of ModelProto that may follow ir_version: producer strings, domain,
# model version, documentation, graph, opset imports.
_SECOND_TAGS = frozenset(b"\x12\x1a\x22\x28\x32\x3a\x42")


def sniff(path: Path) -> bool:
    """Whether the file begins with a small ir_version and another field of ModelProto."""
    start = head(path, 3)
    return len(start) == 3 and start[0] == 0x08 and start[1] < 0x20 and start[2] in _SECOND_TAGS


def files(path: Path) -> list[Path]:
    """The model's file, and those with external data."""
    return [path, *external.files(path)]


def load(path: Path, inputs: Shapes, values: Mapping[str, Array] | None = None) -> Program:
    """Translates the model at `path`; see `trimtab.importers.Importer` for errors.

    `values` replaces inputs by constants, such as the shape input of a Reshape.
    """
    from trimtab.importers.onnx_ops import network

    return network.load(path, inputs, values or {})
