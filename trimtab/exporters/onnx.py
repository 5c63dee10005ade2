"""Writes ONNX (https://onnx.ai/onnx/repo-docs/IR.html), for onnxruntime and viewers such as Netron.

    ./inv convert net.ttm net.onnx

The file contains the optimized program: folded operators are absent, and a fused residual or
activation is a node after its operator.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper

from trimtab.errors import ExportModelError
from trimtab.exporters import _activations, _compute, _movement, _recurrent
from trimtab.exporters._graph import OPSET, OnnxGraph, emit
from trimtab.program import Program, Var
from trimtab.program.block import NUMPY_DTYPES

__all__ = ["SUFFIX", "encode"]

SUFFIX = ".onnx"

_IR_VERSION = 9  # the version of opset 20; older runtimes refuse newer ones
_MAX_BYTES = 2**31 - 1  # limit of a protobuf message
# Importing them registers their emitters.
_FAMILIES = (_activations, _compute, _movement, _recurrent)


def encode(program: Program) -> bytes:
    """A checked ONNX model. ExportModelError if the program is planned, has an operator that ONNX
    cannot express, or is larger than 2 GiB.
    """
    if program.planned:
        raise ExportModelError(
            f"the program is planned for {program.target}: its weights are packed for kernels",
            where=program.name,
            hint="convert its source model, or a .ttm that was written without --toolchain",
        )
    graph = OnnxGraph(program)
    for op in program.ops:
        emit(graph, op)
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
    if model.ByteSize() > _MAX_BYTES:
        raise ExportModelError(
            f"the ONNX file would have {model.ByteSize():,} bytes, and the limit is {_MAX_BYTES:,}",
            where=program.name,
        )
    # Without shape inference, which rounds some fractional scales differently from runtimes.
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def _info(var: Var) -> onnx.ValueInfoProto:
    dtype = helper.np_dtype_to_tensor_dtype(np.dtype(NUMPY_DTYPES[var.dtype]))
    return helper.make_tensor_value_info(var.name, dtype, var.shape)
