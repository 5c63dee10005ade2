"""Custom operators of MediaPipe, against the builtin operators of LiteRT that compute the same."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import trimtab
from tests.importers.test_tflite_operators import interpreted
from tests.importers.tflite_writer import Model
from tests.ops.cases.case import normal
from trimtab.errors import ImportModelError

X, WEIGHTS, BIAS = normal(1, 5, 7, 4), normal(3, 3, 2, 4), normal(3)


@pytest.mark.parametrize(("padding", "height", "width"), [(0, 10, 14), (1, 11, 14)])
def test_a_transposed_convolution_with_bias(
    padding: int, height: int, width: int, tmp_path: Path
) -> None:
    shape = (1, height, width, 3)
    own, builtin = Model(), Model()
    operands = [own.input(X), own.constant(WEIGHTS), own.constant(BIAS)]
    options = struct.pack("<iii", padding + 1, 2, 2)
    own.outputs = own.add("Convolution2DTransposeBias", operands, [shape], struct=options)
    size = builtin.constant([*shape])
    weights, x, bias = builtin.constant(WEIGHTS), builtin.input(X), builtin.constant(BIAS)
    builtin.outputs = builtin.add(
        "TRANSPOSE_CONV",
        [size, weights, x, bias],
        [shape],
        "TransposeConvOptions",
        Padding=padding,
        StrideH=2,
        StrideW=2,
    )
    path = own.write(tmp_path)
    (y,) = trimtab.Session(path, cache=False).run({"input_0": X}).values()
    (expected,) = interpreted(builtin)
    assert y.shape == expected.shape
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_options_that_are_too_short_are_an_error(tmp_path: Path) -> None:
    model = Model()
    operands = [model.input(X), model.constant(WEIGHTS), model.constant(BIAS)]
    model.outputs = model.add("Convolution2DTransposeBias", operands, [(1, 10, 14, 3)], struct=b"1")
    path = model.write(tmp_path)
    with pytest.raises(ImportModelError, match="its options are shorter"):
        trimtab.load(path)


def computed(model: Model, folder: Path) -> list[NDArray[np.float32]]:
    path = model.write(folder)
    session = trimtab.Session(path, cache=False)
    feeds = dict(zip(session.input_names, model.feeds, strict=True))
    return [np.asarray(y, np.float32) for y in session.run(feeds).values()]


@pytest.mark.parametrize("is_same", [False, True])
@pytest.mark.parametrize(("kernel", "stride"), [((2, 3), (2, 3)), ((3, 2), (1, 2))])
def test_maxima_and_their_places_in_the_window(
    is_same: bool, kernel: tuple[int, int], stride: tuple[int, int], tmp_path: Path
) -> None:
    x = normal(2, 6, 9, 4)
    amounts = []
    for size, length, step in zip(x.shape[1:3], kernel, stride, strict=True):
        missing = max(0, (-(-size // step) - 1) * step + length - size) if is_same else 0
        amounts.append((missing // 2, missing - missing // 2))
    padded = np.pad(x, [(0, 0), *amounts, (0, 0)], constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, (1, 2))
    windows = windows[:, :: stride[0], :: stride[1]].reshape(2, -1, 4, *kernel)
    sizes = [
        (n + sum(pads) - length) // step + 1
        for n, pads, length, step in zip(x.shape[1:3], amounts, kernel, stride, strict=True)
    ]
    shape = (2, *sizes, 4)
    flat = windows.reshape(*shape, -1)
    model = Model()
    options = struct.pack("<iiiiiii", 2 - is_same, *stride[::-1], *kernel[::-1], 0, 0)
    model.outputs = model.add(
        "MaxPoolingWithArgmax2D", [model.input(x)], [shape, shape], struct=options
    )
    y, places = computed(model, tmp_path)
    np.testing.assert_array_equal(y, flat.max(-1))
    np.testing.assert_allclose(places, flat.argmax(-1) + 0.1, 1e-6)


def test_unpooled_values_are_at_the_places_of_the_maxima(tmp_path: Path) -> None:
    x, kernel = normal(2, 3, 4, 5), (3, 2)
    places = np.random.default_rng(2).integers(0, 6, x.shape)
    expected = np.zeros((2, 9, 8, 5), np.float32)
    for n, row, column, c in np.ndindex(*x.shape):
        down, right = divmod(int(places[n, row, column, c]), kernel[1])
        expected[n, row * 3 + down, column * 2 + right, c] = x[n, row, column, c]
    model = Model()
    operands = [model.input(x), model.input(places.astype(np.float32) + np.float32(0.1))]
    options = struct.pack("<iiiiiii", 1, *kernel[::-1], *kernel[::-1], 0, 0)
    model.outputs = model.add("MaxUnpooling2D", operands, [expected.shape], struct=options)
    (y,) = computed(model, tmp_path)
    np.testing.assert_array_equal(y, expected)


def matrix(angle: float, scale: float) -> NDArray[np.float32]:
    c, s = scale * np.cos(angle), scale * np.sin(angle)
    rows = [[c, -s, 0, 1.5], [s, c, 0, -0.7], [0, 0, 1, 0], [0, 0, 0, 1]]
    return np.array([rows], np.float32)


@pytest.mark.parametrize("shape", [(1, 7, 3), (1, 7, 2), (1, 1, 1, 21)])
def test_landmarks_are_moved_in_their_plane(shape: tuple[int, ...], tmp_path: Path) -> None:
    x, m = normal(*shape), matrix(0.4, 1.3)
    options = {"dimensions": 3, "scale": 2.5} if len(shape) == 4 else {}
    size = 3 if len(shape) == 4 else shape[-1]
    points = x.reshape(-1, size).astype(np.float64)
    expected = points.copy()
    expected[:, :2] = points[:, :2] @ m[0, :2, :2].T + m[0, :2, 3] * options.get("scale", 1.0)
    model = Model()
    operands = [model.input(x), model.input(m)]
    model.outputs = model.add("TransformLandmarks", operands, [shape], "", "float32", **options)
    (y,) = computed(model, tmp_path)
    assert y.shape == shape
    np.testing.assert_allclose(y.reshape(-1, size), expected, 1e-5, 1e-5)


@pytest.mark.parametrize("version", [1, 2])
def test_an_image_is_sampled_at_moved_pixels(version: int, tmp_path: Path) -> None:
    x, m = normal(1, 8, 11, 3), matrix(0.3, 0.9)
    height, width = 9, 7
    middle = 0.5 if version == 2 else 0.0
    expected = np.zeros((1, height, width, 3))
    for row, column in np.ndindex(height, width):
        point = np.array([column + middle, row + middle, 0, 1])
        at_x, at_y = (m[0, :2].astype(np.float64) @ point) - middle
        if not (0 <= at_x <= 10 and 0 <= at_y <= 7):
            continue
        left, top = int(at_x), int(at_y)
        right, down = min(left + 1, 10), min(top + 1, 7)
        upper = x[0, top, left] * (left + 1 - at_x) + x[0, top, right] * (at_x - left)
        lower = x[0, down, left] * (left + 1 - at_x) + x[0, down, right] * (at_x - left)
        expected[0, row, column] = upper * (top + 1 - at_y) + lower * (at_y - top)
    model = Model()
    operands = [model.input(x), model.input(m)]
    options: dict[str, Any] = {"mode": "bilinear", "output_size": [height, width]}
    name = "TransformTensor"
    if version == 2:
        name, options = "TransformTensorBilinear", {"output_height": height, "output_width": width}
    model.outputs = model.add(name, operands, [expected.shape], "", "float32", **options)
    (y,) = computed(model, tmp_path)
    np.testing.assert_allclose(y, expected, 1e-4, 1e-4)


def rotation(angle: float) -> NDArray[np.float64]:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def crop(points: NDArray[np.float64], angle: float) -> list[NDArray[np.float64]]:
    """Size and center of the box of points that are turned by an angle."""
    turned = points @ rotation(angle).T
    low, high = turned.min(0), turned.max(0)
    return [high - low, rotation(-angle) @ ((high + low) / 2)]


def scaling(x: float, y: float, shift_x: float = 0, shift_y: float = 0) -> NDArray[np.float64]:
    return np.array([[x, 0, shift_x], [0, y, shift_y], [0, 0, 1]])


def turning(angle: float, x: float, y: float) -> NDArray[np.float64]:
    result = np.eye(3)
    result[:2, :2], result[:2, 2] = rotation(angle), (x, y)
    return result


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("swapped", [False, True])
def test_the_matrix_of_a_crop_around_landmarks(version: int, swapped: bool, tmp_path: Path) -> None:
    points = np.random.default_rng(3).uniform(20, 170, (9, 3)).astype(np.float32)
    subset, ends = [1, 4, 5, 7, 8], (2, 6)[:: -1 if swapped else 1]
    (x0, y0), (x1, y1) = points[[*ends], :2].astype(np.float64)
    chosen = points[subset, :2].astype(np.float64)
    common = {"left_rotation_idx": ends[0], "right_rotation_idx": ends[1]}
    if version == 1:
        angle = -np.arctan((y1 - y0) / (x1 - x0))
        size, center = crop(chosen, angle)
        fields: dict[str, Any] = {
            "dimensions": 3,
            "landmarks_range": 192,
            "bbox_size_multiplier": 1.5,
        }
        fields |= {"input_hw": [48, 64], "output_hw": [16, 32], "subset": subset}
        flat = (
            scaling(31.5, 23.5, 31.5, 23.5)
            @ turning(-angle, *(center / 192 * 2 - 1))
            @ scaling(*(size * 1.5 / 192))
            @ scaling(2 / 31, 2 / 15, -1, -1)
        )
    else:
        angle = 0.2 - np.arctan2(y1 - y0, x1 - x0)
        size, center = crop(chosen, angle)
        fields = {"target_rotation_radians": 0.2, "scale_x": 1.5, "scale_y": 1.25}
        fields |= {"output_height": 16, "output_width": 32, "subset_idxs": subset}
        flat = (
            turning(-angle, *center)
            @ scaling(1.5 * size[0] / 32, 1.25 * size[1] / 16)
            @ scaling(1, 1, -16, -8)
        )
    expected = np.eye(4)
    expected[:2, :2], expected[:2, 3] = flat[:2, :2], flat[:2, 2]
    model = Model()
    x = model.input(points.reshape((1, 1, 1, 27) if version == 1 else (1, 9, 3)))
    options = common | fields
    model.outputs = model.add(
        "Landmarks2TransformMatrix", [x], [(1, 4, 4)], "", "float32", **options
    )
    (y,) = computed(model, tmp_path)
    np.testing.assert_allclose(y[0], expected, 1e-4, 1e-4)
