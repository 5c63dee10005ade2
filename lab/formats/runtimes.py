"""The runtimes that model files are made for, and the inputs of a file."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.exporters import ncnn as exporter

Array = NDArray[Any]
Inputs = dict[str, Array]

IMAGE_SIZE = 64  # of free sides


class NotRunError(Exception):
    """The file's own runtime does not run it."""


def random_array(name: str, shape: Sequence[int], dtype: Any) -> Array:
    """Seeded values: [0, 1) for floating-point types, the whole range for bytes, 0 for others."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return rng.random(shape).astype(kind)
    if kind.itemsize == 1 and kind.kind in "iu":
        limits = np.iinfo(kind)
        return rng.integers(limits.min, limits.max + 1, shape).astype(kind)
    return np.zeros(shape, kind)


def run_onnx(path: Path, shape: Sequence[int]) -> tuple[Inputs, list[Array]]:
    """Inputs and outputs of onnxruntime without optimizations."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options)
    inputs = {}
    for info in session.get_inputs():
        sizes = _filled(info.shape, shape)
        dtype = info.type.removeprefix("tensor(").removesuffix(")")
        dtype = {"float": "float32", "double": "float64"}.get(dtype, dtype)
        inputs[info.name] = random_array(info.name, sizes, dtype)
    return inputs, list(session.run(None, inputs))


def _filled(declared: Sequence[int | str | None], shape: Sequence[int]) -> list[int]:
    """A declared shape with its free dimensions taken from `shape`, or 1 if that is of another
    rank.
    """
    more = shape if len(shape) == len(declared) else [1] * len(declared)
    return [n if isinstance(n, int) and n > 0 else more[i] for i, n in enumerate(declared)]


def run_tflite(path: Path, shape: Sequence[int]) -> tuple[Inputs, list[Array]]:
    """Inputs and outputs of LiteRT with its reference kernels."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    resolver = OpResolverType.BUILTIN_REF
    interpreter = Interpreter(str(path), experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    inputs = {}
    for detail in interpreter.get_input_details():
        array = random_array(detail["name"], detail["shape"].tolist(), detail["dtype"])
        interpreter.set_tensor(detail["index"], array)
        inputs[detail["name"]] = array
    interpreter.invoke()
    outputs = [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]
    return inputs, outputs


def run_ncnn(path: Path, shape: Sequence[int]) -> tuple[Inputs, list[Array]]:
    """Inputs and outputs of ncnn in float32 by its direct algorithms; arrays have no batch there.
    Its faster ones round more: of deep networks, each then has another result.
    """
    ncnn: Any = importlib.import_module("ncnn")  # it has no types
    net = ncnn.Net()
    net.opt.use_vulkan_compute = False
    for option in ("storage", "packed", "arithmetic"):
        setattr(net.opt, f"use_fp16_{option}", False)
    for algorithm in ("winograd", "sgemm"):
        setattr(net.opt, f"use_{algorithm}_convolution", False)
    if net.load_param(str(path)) or net.load_model(str(path.with_suffix(".bin"))):
        raise NotRunError("ncnn does not load it")
    inputs = {name: random_array(name, shape, np.float32) for name in net.input_names()}
    extractor = net.create_extractor()
    for name, array in inputs.items():
        extractor.input(name, exporter.mat(ncnn, array[0]))
    outputs = []
    for name in net.output_names():
        code, mat = extractor.extract(name)
        if code:
            raise NotRunError(f"ncnn does not compute {name}")
        outputs.append(np.array(mat)[np.newaxis])
    return inputs, outputs


def run_caffe(path: Path, shape: Sequence[int]) -> tuple[Inputs, list[Array]]:
    """Inputs and outputs of OpenCV."""
    import cv2

    import trimtab

    net = cv2.dnn.readNetFromCaffe(str(path), str(path.with_suffix(".caffemodel")))
    program = trimtab.load(path)
    inputs = {
        name: random_array(name, program.vars[name].shape, np.float32) for name in program.inputs
    }
    for name, array in inputs.items():
        net.setInput(array, name)
    outputs: Mapping[str, Array] = dict(
        zip(program.outputs, net.forward(list(program.outputs)), strict=True)
    )
    return inputs, list(outputs.values())


RUNTIMES = {
    ".onnx": ("onnxruntime", run_onnx),
    ".tflite": ("LiteRT", run_tflite),
    ".param": ("ncnn", run_ncnn),
    ".prototxt": ("OpenCV", run_caffe),
}
"""The name of the runtime and its function by the suffix of a file."""
