"""QDQ versions of float32 ONNX networks, the common input of all engines that run int8.

onnxruntime's static quantizer writes them: int8 weights per channel, uint8 activations per tensor,
calibrated on seeded images of smooth noise (white noise does not resemble real activations).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from trimtab import files
from trimtab.errors import DynamicShapeError, MissingRequirementError

PICTURES = 16
_SEED = 7
_TEST_SEED = 2016
_COARSE = 8  # width and height of the noise before interpolation


def quantized(model: Path, folder: Path) -> Path:
    """The QDQ version of a float32 model, cached below `folder` under the model's file name.

    MissingRequirementError without onnxruntime; DynamicShapeError for free dimensions.
    """
    digest = hashlib.sha256(model.read_bytes()).hexdigest()[:16]
    qdq = folder / f"{model.stem}-qdq-{digest}" / model.name
    if not qdq.exists():
        qdq.parent.mkdir(parents=True, exist_ok=True)
        with files.replacing(qdq) as part:
            _quantize(model, part)
    return qdq


def _quantize(model: Path, target: Path) -> None:
    try:
        from onnxruntime import quantization
        from onnxruntime.quantization.shape_inference import quant_pre_process
    except ImportError as error:
        raise MissingRequirementError(
            f"onnxruntime's quantizer: {error}",
            where="this interpreter",
            hint="./inv setup installs onnxruntime",
        ) from None

    graph = onnx.load(model, load_external_data=False).graph
    initial = {tensor.name for tensor in graph.initializer}
    inputs = {
        value.name: tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
        for value in graph.input
        if value.name not in initial
    }
    for name, shape in inputs.items():
        if not all(shape):
            raise DynamicShapeError(
                f"input {name} of {model} has free dimensions", hint="give every dimension a size"
            )

    feeds = list(_feeds(inputs))

    class SampleReader(quantization.CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._feeds = iter(feeds)

        def get_next(self) -> dict[str, Any] | None:
            return next(self._feeds, None)

    prepared = target.with_suffix(".prepared")
    try:
        quant_pre_process(str(model), str(prepared), skip_symbolic_shape=True)
        quantization.quantize_static(
            str(prepared),
            str(target),
            SampleReader(),
            quant_format=quantization.QuantFormat.QDQ,
            per_channel=True,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
            calibrate_method=quantization.CalibrationMethod.MinMax,
        )
    finally:
        prepared.unlink(missing_ok=True)


def _feeds(inputs: dict[str, tuple[int, ...]]) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(_SEED)
    for _ in range(PICTURES):
        yield {name: _smooth(shape, rng) for name, shape in inputs.items()}


def _smooth(shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float32]:
    """Coarse noise, linearly interpolated to an image; white noise for shapes other than NCHW."""
    if len(shape) != 4:
        return rng.standard_normal(shape).astype(np.float32)
    x = rng.standard_normal((*shape[:2], _COARSE, _COARSE))
    for axis in (2, 3):
        at = np.linspace(0, _COARSE - 1, shape[axis])
        low = np.floor(at).astype(int)
        weight = (at - low).reshape([-1 if a == axis else 1 for a in range(4)])
        high = np.minimum(low + 1, _COARSE - 1)
        x = np.take(x, low, axis) * (1 - weight) + np.take(x, high, axis) * weight
    return x.astype(np.float32)


def pictures(
    inputs: dict[str, tuple[int, ...]],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Calibration images for inputs of these shapes, and as many test images."""
    rng = np.random.default_rng(_TEST_SEED)
    tests = [{name: _smooth(s, rng) for name, s in inputs.items()} for _ in range(PICTURES)]
    return list(_feeds(inputs)), tests
