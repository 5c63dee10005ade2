"""Quantized twins of ONNX networks: what every engine that reads QDQ files gets alike. Those that
do not get the network of real numbers and the same pictures, and quantize it themselves.

onnxruntime's static quantizer makes them: weights int8 per channel, activations uint8 per tensor,
ranges of seeded pictures of smooth noise (white noise says little of real activations).
"""

from __future__ import annotations

import hashlib
import shutil
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
_OTHERS_SEED = 2016
_COARSE = 8  # pixels of noise to a side, before they are interpolated


def quantized(model: Path, folder: Path) -> Path:
    """The QDQ twin of the float model, of the same name in a folder below `folder`; made once, with
    the float model and the pictures beside it, where `origin` finds them.

    MissingRequirementError without onnxruntime; DynamicShapeError for an input of free shape.
    """
    digest = hashlib.sha256(model.read_bytes()).hexdigest()[:16]
    twin = folder / f"{model.stem}-qdq-{digest}" / model.name
    if not twin.exists():
        real, pictures = _origin(twin)
        real.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(model, real)
        with files.replacing(twin) as part:
            feeds = _quantize(model, part)
            np.savez(pictures, **feeds)
    return twin


def origin(twin: Path) -> tuple[Path, Path] | None:
    """The float model that a twin was made of, and an .npz of the pictures that its ranges are of,
    an array [n, ...] for each input; None for other models.
    """
    found = _origin(twin)
    return found if all(path.exists() for path in found) else None


def _origin(twin: Path) -> tuple[Path, Path]:
    folder = twin.parent / "real"
    return folder / twin.name, folder / "pictures.npz"


def _quantize(model: Path, target: Path) -> dict[str, Any]:
    """Writes the twin; returns the pictures by input."""
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
                f"input {name} of {model} has free dimensions", hint="give every dimension a length"
            )

    feeds = list(_feeds(inputs))

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc]
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
            Reader(),
            quant_format=quantization.QuantFormat.QDQ,
            per_channel=True,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
            calibrate_method=quantization.CalibrationMethod.MinMax,
        )
    finally:
        prepared.unlink(missing_ok=True)
    return {name: np.stack([feed[name] for feed in feeds]) for name in inputs}


def _feeds(inputs: dict[str, tuple[int, ...]]) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(_SEED)
    for _ in range(PICTURES):
        yield {name: _smooth(shape, rng) for name, shape in inputs.items()}


def _smooth(shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float32]:
    """Noise of a few pixels to a side, linearly interpolated to an image; other shapes: noise."""
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
    """The pictures that ranges are of, for inputs of these shapes, and as many others of the same
    kind.
    """
    rng = np.random.default_rng(_OTHERS_SEED)
    others = [{name: _smooth(s, rng) for name, s in inputs.items()} for _ in range(PICTURES)]
    return list(_feeds(inputs)), others
