"""Losses and their gradients against formulas of Caffe in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab
from tests.small_programs import Net, normal
from trimtab.errors import UsageError

SHAPE = (3, 5, 2)
X, T = normal(*SHAPE), normal(*SHAPE)
LABELS = np.array([[0, 4], [2, 2], [1, 3]], np.int32)
Array = np.ndarray[Any, Any]


def softmax(x: Array, labels: Array) -> Array:
    """The cross entropy of each place."""
    powers = np.exp(x - x.max(1, keepdims=True))
    logarithms = np.log(powers / powers.sum(1, keepdims=True))
    return np.asarray(-np.take_along_axis(logarithms, labels[:, None], 1)[:, 0])


def cross_entropy(x: Array, t: Array) -> Array:
    """The cross entropy of each element."""
    p = 1 / (1 + np.exp(-x))
    return np.asarray(-(t * np.log(p) + (1 - t) * np.log(1 - p)))


def smooth_l1(x: Array, t: Array, sigma: float = 1.0) -> Array:
    """Smooth L1 of each element."""
    d, square = np.abs(x - t), sigma**2
    return np.asarray(np.where(d < 1 / square, 0.5 * square * d * d, d - 0.5 / square))


def step(loss: trimtab.Loss, target: Array, x: Array = X) -> tuple[float, Array]:
    """The loss, and its gradient with respect to a parameter that is added to the prediction."""
    net = Net(data=SHAPE)
    net.finish(net("add", "data", np.zeros(SHAPE, np.float32)))
    (name,) = [var.name for var in net.program.constants()]
    solver = trimtab.Solver("sgd", rate=1.0, momentum=0.0)
    built = trimtab.training(net.program, loss=loss, trainable=[name], optimizer=solver)
    trainer = trimtab.Trainer(built)
    value = trainer.step({"data": x, **({loss.target: target} if loss.kind != "sum" else {})})
    return value, -trainer.parameters[name]


def check(loss: trimtab.Loss, target: Array, forward: Any) -> None:
    """Compares a loss with `forward(x)` in float64, and its gradient with differences."""
    value, gradient = step(loss, target)
    x = X.astype(np.float64)
    assert value == pytest.approx(forward(x), rel=1e-5)
    expected = np.zeros(SHAPE)
    for place in np.ndindex(SHAPE):
        moved = np.zeros(SHAPE)
        moved[place] = 1e-5
        expected[place] = (forward(x + moved) - forward(x - moved)) / 2e-5
    assert np.abs(gradient - expected).max() <= 1e-4 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("normalization", "divisor"),
    [("", 6), ("full", 6), ("valid", 6), ("batch_size", 3), ("none", 1)],
)
def test_softmax_is_normalized_as_in_caffe(normalization: str, divisor: int) -> None:
    loss = trimtab.Loss("softmax", normalization=normalization, weight=2.0)
    check(loss, LABELS, lambda x: 2 * softmax(x, LABELS).sum() / divisor)


@pytest.mark.parametrize(
    ("normalization", "divisor"), [("", 4), ("full", 6), ("batch_size", 3), ("none", 1)]
)
def test_an_ignored_label_has_no_loss(normalization: str, divisor: int) -> None:
    valid = LABELS != 2
    for ignored in (2, 255):  # a class, and no class
        labels = np.where(valid, LABELS, ignored).astype(np.int32)
        loss = trimtab.Loss("softmax", normalization=normalization, ignore_label=ignored)
        check(loss, labels, lambda x: (softmax(x, LABELS) * valid).sum() / divisor)


def test_a_batch_without_valid_labels_has_no_loss() -> None:
    labels = np.full_like(LABELS, 255)
    value, gradient = step(trimtab.Loss("softmax", ignore_label=255), labels)
    assert value == 0
    assert not gradient.any()


def test_sigmoid_cross_entropy_is_divided_by_the_batch() -> None:
    targets = (T > 0).astype(np.float32)
    check(
        trimtab.Loss("sigmoid_cross_entropy"),
        targets,
        lambda x: cross_entropy(x, targets).sum() / 3,
    )


def test_euclidean_is_half_of_the_squared_distance_by_the_batch() -> None:
    check(trimtab.Loss("euclidean"), T, lambda x: ((x - T) ** 2).sum() / 6)


@pytest.mark.parametrize("sigma", [1.0, 3.0])
def test_smooth_l1_becomes_linear(sigma: float) -> None:
    loss = trimtab.Loss("smooth_l1", sigma=sigma)
    check(loss, T, lambda x: smooth_l1(x, T, sigma).sum() / 3)


def test_any_output_can_have_a_loss_weight() -> None:
    check(trimtab.Loss("sum", weight=0.25), T, lambda x: 0.25 * x.sum())


def test_extreme_logits_have_a_finite_loss() -> None:
    x = np.where(np.arange(30).reshape(SHAPE) % 7 == 0, 200, -200).astype(np.float32)
    value, gradient = step(trimtab.Loss("softmax"), LABELS, x)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_settings_are_checked() -> None:
    with pytest.raises(UsageError, match="no normalization 'mean'"):
        trimtab.Loss("softmax", normalization="mean")
    with pytest.raises(UsageError, match="sigma must be positive"):
        trimtab.Loss("smooth_l1", sigma=0)
