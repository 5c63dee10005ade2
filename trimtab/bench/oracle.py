"""The expected outputs of an ONNX model, from an implementation independent of trimtab.

That is onnxruntime with optimizations off if it is installed (a development dependency), else the
reference evaluator of the `onnx` package, which is slow but always present. Quantized models run
twice: with optimizations, because only then onnxruntime computes with int8 values, and in QDQ form
without optimizations (see `trimtab.bench.qdq_form`).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from trimtab.bench import onnx_segments, qdq_form
from trimtab.bench.golden import Golden
from trimtab.bench.onnx_segments import CustomNodes
from trimtab.errors import DynamicShapeError, ImportModelError, ModelFileError

Array = NDArray[Any]
SEED = 1

_Run = Callable[[Path | onnx.ModelProto, Mapping[str, Array]], list[Array]]


def onnx_golden(
    path: Path,
    shapes: Mapping[str, tuple[int, ...]],
    custom: CustomNodes | None = None,
    values: Mapping[str, Array] = MappingProxyType({}),
    states: Mapping[str, str] = MappingProxyType({}),
) -> Golden:
    """Seeded inputs for the model at `path`, and the outputs that they must produce.

    `custom`: nodes that are no standard operators, and what computes them. `values`: inputs by name
    that are not drawn. `states`: inputs that are zeros, and the outputs with their next values; the
    result has none of them.

    `shapes` are for inputs with free dimensions; one number for an input without dimensions is its
    value, and the result lacks that input. Floating-point inputs are standard normal, uint8
    any value, others are 0 or 1. Raises ModelFileError, DynamicShapeError, or ImportModelError if
    the oracle cannot run the model.
    """
    try:
        model = onnx.load(path)
    except Exception as error:  # protobuf's DecodeError, OSError, missing external data, ...
        raise ModelFileError(
            f"cannot be read as ONNX: {error}",
            where=str(path),
            hint="the expected output comes from the ONNX model: name that file",
        ) from error
    initial = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in initial]
    rng = np.random.default_rng(SEED)
    feed = {value.name: _of_onnx(value, shapes, rng) for value in inputs} | dict(values)
    feed |= {name: np.zeros_like(feed[name]) for name in states}
    fixed = {value.name for value in inputs if _is_given(value, shapes)}
    names = [value.name for value in model.graph.output]
    try:
        (outputs, *others), oracle = _run(path, model, feed, custom)
    except Exception as error:  # each runtime has its own exception classes
        raise ImportModelError(
            f"the reference output cannot be computed: {error}",
            where=str(path),
            hint="the model must run in onnxruntime, so that its output can be checked",
        ) from error
    scales = qdq_form.output_scales(model)
    alternatives = others[0] if others else []
    arrays = [array for name, array in feed.items() if name not in {*states, *fixed}]
    result = Golden(arrays, outputs, names, oracle, scales=scales, others=alternatives)
    result = result.without(states.values())
    return result.within("f16") if _has_float16(model.graph) else result


def _has_float16(graph: onnx.GraphProto) -> bool:
    """Whether a model holds float16 tensors, which onnxruntime rounds where trimtab computes in
    float32.
    """
    attributes = [a for node in graph.node for a in node.attribute]
    types = {value.type.tensor_type.elem_type for value in (*graph.input, *graph.output)}
    types |= {tensor.data_type for tensor in (*graph.initializer, *(a.t for a in attributes))}
    types |= {a.i for a in attributes if a.name == "to"}
    return onnx.TensorProto.FLOAT16 in types


def _run(
    path: Path | onnx.ModelProto,
    model: onnx.ModelProto,
    feed: Mapping[str, Array],
    custom: CustomNodes | None,
) -> tuple[list[list[Array]], str]:
    """The outputs, in each of the two forms of a quantized model, and the name of the engine.
    `path`: the file of `model`, or `model` itself.
    """
    if custom is not None and not onnx_segments.has_custom_nodes(model, custom):
        custom = None
    quantized = qdq_form.is_quantized(model)
    names = [value.name for value in model.graph.output]

    def outputs(source: Path | onnx.ModelProto, run: _Run) -> list[Array]:
        """The outputs of a file or a model, with custom nodes computed separately."""
        if custom is None:
            return run(source, feed)[: len(names)]
        whole = model if isinstance(source, Path) else source
        return onnx_segments.run(whole, feed, custom, run)[: len(names)]

    also = f"; {custom.oracle}" if custom else ""
    if importlib.util.find_spec("onnxruntime") is None:
        from onnx.reference import ReferenceEvaluator

        def reference(source: Path | onnx.ModelProto, feed: Mapping[str, Array]) -> list[Array]:
            content = str(source) if isinstance(source, Path) else source
            return list(ReferenceEvaluator(content).run(None, dict(feed)))

        source = qdq_form.in_qdq_form(model) if quantized else path
        return [outputs(source, reference)], f"onnx {onnx.__version__} (reference){also}"
    import onnxruntime

    def at(level: Any) -> _Run:
        def run(source: Path | onnx.ModelProto, feed: Mapping[str, Array]) -> list[Array]:
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = level
            options.log_severity_level = 3
            content = source if isinstance(source, Path) else source.SerializeToString()
            session = onnxruntime.InferenceSession(
                content, options, providers=["CPUExecutionProvider"]
            )
            return list(session.run(None, dict(feed)))

        return run

    levels = onnxruntime.GraphOptimizationLevel
    engine = f"onnxruntime {onnxruntime.__version__}"
    plain, fused = at(levels.ORT_DISABLE_ALL), at(levels.ORT_ENABLE_ALL)
    if not quantized:
        return [outputs(path, plain)], f"{engine} (optimizations off){also}"
    forms = [
        outputs(qdq_form.with_float_softmax(model), fused),
        outputs(qdq_form.in_qdq_form(model), plain),
    ]
    return forms, f"{engine} (int8, or QDQ in float32){also}"


def tensors(path: Path, inputs: Mapping[str, Array], names: Iterable[str]) -> dict[str, Array]:
    """The values of tensors of a model, by name, as `onnx_golden` computes the outputs; without
    those that the model does not compute. ImportModelError if the oracle cannot run the model.
    """
    model = onnx.load(path)
    results = {name for node in model.graph.node for name in node.output if name}
    feeds = {value.name for value in model.graph.input}
    chosen = [name for name in dict.fromkeys(names) if name in results]
    del model.graph.output[:]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in chosen)
    feed = {name: value for name, value in inputs.items() if name in feeds}
    try:
        (values, *_), _ = _run(model, model, feed, None)
    except Exception as error:  # each runtime has its own exception classes
        raise ImportModelError(
            f"the reference's tensors cannot be computed: {error}", where=str(path)
        ) from error
    return dict(zip(chosen, values, strict=True))


def samples(inputs: Iterable[tuple[tuple[int, ...], str]]) -> list[Array]:
    """Seeded values for inputs of these shapes and numpy types, as in `onnx_golden`."""
    rng = np.random.default_rng(SEED)
    return [_sample(shape, np.dtype(dtype), rng) for shape, dtype in inputs]


def _of_onnx(
    value: onnx.ValueInfoProto, shapes: Mapping[str, tuple[int, ...]], rng: np.random.Generator
) -> Array:
    tensor = value.type.tensor_type
    if _is_given(value, shapes):
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        return np.array(shapes[value.name][0], dtype)
    dims = [dim.dim_value if dim.HasField("dim_value") else 0 for dim in tensor.shape.dim]
    shape = shapes.get(value.name, tuple(dims))
    if any(dim <= 0 for dim in shape):
        shown = ", ".join(str(dim or "?") for dim in shape)
        raise DynamicShapeError(
            f"input {value.name} has free dimensions: [{shown}]",
            hint=f"give them, e.g. --input {value.name}=1,3,224,224",
        )
    return _sample(shape, onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type), rng)


def _is_given(value: onnx.ValueInfoProto, shapes: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether `shapes` has the value of an input without dimensions."""
    shape = value.type.tensor_type.shape
    is_scalar = value.type.tensor_type.HasField("shape") and not shape.dim
    return is_scalar and len(shapes.get(value.name, ())) == 1


def _sample(shape: tuple[int, ...], dtype: np.dtype[Any], rng: np.random.Generator) -> Array:
    if np.issubdtype(dtype, np.floating):
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, 256 if dtype == np.uint8 else 2, shape).astype(dtype)
