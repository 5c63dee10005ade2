"""int8 layers of ncnn against ncnn, with a tolerance of one scale.

ncnn rounds halves away from zero, trimtab to even. ncnn saturates at -127, trimtab at -128. ncnn
adds float32 biases, which trimtab rounds to int32.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.importers.caffe_writer import random
from tests.importers.ncnn_writer import Param, Tagged, head, line, run_ncnn, write
from tests.ops.cases.case import Array
from trimtab.errors import ImportModelError, UnsupportedOperatorError
from trimtab.target import Target

X = random(12, 9, 10, seed=1, low=-2, high=2)
RELU, CLIP = {9: 1}, {9: 3, 10: [0.0, 3.0]}


class Layers:
    """A network under construction with seeded weights."""

    def __init__(self, seed: int = 0) -> None:
        self.lines: list[str] = []
        self.weights: list[Array | Tagged] = []
        self.rng = np.random.default_rng(seed)

    def integers(self, shape: tuple[int, ...], scales: int, bias: int, x: float, y: float) -> None:
        """int8 weights, a bias, and the scales of weights, operand and, if it has one, result."""
        self.weights += [
            Tagged(self.rng.integers(-127, 128, shape), "i8"),
            self.rng.uniform(-1, 1, bias),
            self.rng.uniform(300, 900, scales),
            np.array([x]),
        ]
        if y:
            self.weights.append(np.array([y]))

    def convolution(
        self,
        bottom: str,
        top: str,
        channels: int,
        outputs: int,
        kernel: int = 3,
        *,
        group: int = 0,
        one_scale: bool = False,
        x: float = 60.0,
        y: float = 0.0,
        more: Mapping[int, Param] | None = None,
    ) -> None:
        per_group = channels // group if group else channels
        term = (2 if one_scale else 1) + (100 if y else 0)
        count = outputs * per_group * kernel**2
        params: dict[int, Param] = {0: outputs, 1: kernel, 4: kernel // 2, 5: 1, 6: count, 8: term}
        params |= {7: group} if group else {}
        type = "ConvolutionDepthWise" if group else "Convolution"
        self.lines.append(line(type, bottom, top, params | dict(more or {})))
        scales = 1 if one_scale else group or outputs
        self.integers((outputs, per_group, kernel, kernel), scales, outputs, x, y)

    def write(self, folder: Path) -> Path:
        return write(folder, [*head({"x": X.shape}), *self.lines], self.weights)


def check(path: Path, steps: float, top: str = "y") -> None:
    """The result equals that of ncnn, except for a few elements within `steps` scales."""
    (want,) = run_ncnn(path, {"x": X}, [top])
    actual = trimtab.Session(trimtab.load(path)).run({"x": X[np.newaxis]})[top][0]
    assert actual.shape == want.shape
    off = np.abs(actual - want)
    assert off.max() <= steps * 1.001
    assert np.mean(off > 1e-4 * np.abs(want).max()) <= 0.02
    assert np.abs(want).max() > 4 * steps


def types(path: Path) -> set[str]:
    return {op.type for op in trimtab.optimize(trimtab.load(path), Target.host()).ops}


LAYERS: dict[str, dict[str, Any]] = {
    "1x1": {"outputs": 8, "kernel": 1},
    "3x3": {"outputs": 8, "more": RELU},
    "3x3-stride-2": {"outputs": 8, "more": {3: 2} | CLIP},
    "depthwise": {"outputs": 12, "group": 12},
    "depthwise-one-scale": {"outputs": 12, "group": 12, "one_scale": True, "more": RELU},
    "depthwise-multiplied": {"outputs": 24, "group": 12},
    "groups": {"outputs": 8, "group": 4},
}


@pytest.mark.parametrize("name", LAYERS)
def test_an_int8_layer_with_a_float32_result_matches_ncnn(name: str, tmp_path: Path) -> None:
    layers = Layers(len(name))
    layers.convolution("x", "y", 12, **LAYERS[name])
    # An operand with another rounding differs by one weight: at most 127 accumulator units.
    check(layers.write(tmp_path), 127 / (60 * 300))


@pytest.mark.parametrize("name", LAYERS)
def test_layers_that_requantize_compute_on_int8_values(name: str, tmp_path: Path) -> None:
    layers = Layers(len(name))
    outputs = LAYERS[name]["outputs"]
    layers.convolution("x", "a", 12, y=20.0, **LAYERS[name])
    layers.convolution("a", "y", outputs, 5, 1, x=20.0, more=RELU)
    path = layers.write(tmp_path)
    check(path, 127 / (20 * 300))
    assert types(path) & {"qlinear_conv", "qlinear_conv_depthwise"}


def test_data_movement_before_a_quantized_layer_runs_on_int8_values(
    tmp_path: Path,
) -> None:
    layers = Layers(3)
    layers.convolution("x", "a", 12, 8, 1, more=RELU)
    layers.lines.append(line("Split", "a", "left right"))
    layers.convolution("left", "b", 8, 6, 1, x=25.0, more=RELU)
    layers.convolution("right", "c", 8, 6, 3, x=25.0, more=RELU)
    layers.lines.append(line("Concat", "b c", "d"))
    layers.lines.append(line("Pooling", "d", "e", {0: 0, 1: 2, 2: 2}))
    layers.convolution("e", "y", 12, 5, 1, x=12.0)
    path = layers.write(tmp_path)
    check(path, 127 / (12 * 300))
    optimized = trimtab.optimize(trimtab.load(path), Target.host())
    kinds = [op.type for op in optimized.ops]
    assert kinds.count("qlinear_conv") == 4  # the last one returns float32
    assert not {"conv", "dequantize_linear"} & {*kinds}


def test_a_matrix_multiplication_matches_ncnn(tmp_path: Path) -> None:
    layers = Layers(4)
    count = X.size * 7
    layers.lines.append(line("InnerProduct", "x", "y", {0: 7, 1: 1, 2: count, 8: 1}))
    layers.integers((7, X.size), 7, 7, 60.0, 0.0)
    check(layers.write(tmp_path), 127 / (60 * 300) * 4)


def test_float32_weights_are_rounded_as_in_ncnn(tmp_path: Path) -> None:
    layers = Layers(5)
    layers.convolution("x", "y", 12, 8, 1)
    layers.weights[0] = Tagged(layers.rng.uniform(-0.2, 0.2, (8, 12, 1, 1)))
    check(layers.write(tmp_path), 127 / (60 * 300))


def test_an_invalid_scale_is_an_error_and_skipped_layers_are_counted(
    tmp_path: Path,
) -> None:
    layers = Layers(6)
    layers.convolution("x", "a", 12, 8, 1, x=-3.0)
    with pytest.raises(ImportModelError, match=r"a scale is -3"):
        trimtab.load(layers.write(tmp_path))
    layers = Layers(6)
    layers.convolution("x", "a", 12, 8, 1, more={19: 1})
    layers.convolution("a", "b", 8, 8, 1)
    layers.convolution("b", "y", 8, 8, 1)
    with pytest.raises(UnsupportedOperatorError, match="1 layer is not supported") as caught:
        trimtab.load(layers.write(tmp_path))
    assert "not checked, because they read these results: 2 more" in str(caught.value)
