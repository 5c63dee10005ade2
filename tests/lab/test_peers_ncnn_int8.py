"""int8 models for ncnn: what is written of a model of real numbers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from lab.peers import ncnn_int8

PARAM = """7767517
4 4
Input in0 0 1 in0
Convolution a 1 1 in0 1 0=2 1=3 3=1 5=1 6=18
ConvolutionDepthWise b 1 1 1 2 0=2 1=1 5=0 6=2 7=2
InnerProduct c 1 1 2 out0 0=1 1=0 2=2
"""


def weights() -> tuple[list[NDArray[np.float32]], bytes]:
    """Of the layers in turn, weights and biases, and as the file holds them."""
    parts = [np.arange(-9, 9) / 4, [1.5, -2], [0.5, -1], [3, 1]]
    arrays = [np.asarray(part, np.float32) for part in parts]
    flag = np.zeros(1, np.float32)
    held = [flag, arrays[0], arrays[1], flag, arrays[2], flag, arrays[3]]
    return arrays, b"".join(part.tobytes() for part in held)


def test_weights_scales_and_results_that_stay_in_integers() -> None:
    head, layers = ncnn_int8.parse(PARAM)
    arrays, data = weights()
    made = ncnn_int8.quantize(layers, data, {"in0": 2.0, "1": 4.0, "2": 8.0})
    assert head == ["7767517", "4 4"]
    assert [layer.parameters[-1] for layer in layers[1:]] == ["8=102", "8=1", "8=2"]
    assert np.frombuffer(made, np.uint32, 1)[0] == 0x000D4B38
    # 3x3 with strides of 1: 31 for the largest weight; 18 bytes are filled up to 20.
    integers = np.frombuffer(made, np.int8, 18, 4).astype(float)
    scales = np.frombuffer(made, np.float32, 2, 24 + 8)
    np.testing.assert_allclose(scales, [31 / 2.25, 31 / 2], rtol=1e-6)
    assert np.abs(integers / np.repeat(scales, 9) - arrays[0]).max() <= 0.5 / scales.min()
    np.testing.assert_array_equal(np.frombuffer(made, np.float32, 2, 24), arrays[1])
    ends = np.frombuffer(made, np.float32, 2, 40)  # of the input, and of what reads the result
    np.testing.assert_allclose(ends, [127 / 2, 127 / 4], rtol=1e-6)


def test_networks_with_weights_of_other_layers_are_refused() -> None:
    _, layers = ncnn_int8.parse(PARAM)
    with pytest.raises(ValueError, match="other layers"):
        ncnn_int8.quantize(layers, weights()[1] + bytes(4), {"in0": 1, "1": 1, "2": 1})
