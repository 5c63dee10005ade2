"""The expected outputs of an ONNX model, from an implementation that shares nothing with trimtab.

onnxruntime with its optimisations off where it is installed (a development dependency), else the
reference evaluator of the `onnx` package, which is slow and always there. Quantised models are
optimised: only then onnxruntime computes with their integers.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from trimtab.bench.golden import Golden
from trimtab.errors import DynamicShapeError, ImportModelError, ModelFileError

Array = NDArray[Any]
SEED = 1


def onnx_golden(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> Golden:
    """Seeded inputs for the model at `path`, and the outputs that they must give.

    `shapes`: for inputs with free dimensions. Floating-point inputs are standard normal, others are
    0 or 1. Raises ModelFileError, DynamicShapeError, or ImportModelError when the oracle cannot run
    the model.
    """
    try:
        model = onnx.load(path)
    except Exception as error:  # protobuf's DecodeError, OSError, missing external data, ...
        raise ModelFileError(
            f"cannot be read as ONNX: {error}",
            where=str(path),
            hint="the expected output is computed from the ONNX model: give that one",
        ) from error
    initial = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in initial]
    rng = np.random.default_rng(SEED)
    feed = {value.name: _of_onnx(value, shapes, rng) for value in inputs}
    names = [value.name for value in model.graph.output]
    step = _last_step(model)
    try:
        outputs, oracle = _run(path, feed, names, quantised=step > 0)
    except Exception as error:  # each runtime has its own families of exceptions
        raise ImportModelError(
            f"no reference output: {error}",
            where=str(path),
            hint="the model must run in onnxruntime before its result can be checked",
        ) from error
    return Golden(list(feed.values()), outputs, names, oracle, step=step)


def _last_step(model: onnx.ModelProto) -> float:
    """What a step of the integers is worth that a model has computed last; 0 if it has none."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    scales = [
        node.input[1]
        for node in model.graph.node
        if node.op_type == "DequantizeLinear" and node.input[0] not in constants
    ]
    last = constants.get(scales[-1]) if scales else None
    return float(np.max(onnx.numpy_helper.to_array(last))) if last is not None else 0.0


def _run(
    path: Path, feed: Mapping[str, Array], names: list[str], *, quantised: bool
) -> tuple[list[Array], str]:
    if importlib.util.find_spec("onnxruntime") is None:
        from onnx.reference import ReferenceEvaluator

        evaluator = ReferenceEvaluator(str(path))
        return list(evaluator.run(names, dict(feed))), f"onnx {onnx.__version__} (reference)"
    import onnxruntime

    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = (
        levels.ORT_ENABLE_ALL if quantised else levels.ORT_DISABLE_ALL
    )
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    state = "in integers" if quantised else "optimisations off"
    oracle = f"onnxruntime {onnxruntime.__version__} ({state})"
    return list(session.run(names, dict(feed))), oracle


def samples(inputs: Iterable[tuple[tuple[int, ...], str]]) -> list[Array]:
    """Seeded values for inputs of these shapes and numpy types, as `onnx_golden` makes them."""
    rng = np.random.default_rng(SEED)
    return [_sample(shape, np.dtype(dtype), rng) for shape, dtype in inputs]


def _of_onnx(
    value: onnx.ValueInfoProto, shapes: Mapping[str, tuple[int, ...]], rng: np.random.Generator
) -> Array:
    tensor = value.type.tensor_type
    dims = [dim.dim_value if dim.HasField("dim_value") else 0 for dim in tensor.shape.dim]
    shape = shapes.get(value.name, tuple(dims))
    if any(dim <= 0 for dim in shape):
        shown = ", ".join(str(dim or "?") for dim in shape)
        raise DynamicShapeError(
            f"input {value.name} has free dimensions: [{shown}]",
            hint=f"give them, e.g. --input {value.name}=1,3,224,224",
        )
    return _sample(shape, onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type), rng)


def _sample(shape: tuple[int, ...], dtype: np.dtype[Any], rng: np.random.Generator) -> Array:
    if np.issubdtype(dtype, np.floating):
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, 2, shape).astype(dtype)
