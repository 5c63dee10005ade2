"""Nodes with constant inputs that are computed during the import, and the size of their results."""

from __future__ import annotations

import math
from collections.abc import Mapping

import onnx
from onnx import helper, numpy_helper, shape_inference

from trimtab.importers._graph import Array
from trimtab.importers.onnx_ops.node import OnnxNode

MAX_SHAPE_ELEMENTS = 64
"""Larger operands are not shapes."""

# Constant folding would give these the same result in every run.
RANDOM = frozenset(
    (
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    )
)


def expected_bytes(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> int:
    """The size of the results of a one-node model by shape inference. Where that fails, an index
    per dimension of each element, as of NonZero.
    """
    small = {name: value for name, value in feeds.items() if value.size <= MAX_SHAPE_ELEMENTS}
    model.graph.initializer.extend(numpy_helper.from_array(v, name) for name, v in small.items())
    try:
        outputs = shape_inference.infer_shapes(model).graph.output
    except Exception:  # a damaged node: the error comes when it is computed
        outputs = ()
    finally:
        del model.graph.initializer[:]
    types = [info.type.tensor_type for info in outputs]
    inferred = [t for t in types if t.elem_type and t.HasField("shape")]
    dims = [dim for t in inferred for dim in t.shape.dim]
    if not inferred or not all(dim.HasField("dim_value") for dim in dims):
        return sum(8 * value.size * max(1, value.ndim) for value in feeds.values())
    return sum(
        math.prod(dim.dim_value for dim in t.shape.dim)
        * helper.tensor_dtype_to_np_dtype(t.elem_type).itemsize
        for t in inferred
    )


def is_foldable(node: OnnxNode, proto: onnx.NodeProto) -> bool:
    """Whether a node with constant inputs has a deterministic result."""
    if proto.domain not in ("", "ai.onnx") or node.type in RANDOM:
        return False
    if any(a.HasField("g") or a.graphs for a in proto.attribute):
        return False
    if node.type == "DequantizeLinear":
        return False  # the handler keeps the quantized form
    return bool(proto.input)
