"""Writes ONNX (https://onnx.ai/onnx/repo-docs/IR.html), for onnxruntime and viewers such as Netron.

Folded operators are absent: batch normalization is in the weights before it, for example.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from trimtab.errors import ExportModelError
from trimtab.exporters.onnx_ops.graph import EMITTERS, OPSET, OnnxGraph, emit
from trimtab.program import Program, Var
from trimtab.program.block import NUMPY_DTYPES

__all__ = ["PEER", "SUFFIXES", "encode", "run_peer"]

SUFFIXES = (".onnx",)
PEER = "onnxruntime"

_IR_VERSION = 9  # the version of opset 20; older runtimes refuse newer ones
MAX_BYTES = 2**31 - 1  # limit of a protobuf message


def encode(program: Program) -> Mapping[str, bytes]:
    """A checked ONNX model. ExportModelError if ONNX cannot express an operator, or if the model is
    larger than 2 GiB.
    """
    graph = OnnxGraph(program)
    EMITTERS.write(program.ops, partial(emit, graph), program.name)
    used = {name for node in graph.nodes for name in node.input}
    weights = [
        numpy_helper.from_array(np.asarray(var.data, order="C"), var.name)
        for var in program.constants()
        if var.data is not None and (var.name in used or var.name in program.outputs)
    ]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            program.name or "program",
            [_info(program.vars[name]) for name in program.inputs],
            [_info(program.vars[name]) for name in program.outputs],
            [*weights, *graph.initializers.values()],
            value_info=[
                _info(program.vars[name])
                for op in program.ops
                for name in op.outputs
                if name not in program.outputs
            ],
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=_IR_VERSION,
        producer_name="trimtab",
    )
    if model.ByteSize() > MAX_BYTES:
        raise ExportModelError(
            f"the ONNX file would have {model.ByteSize():,} bytes, and the limit is {MAX_BYTES:,}",
            where=program.name,
        )
    # Without shape inference, which rounds some fractional scales differently from runtimes.
    onnx.checker.check_model(model)
    return {SUFFIXES[0]: bytes(model.SerializeToString())}


def _info(var: Var) -> onnx.ValueInfoProto:
    dtype = helper.np_dtype_to_tensor_dtype(np.dtype(NUMPY_DTYPES[var.dtype]))
    return helper.make_tensor_value_info(var.name, dtype, var.shape)


def run_peer(
    path: Path, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str]
) -> list[NDArray[Any]]:
    """Computes the outputs by onnxruntime, without optimizations."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return list(session.run(list(outputs), dict(inputs)))
