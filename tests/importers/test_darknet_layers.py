"""Each Darknet layer and activation against OpenCV or its formula."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers.darknet_writer import net, normalized, section, values, weights, write
from tests.importers.models import assert_close
from tests.importers.opencv import opencv_darknet
from tests.ops.cases.case import Array
from trimtab.importers.darknet_ops import activation
from trimtab.importers.darknet_ops.layer import HANDLERS

X = values(6 * 8 * 12, 99).reshape(1, 6, 8, 12) * np.float32(3)
START = net(12, 8, 6)


def _run(folder: Path, text: str, data: bytes | None, x: Array = X) -> list[Array]:
    program = trimtab.load(write(folder, text, data), {"data": x.shape})
    return list(trimtab.Session(program).run({"data": x}).values())


CONVOLUTIONS = {
    "normalized": (
        {"batch_normalize": 1, "filters": 4, "size": 3, "stride": 1, "pad": 1},
        normalized(4, 54),
    ),
    "biased": ({"filters": 4, "size": 3, "stride": 2, "pad": 1}, [values(4), values(216, 1)]),
    "grouped": (
        {"filters": 6, "size": 3, "groups": 3, "padding": 1},
        [values(6), values(108, 1)],
    ),
    "depthwise": (
        {"batch_normalize": 1, "filters": 6, "size": 5, "groups": 6, "pad": 1, "stride": 2},
        normalized(6, 25),
    ),
    "pointwise with pad": ({"filters": 4, "size": 1, "pad": 1}, [values(4), values(24, 1)]),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_convolution_computes_what_opencv_computes(name: str, tmp_path: Path) -> None:
    options, arrays = CONVOLUTIONS[name]
    text = START + section("convolutional", **options, activation="linear")
    (actual,) = _run(tmp_path, text, weights(*arrays))
    (expected,) = opencv_darknet(text, weights(*arrays), X)
    assert_close(actual, expected, 1e-5)


@pytest.mark.parametrize("version", [(0, 1), (0, 2), (1, 0)])
def test_headers_of_all_versions_are_skipped(version: tuple[int, int], tmp_path: Path) -> None:
    options, arrays = CONVOLUTIONS["biased"]
    text = START + section("convolutional", **options, activation="linear")
    (actual,) = _run(tmp_path, text, weights(*arrays, version=version))
    (expected,) = opencv_darknet(text, weights(*arrays), X)
    assert_close(actual, expected, 1e-5)


def _normalized_channels(x: Array) -> Array:
    positive = np.maximum(x, 0)
    return np.asarray(positive / (positive.sum(1, keepdims=True) + 1e-4))


def _shares(x: Array) -> Array:
    powers = np.exp(x)
    return np.asarray(powers / (powers.sum(1, keepdims=True) + 1e-4))


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


# activations.h
ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "linear": lambda x: x,
    "logistic": _sigmoid,
    "loggy": lambda x: 2 / (1 + np.exp(-x)) - 1,
    "relu": lambda x: x * (x > 0),
    "relu6": lambda x: x.clip(0, 6),
    "elu": lambda x: np.where(x >= 0, x, np.exp(x) - 1),
    "selu": lambda x: 1.0507 * np.where(x >= 0, x, 1.6732 * (np.exp(x) - 1)),
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(0.797885 * x + 0.035677 * x**3)),
    "relie": lambda x: np.where(x > 0, x, 0.01 * x),
    "ramp": lambda x: x * (x > 0) + 0.1 * x,
    "leaky": lambda x: np.where(x > 0, x, 0.1 * x),
    "revleaky": lambda x: np.where(x > 0, x, 0.1 * x),
    "tanh": np.tanh,
    "plse": lambda x: np.select(
        [x < -4, x > 4], [0.01 * (x + 4), 0.01 * (x - 4) + 1], 0.125 * x + 0.5
    ),
    "stair": lambda x: np.floor(x / 2) + (np.floor(x) % 2) * (x - np.floor(x)),
    "hardtan": lambda x: x.clip(-1, 1),
    "lhtan": lambda x: np.select([x < 0, x > 1], [0.001 * x, 0.001 * (x - 1) + 1], x),
    "swish": lambda x: x * _sigmoid(x),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "hard_mish": lambda x: np.select([x > 0, x > -2], [x, x * x / 2 + x], 0.0),
    "normalize_channels": _normalized_channels,
    "normalize_channels_softmax": _shares,
    "normalize_channels_softmax_maxval": lambda x: _shares(x - x.max(1, keepdims=True)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_computes_darknets_formula(name: str, tmp_path: Path) -> None:
    x = X * np.float32(2)
    (actual,) = _run(tmp_path, START + section("activation", activation=name), None, x)
    # The constants of selu and gelu have four to five digits in Darknet.
    assert_close(actual, ACTIVATIONS[name](x.astype(np.float64)), 5e-5)


def test_every_activation_is_tested() -> None:
    assert set(ACTIVATIONS) == set(activation.ACTIVATIONS)


@pytest.mark.parametrize("name", ["relu", "leaky", "logistic", "tanh", "swish", "mish"])
def test_an_activation_after_a_convolution_computes_what_opencv_computes(
    name: str, tmp_path: Path
) -> None:
    text = START + section("convolutional", batch_normalize=1, filters=4, size=1, activation=name)
    (actual,) = _run(tmp_path, text, weights(*normalized(4, 6)))
    (expected,) = opencv_darknet(text, weights(*normalized(4, 6)), X)
    assert_close(actual, expected, 1e-5)


START_LAYER = section("convolutional", filters=6, size=1, activation="linear")
START_WEIGHTS = weights(values(6), values(36, 1))

# Options of layers after a convolution that OpenCV supports.
NETWORKS = {
    "maxpool of 2 by 2": section("maxpool", size=2, stride=2),
    "maxpool of 2 by 1": section("maxpool", size=2, stride=1),
    "maxpool of 5 by 1": section("maxpool", size=5, stride=1),
    "maxpool of 3 by 2": section("maxpool", size=3, stride=2),
    "avgpool": section("avgpool"),
    "upsample": section("upsample", stride=2),
    "dropout": section("dropout", probability=0.5),
    "softmax": section("avgpool") + section("softmax", groups=1),
    "reorg": section("route", layers="0,0") + section("reorg", stride=2),
    "shortcut": section("maxpool", size=3, stride=1)
    + section("shortcut", **{"from": -2}, activation="linear"),
    "shortcut with activation": section("maxpool", size=3, stride=1)
    + section("shortcut", **{"from": -2}, activation="leaky"),
    "route": section("maxpool", size=3, stride=1) + section("route", layers="-1, 0"),
    "route in groups": section("route", layers="-1", groups=2, group_id=1),
    "scale_channels": section("avgpool")
    + section("scale_channels", **{"from": 0}, activation="linear"),
    "sam": section("maxpool", size=3, stride=1)
    + section("sam", **{"from": 0}, activation="linear"),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_layer_computes_what_opencv_computes(name: str, tmp_path: Path) -> None:
    text = START + START_LAYER + NETWORKS[name]
    (actual,) = _run(tmp_path, text, START_WEIGHTS)
    (expected,) = opencv_darknet(text, START_WEIGHTS, X)
    assert_close(actual.reshape(expected.shape), expected, 1e-5)


def _pooled_mean(x: Array) -> Array:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    ones = np.pad(np.ones_like(x), ((0, 0), (0, 0), (1, 1), (1, 1)))
    sums = [
        np.lib.stride_tricks.sliding_window_view(a, (3, 3), axis=(2, 3)).sum((4, 5))
        for a in (padded, ones)
    ]
    return np.asarray(sums[0] / sums[1])


def _reorg(x: Array) -> Array:
    """reorg_cpu of blas.c, with forward = 1."""
    n, c, h, w = x.shape
    out_c = c // 4
    flat, out = x.reshape(-1), np.zeros(x.size)
    for k, j, i in np.ndindex(c, h, w):
        offset = k // out_c
        row, column = j * 2 + offset // 2, i * 2 + offset % 2
        out[column + w * 2 * (row + h * 2 * (k % out_c))] = flat[i + w * (j + h * k)]
    return out.reshape(n, out_c, h * 2, w * 2)


def _grouped_softmax(x: Array) -> Array:
    rows = np.exp(x.reshape(3, -1) / 2)
    return np.asarray((rows / rows.sum(1, keepdims=True)).reshape(x.shape))


def _response(x: Array) -> Array:
    padded = np.pad(x * x, ((0, 0), (1, 1), (0, 0), (0, 0)))
    sums = np.lib.stride_tricks.sliding_window_view(padded, 3, axis=1).sum(4)
    return np.asarray(x * (2 + 0.1 * sums) ** -0.75)


def _signs(x: Array) -> Array:
    """Convolution with 3 x 3 windows of signs; the padding is 0 (convolutional_layer.c)."""
    weight = values(216, 1).reshape(4, 6, 3, 3).astype(float)
    sizes = abs(weight).mean((1, 2, 3), keepdims=True)
    padded = np.pad(np.where(x > 0, 1.0, -1.0), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    y = np.einsum("nchwij,mcij->nmhw", windows, np.where(weight > 0, sizes, -sizes))
    return np.asarray(y + values(4).reshape(4, 1, 1))


def _gaussian(x: Array) -> Array:
    """gaussian_yolo_layer.c, for an anchor of 3 x 5 pixels, 3 classes and images of 12 x 8."""
    rows = []
    n, _, h, w = x.shape
    for anchor, j, i in ((a, j, i) for j in range(h) for i in range(w) for a in range(n)):
        v = x[anchor, :, j, i]
        center = 1.5 * _sigmoid(v[[0, 2]]) - 0.25
        size = np.exp(v[[4, 6]]) * [3 / 12, 5 / 8]
        doubt, objectness = _sigmoid(v[1:8:2]).mean(), _sigmoid(v[8])
        scores = objectness * _sigmoid(v[9:]) * (1 - doubt)
        place = (np.array([i, j]) + center) / [w, h]
        rows.append([*place, *size, objectness, *np.where(scores > 0.2, scores, 0.0)])
    return np.array(rows)


# Layers that OpenCV lacks, with their formulas and weights.
FORMULAS: dict[str, tuple[str, Callable[[Array], Array], list[Array]]] = {
    "local_avgpool": (section("local_avgpool", size=3, stride=1), _pooled_mean, []),
    "upsample with scale": (
        section("upsample", stride=3, scale=0.5),
        lambda x: x.repeat(3, 2).repeat(3, 3) * 0.5,
        [],
    ),
    "logistic": (section("logistic"), _sigmoid, []),
    "empty": (section("empty"), lambda x: x, []),
    "normalization": (section("normalization", size=3, alpha=0.1, kappa=2), _response, []),
    "l2norm": (section("l2norm"), lambda x: x / np.sqrt((x * x).sum(1, keepdims=True)), []),
    "crop": (
        section("crop", crop_width=4, crop_height=6),
        lambda x: x[:, :, 1:7, 4:8] * 2 - 1,
        [],
    ),
    "crop alone": (
        section("crop", crop_width=4, crop_height=6, noadjust=1),
        lambda x: x[:, :, 1:7, 4:8],
        [],
    ),
    "softmax in groups": (section("softmax", groups=3, temperature=2), _grouped_softmax, []),
    "detection": (section("detection", classes=20), lambda x: x, []),
    "connected": (
        section("connected", output=5, activation="relu"),
        lambda x: np.maximum(
            values(2880, 2).reshape(5, 576).astype(float) @ x.reshape(576) + values(5, 1), 0
        ).reshape(1, 5, 1, 1),
        [values(5, 1), values(2880, 2)],
    ),
    "batchnorm": (
        section("batchnorm"),
        lambda x: (
            (x - values(6, 3).reshape(6, 1, 1))
            / np.sqrt(values(6, 4, 0.5, 1).reshape(6, 1, 1) + 1e-6)
            * values(6, 2).reshape(6, 1, 1)
            + values(6, 1).reshape(6, 1, 1)
        ),
        [values(6, 1), values(6, 2), values(6, 3), values(6, 4, 0.5, 1)],
    ),
    "deconvolutional": (
        section("deconvolutional", filters=2, size=2, stride=2, activation="linear"),
        lambda x: (
            np.einsum(
                "ncij,cmkl->nmikjl", x, values(48, 2).reshape(6, 2, 2, 2).astype(float)
            ).reshape(1, 2, 16, 24)
            + values(2, 1).reshape(2, 1, 1)
        ),
        [values(2, 1), values(48, 2)],
    ),
    "implicit_add": (
        section("implicit_add", filters=6) + section("shift_channels", **{"from": 0}),
        lambda x: x + values(6, 1).reshape(6, 1, 1),
        [values(6, 1)],
    ),
    "implicit_mul": (
        section("implicit_mul", filters=6, atoms=8)
        + section("route", layers="0")
        + section("control_channels", **{"from": 1}),
        lambda x: x * values(48, 1).reshape(6, 8, 1),
        [values(48, 1)],
    ),
    "xnor": (
        section("convolutional", filters=4, size=3, pad=1, xnor=1, activation="linear"),
        _signs,
        [values(4), values(216, 1)],
    ),
    "binary": (
        section("convolutional", filters=4, size=1, binary=1, activation="linear"),
        lambda x: (
            np.einsum(
                "nchw,mc->nmhw",
                x,
                np.sign(values(24, 1).reshape(4, 6))
                * abs(values(24, 1).reshape(4, 6)).mean(1, keepdims=True),
            )
            + values(4).reshape(4, 1, 1)
        ),
        [values(4), values(24, 1)],
    ),
    "shortcut of more channels": (
        section("route", layers="0", groups=2, group_id=0)
        + section("shortcut", **{"from": 0}, activation="linear"),
        lambda x: x[:, :3] + x[:, :3],
        [],
    ),
    "shortcut of fewer channels": (
        section("route", layers="0", groups=2, group_id=1)
        + section("route", layers="0")
        + section("shortcut", **{"from": -2}, activation="linear"),
        lambda x: x + np.pad(x[:, 3:], ((0, 0), (0, 3), (0, 0), (0, 0))),
        [],
    ),
    "shortcut of a larger image": (
        section("maxpool", size=1, stride=2)
        + section("shortcut", **{"from": 0}, activation="linear"),
        lambda x: 2 * x[:, :, ::2, ::2],
        [],
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_layer_computes_its_formula(name: str, tmp_path: Path) -> None:
    text, formula, arrays = FORMULAS[name]
    text = START + section("dropout") + text
    (actual,) = _run(tmp_path, text, weights(*arrays))
    assert_close(actual, formula(X.astype(np.float64)), 1e-5)


def test_a_reversed_reorg_computes_its_formula(tmp_path: Path) -> None:
    x = values(8 * 4 * 6).reshape(1, 8, 4, 6)
    text = net(6, 4, 8) + section("reorg", stride=2, reverse=1)
    (actual,) = _run(tmp_path, text, None, x)
    np.testing.assert_array_equal(actual, _reorg(x))


@pytest.mark.parametrize("anchors", [1, 2])
def test_a_gaussian_yolo_head_computes_its_formula(anchors: int, tmp_path: Path) -> None:
    x = values(anchors * 12 * 8 * 12).reshape(1, anchors * 12, 8, 12) * np.float32(4)
    text = net(12, 8, anchors * 12) + section(
        "Gaussian_yolo", anchors=",".join(["3,5"] * anchors), num=anchors, classes=3, scale_x_y=1.5
    )
    (actual,) = _run(tmp_path, text, None, x)
    expected = _gaussian(x.reshape(anchors, 12, 8, 12).astype(np.float64))
    assert 0 < np.count_nonzero(expected[:, 5:]) < expected[:, 5:].size
    assert_close(actual, expected, 1e-5)


def test_connected_weights_of_old_files_are_transposed(tmp_path: Path) -> None:
    matrix = values(30).reshape(6, 5)
    text = net(1, 1, 6) + section("connected", output=5, activation="linear")
    data = weights(values(5, 1), matrix, version=(1001, 0))
    (actual,) = _run(tmp_path, text, data, X[:, :, :1, :1].copy())
    expected = X[0, :, 0, 0] @ matrix + values(5, 1)
    assert_close(actual.reshape(-1), expected, 1e-5)


def test_every_handled_layer_type_is_tested() -> None:
    tested = {part.split("]")[0] for text in NETWORKS.values() for part in text.split("[")[1:]}
    tested |= {part.split("]")[0] for t, _, _ in FORMULAS.values() for part in t.split("[")[1:]}
    tested |= {"convolutional", "activation", "yolo", "region", "gaussian_yolo"}
    other_names = {"conv", "deconv", "conn", "max", "avg", "lrn", "soft", "noise", "silence"}
    assert tested | other_names == set(HANDLERS)
