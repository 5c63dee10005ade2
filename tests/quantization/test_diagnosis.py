"""Hints from the float32 network on wrongly prepared pictures, and the layer with most noise."""

from __future__ import annotations

import numpy as np
import pytest

from tests.quantization.test_boxes import HEAD, detector
from tests.small_programs import Net, normal
from trimtab import quantization
from trimtab.accuracy import Accuracy, parse_budget
from trimtab.heads import HeadRequest
from trimtab.program import Program
from trimtab.quantization.diagnosis import preprocessing_warning, worst_layer
from trimtab.quantization.samples import Samples

RNG = np.random.default_rng(3)


def pictures(count: int, low: float, high: float) -> Samples:
    x = RNG.uniform(low, high, (count, 1, 3, 8, 8)).astype(np.float32)
    return Samples(count, lambda i: {"x": x[i]}, origin="as --input says")


def classifier(gain: float, bias: float = 0.0) -> Program:
    """Four classes, by the logits of the means of two channels."""
    net = Net(x=(1, 3, 8, 8))
    weights = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]], np.float32) * gain
    biases = np.array([bias, 0, 0, 0], np.float32)
    y = net("conv", "x", weights.reshape(4, 3, 1, 1), biases)
    y = net("reshape", net("global_average_pool", y), shape=(1, 4))
    return net.finish(net("softmax", y, axis=1))


@pytest.mark.parametrize(
    ("program", "symptom"),
    [
        (classifier(1e-3), "a flat softmax"),
        (classifier(100, bias=1e4), "one class only (0)"),
        (classifier(100), ""),
    ],
)
def test_a_classifier_that_tells_no_picture_from_another_is_suspicious(
    program: Program, symptom: str
) -> None:
    warning = preprocessing_warning(program, pictures(6, -1, 1))
    assert bool(warning) == bool(symptom)
    assert symptom in warning
    assert not warning or ("x is -0.99" in warning and "as --input says" in warning)


def test_few_pictures_may_be_of_one_class_and_noise_of_any() -> None:
    program = classifier(100, bias=1e4)
    assert not preprocessing_warning(program, pictures(4, -1, 1))
    assert not preprocessing_warning(program, quantization.noise(program))


def test_a_detector_that_finds_no_box_is_suspicious_before_it_is_quantized() -> None:
    samples = Samples(2, lambda _: {"x": np.zeros((1, 3, 64, 64), np.float32)})
    assert not preprocessing_warning(detector(20), samples, HEAD)
    head = HeadRequest.parse("yolov5:score=0.95")  # above the scores of all boxes
    assert "finds no box in 2 samples" in preprocessing_warning(detector(20), samples, head)


def test_the_worst_layer_is_the_one_whose_result_is_far_off() -> None:
    net = Net(x=(1, 4, 6, 6))
    first = net.conv("x", 4, 1)
    program = net.finish(net.conv(net("relu", first), 4, 1))
    twin = program.copy()
    second = twin.ops[-1]
    data = np.asarray(twin.vars[second.inputs[1]].data)
    twin.vars[second.inputs[1]].data = data + 0.3 * normal(*data.shape)
    x = normal(1, 4, 6, 6)
    samples = Samples(1, lambda _: {"x": x})
    assert worst_layer(program, twin, samples).startswith(f"{second.name} (conv), ")
    assert worst_layer(program, program.copy(), samples) == ""


@pytest.mark.parametrize(
    ("figures", "budget", "words"),
    [
        ({"boxes": 0.96}, "", "keeps 96.0% of boxes: within the budget boxes >= 95 %"),
        ({"boxes": 1.0, "box_count": 40}, "", "of 40 boxes: within the budget boxes >= 95 %"),
        ({"boxes": 1.0, "box_count": 3}, "", ">= 95 %, but so few boxes prove little: give more"),
        ({"boxes": 0.9}, "", "keeps 90.0% of boxes: do not ship this, outside of"),
        ({"top1": 0.98}, "", "top-1 of float32 in 98.0% of samples: do not ship this"),
        ({}, "", "cosine of 0.9900 with float32: do not ship this"),
        ({}, "cosine >= 0.98", "cosine of 0.9900 with float32: within the budget cosine >= 0.98"),
        ({"top1": 1.0}, "top1 >= 99 %, noise <= 0.01 %", "20.0 dB of signal to noise: do not"),
        ({"not_finite": 3}, "", "NaN or infinity: do not ship this"),
    ],
)
def test_the_verdict_has_the_figure_that_counts(
    figures: dict[str, float], budget: str, words: str
) -> None:
    values = {"top1": None, "noise": 0.01, **figures}
    accuracy = Accuracy(4, 0.1, 0.01, 0.99, **values)  # type: ignore[arg-type]
    bounds = parse_budget(budget) if budget else ()
    assert words in accuracy.verdict(bounds)
    assert accuracy.rows(bounds)[0] == ("verdict", accuracy.verdict(bounds))
