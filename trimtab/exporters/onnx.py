"""ONNX (https://onnx.ai/onnx/repo-docs/IR.html): for onnxruntime, and to look at in Netron.

    ./inv convert net.ttm net.onnx

What is written is the optimized program: what was folded is gone, what was fused (a residual, an
activation) is a node behind its operator again, as ONNX has no operator for both.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper

from trimtab.errors import ExportModelError
from trimtab.exporters import _activations, _compute, _movement
from trimtab.exporters._graph import EMITTERS, OPSET, Graph, refusal
from trimtab.program import Program, Var
from trimtab.program.program import NUMPY_DTYPES

__all__ = ["SUFFIX", "encode"]

SUFFIX = ".onnx"

_IR_VERSION = 9  # the one of opset 20; newer ones are refused by older runtimes
_MOST_BYTES = 2**31 - 1  # of a protobuf message
_FAMILIES = (_activations, _compute, _movement)  # imported: they declare themselves


def encode(program: Program) -> bytes:
    """An ONNX model, checked. ExportModelError for a program that was planned, for operators that
    ONNX does not have, and for more than 2 GiB.
    """
    if program.planned:
        raise ExportModelError(
            f"it was planned for {program.target}: its weights lie in the order of kernels",
            where=program.name,
            hint="convert the model that it was made from, or a .ttm that was made without "
            "--toolchain",
        )
    graph = Graph(program)
    for op in program.ops:
        if op.type not in EMITTERS:
            raise refusal(op, op.schema.doc.rstrip("."))
        EMITTERS[op.type](graph, op)
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
    if model.ByteSize() > _MOST_BYTES:
        raise ExportModelError(
            f"it takes {model.ByteSize():,} bytes, and a file of ONNX at most {_MOST_BYTES:,}",
            where=program.name,
        )
    # Not its shapes: onnx rounds those of some fractional scales otherwise than its runtimes do.
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def _info(var: Var) -> onnx.ValueInfoProto:
    dtype = helper.np_dtype_to_tensor_dtype(np.dtype(NUMPY_DTYPES[var.dtype]))
    return helper.make_tensor_value_info(var.name, dtype, var.shape)
