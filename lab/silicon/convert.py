"""Writes networks for LiteRT and ExecuTorch beside their ONNX files; needs torch.

    pip install torch onnx onnx2torch executorch litert-torch
    python lab/silicon/convert.py NET.onnx...

Both engines read what was exported from torch: onnx2torch turns the ONNX graph into a module,
ExecuTorch lowers its export to XNNPACK (NET.pte), litert-torch writes NET.tflite. A file that a
converter refuses is named with the reason, and the others are written. litert-torch has no wheels
for aarch64: convert on x86-64.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx


def executorch(module: Any, inputs: tuple[Any, ...], path: Path) -> None:
    """Lowers a module to XNNPACK and writes the program."""
    torch = importlib.import_module("torch")
    exir = importlib.import_module("executorch.exir")
    xnnpack = importlib.import_module("executorch.backends.xnnpack.partition.xnnpack_partitioner")
    exported = torch.export.export(module, inputs)
    lowered = exir.to_edge_transform_and_lower(exported, partitioner=[xnnpack.XnnpackPartitioner()])
    lowered.to_executorch().save(str(path))


def litert(module: Any, inputs: tuple[Any, ...], path: Path) -> None:
    """Writes a TFLite file, whose inputs and outputs keep the order of dimensions of the module."""
    importlib.import_module("litert_torch").convert(module, inputs).export(str(path))


CONVERTERS: dict[str, Callable[[Any, tuple[Any, ...], Path], None]] = {
    ".pte": executorch,
    ".tflite": litert,
}


def convert(model: Path) -> list[str]:
    """Writes the files of an ONNX network; returns the reasons for those that are missing."""
    torch = importlib.import_module("torch")
    graph = onnx.load(model)
    module = importlib.import_module("onnx2torch").convert(graph).eval()
    initial = {tensor.name for tensor in graph.graph.initializer}
    shapes = [
        [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in graph.graph.input
        if value.name not in initial
    ]
    draw = np.random.default_rng(0).standard_normal
    inputs = tuple(torch.from_numpy(draw(shape).astype(np.float32)) for shape in shapes)
    reasons = []
    for suffix, write in CONVERTERS.items():
        path = model.with_suffix(suffix)
        try:
            write(module, inputs, path)
        except Exception as error:  # converters raise errors of many kinds
            first = str(error).strip().partition("\n")[0][:200]
            reasons.append(f"{path.name}: {type(error).__name__}: {first}")
            path.unlink(missing_ok=True)
    return reasons


if __name__ == "__main__":
    for name in sys.argv[1:] or sys.exit("usage: convert.py NET.onnx..."):
        for reason in convert(Path(name)) or [f"{name}: converted"]:
            print(reason, flush=True)
