"""The expected outputs of an ONNX model, from an implementation that shares nothing with trimtab.

onnxruntime with its optimizations off where it is installed (a development dependency), else the
reference evaluator of the `onnx` package, which is slow and always there. Quantized models run
twice, as `trimtab.bench.qdq_form` says: optimized, because only then onnxruntime computes with
their integers, and with optimizations off, in real numbers between integers.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from trimtab.bench import qdq_form
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
    try:
        (outputs, *others), oracle = _run(path, model, feed, names)
    except Exception as error:  # each runtime has its own families of exceptions
        raise ImportModelError(
            f"no reference output: {error}",
            where=str(path),
            hint="the model must run in onnxruntime before its result can be checked",
        ) from error
    steps = qdq_form.last_steps(model)
    other = others[0] if others else []
    return Golden(list(feed.values()), outputs, names, oracle, steps=steps, others=other)


def _run(
    path: Path, model: onnx.ModelProto, feed: Mapping[str, Array], names: list[str]
) -> tuple[list[list[Array]], str]:
    """The outputs, of a quantized model by each of its definitions, and by what."""
    quantized = qdq_form.is_quantized(model)
    if importlib.util.find_spec("onnxruntime") is None:
        from onnx.reference import ReferenceEvaluator

        real = qdq_form.in_real_numbers(model) if quantized else str(path)
        values = ReferenceEvaluator(real).run(names, dict(feed))
        return [list(values)], f"onnx {onnx.__version__} (reference)"
    import onnxruntime

    def outputs(source: Path | bytes, level: Any) -> list[Array]:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        return list(session.run(names, dict(feed)))

    levels = onnxruntime.GraphOptimizationLevel
    engine = f"onnxruntime {onnxruntime.__version__}"
    if not quantized:
        return [outputs(path, levels.ORT_DISABLE_ALL)], f"{engine} (optimizations off)"
    integers = qdq_form.with_real_softmax(model).SerializeToString()
    real = qdq_form.in_real_numbers(model).SerializeToString()
    both = [outputs(integers, levels.ORT_ENABLE_ALL), outputs(real, levels.ORT_DISABLE_ALL)]
    return both, f"{engine} (in integers, or in real numbers between them)"


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
