"""Writes ncnn networks: a .param (text) with its .bin (weights).

Layers and parameters are those of
https://github.com/Tencent/ncnn/blob/master/docs/developer-guide/operators.md. A tensor
[1, c, h, w] is a blob [c, h, w].
"""

from __future__ import annotations

from collections.abc import Mapping

from trimtab.exporters.ncnn_ops.graph import NcnnGraph, NcnnOp
from trimtab.program import Program

__all__ = ["SUFFIXES", "encode"]

SUFFIXES = (".param", ".bin")


def encode(program: Program) -> Mapping[str, bytes]:
    """Both files. ExportModelError if ncnn cannot express an operator."""
    graph = NcnnGraph(program)
    graph.build(NcnnOp)
    return {".param": graph.text().encode(), ".bin": graph.weights()}
