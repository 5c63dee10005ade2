"""Writes ncnn networks: a .param (text) with its .bin (weights).

Layers and parameters are those of
https://github.com/Tencent/ncnn/blob/master/docs/developer-guide/operators.md. A tensor
[1, c, h, w] is a blob [c, h, w].
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import ExportModelError
from trimtab.exporters.ncnn_ops.graph import NcnnGraph, NcnnOp
from trimtab.program import Program

__all__ = ["PEER", "SUFFIXES", "encode", "run_peer"]

SUFFIXES = (".param", ".bin")
PEER = "ncnn"

_HALVES = ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_storage")


def encode(program: Program) -> Mapping[str, bytes]:
    """Both files. ExportModelError if ncnn cannot express an operator."""
    graph = NcnnGraph(program)
    graph.build(NcnnOp)
    return {".param": graph.text().encode(), ".bin": graph.weights()}


def run_peer(
    path: Path, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str]
) -> list[NDArray[Any]]:
    """Computes the outputs by ncnn, in float32. ExportModelError if it cannot load the network, or
    has no blob of that name.
    """
    ncnn: Any = importlib.import_module(PEER)  # it has no types
    net = ncnn.Net()
    for option in _HALVES:
        setattr(net.opt, f"use_{option}", False)
    if net.load_param(str(path)) or net.load_model(str(path.with_suffix(SUFFIXES[1]))):
        raise ExportModelError("it cannot be loaded")
    extractor = net.create_extractor()
    for name, value in inputs.items():
        extractor.input(name, mat(ncnn, value[0]))
    results = []
    for name in outputs:
        code, value = extractor.extract(name)
        if code:
            raise ExportModelError(f"its output {name} cannot be computed")
        results.append(np.array(value))
    return results


def mat(ncnn: Any, value: NDArray[Any]) -> Any:
    """The values as a `Mat` of the package `ncnn`, which reads up to 16 bytes behind an array."""
    memory = np.zeros(value.size + 16 // value.itemsize, value.dtype)
    memory[: value.size] = value.ravel()
    return ncnn.Mat(memory[: value.size].reshape(value.shape)).clone()
