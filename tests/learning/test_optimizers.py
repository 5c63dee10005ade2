"""Optimizers against Caffe's formulas in float64."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.small_programs import Net, normal
from tests.some import some
from trimtab.errors import UsageError
from trimtab.learning import schedule
from trimtab.learning.settings import learning_rate

X, T, W, B = normal(4, 5), normal(4, 3), normal(3, 5), normal(3)
STEPS = 6


def trained(solver: trimtab.Solver, trainable: Any = None) -> list[np.ndarray[Any, Any]]:
    """Weights and bias of a fully connected layer after some steps."""
    net = Net(data=X.shape)
    net.finish(net("gemm", "data", W, B))
    names = net.program.ops[0].inputs[1:]
    built = trimtab.training(
        net.program, loss="euclidean", trainable=trainable and trainable(names), optimizer=solver
    )
    trainer = trimtab.Trainer(built)
    for _ in range(STEPS):
        trainer.step({"data": X, "label": T})
    values = {name: net.program.vars[name].data for name in names} | trainer.parameters
    return [np.asarray(values[name]) for name in names]


def expected(
    solver: trimtab.Solver, factors: tuple[tuple[float, float], ...] = ((1, 1), (1, 1))
) -> list[np.ndarray[Any, Any]]:
    """The same in float64, by the formulas of Caffe's solvers."""
    x, values = X.astype(np.float64), [W.astype(np.float64), B.astype(np.float64)]
    first, second = [np.zeros_like(v) for v in values], [np.zeros_like(v) for v in values]
    for step in range(STEPS):
        error = (x @ values[0].T + values[1] - T) / len(x)
        gradients = [error.T @ x, error.sum(0)]
        norm = math.sqrt(sum((g * g).sum() for g in gradients))
        if solver.clip_gradients and norm > solver.clip_gradients:
            gradients = [g * solver.clip_gradients / norm for g in gradients]
        for i, plain in enumerate(gradients):
            gradient = plain + solver.weight_decay * factors[i][1] * values[i]
            rate = learning_rate(solver, step) * factors[i][0]
            before = first[i]
            if solver.optimizer == "adam":
                first[i] = solver.momentum * before + (1 - solver.momentum) * gradient
                second[i] = solver.momentum2 * second[i] + (1 - solver.momentum2) * gradient**2
                rate *= math.sqrt(1 - solver.momentum2 ** (step + 1))
                rate /= 1 - solver.momentum ** (step + 1)
                values[i] = values[i] - rate * first[i] / (np.sqrt(second[i]) + solver.delta)
                continue
            first[i] = solver.momentum * before + rate * gradient
            ahead = solver.optimizer == "nesterov"
            move = (1 + solver.momentum) * first[i] - solver.momentum * before
            values[i] = values[i] - (move if ahead else first[i])
    return values


@pytest.mark.parametrize("optimizer", ["sgd", "nesterov", "adam"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"weight_decay": 0.1, "clip_gradients": 0.5}, {"policy": "inv", "power": 0.75}],
)
def test_an_optimizer_computes_the_formulas_of_caffe(
    optimizer: str, settings: dict[str, Any]
) -> None:
    solver = trimtab.Solver(optimizer, rate=0.05, **settings)
    for actual, value in some(zip(trained(solver), expected(solver), strict=True)):
        np.testing.assert_allclose(actual, value, rtol=1e-4, atol=1e-6)


def test_without_momentum_there_is_no_state() -> None:
    solver = trimtab.Solver("sgd", rate=0.05, momentum=0.0)
    for actual, value in some(zip(trained(solver), expected(solver), strict=True)):
        np.testing.assert_allclose(actual, value, rtol=1e-4, atol=1e-6)


def test_parameters_have_multipliers_and_a_rate_of_0_freezes() -> None:
    solver = trimtab.Solver("sgd", rate=0.05, weight_decay=0.1)
    factors = (0.5, 2.0), (2.0, 0.0)
    actual = trained(solver, lambda names: dict(zip(names, factors, strict=True)))
    for own, value in zip(actual, expected(solver, factors), strict=True):
        np.testing.assert_allclose(own, value, rtol=1e-4, atol=1e-6)
    others = trained(solver, lambda names: {names[0]: (1, 1), names[1]: (1, 1), "*": (9, 9)})
    for own, value in zip(others, expected(solver), strict=True):
        np.testing.assert_allclose(own, value, rtol=1e-4, atol=1e-6)
    frozen = trained(solver, lambda names: {names[0]: (0.0, 1.0), "*": (1.0, 1.0)})
    assert np.array_equal(frozen[0], W)
    assert not np.allclose(frozen[1], B)


@pytest.mark.parametrize(
    ("settings", "factors"),
    [
        ({"policy": "fixed"}, (1, 1, 1)),
        ({"policy": "step", "step": 2, "gamma": 0.5}, (1, 0.5, 0.25)),
        ({"policy": "multistep", "steps": (1, 4), "gamma": 0.5}, (1, 0.5, 0.25)),
        ({"policy": "exp", "gamma": 0.9}, (1, 0.9**2, 0.9**4)),
        ({"policy": "inv", "gamma": 0.5, "power": 2.0}, (1, 1 / 4, 1 / 9)),
        ({"policy": "poly", "iterations": 8, "power": 2.0}, (1, 0.5625, 0.25)),
    ],
)
def test_learning_rates_follow_the_policies_of_caffe(
    settings: dict[str, Any], factors: tuple[float, ...]
) -> None:
    solver = trimtab.Solver(rate=2.0, **settings)
    actual = [learning_rate(solver, iteration) for iteration in (0, 2, 4)]
    assert actual == pytest.approx([2 * factor for factor in factors])


@pytest.mark.parametrize(
    "settings",
    [
        {"policy": "exp", "gamma": 3.0},
        {"policy": "inv", "gamma": -1.0, "power": 0.5},
        {"policy": "step", "step": 1, "gamma": 1e308},
        {"optimizer": "adam", "momentum": 1.0},
        {"optimizer": "adam", "momentum2": 2.0},
    ],
)
def test_a_rate_that_is_no_finite_number_names_the_iteration(settings: dict[str, Any]) -> None:
    net = Net(data=(2, 5))
    net.finish(net("gemm", "data", W, B))
    built = trimtab.training(net.program, loss="euclidean", optimizer=trimtab.Solver(**settings))
    with pytest.raises(UsageError, match="rate of iteration 1001 is not a finite number"):
        schedule.rate(built, 1001)


def test_solver_settings_are_checked() -> None:
    for settings, message in (
        ({"policy": "cosine"}, "no learning-rate policy 'cosine'"),
        ({"policy": "step", "step": 0}, "step must be at least 1"),
        ({"policy": "poly"}, "poly needs the number of iterations"),
    ):
        with pytest.raises(UsageError, match=message):
            trimtab.Solver(**settings)


def test_the_gradients_of_several_batches_are_averaged() -> None:
    """An update of two batches is that of one batch with all of their examples."""
    solver = trimtab.Solver("sgd", rate=0.05, weight_decay=0.1, clip_gradients=0.5)
    whole = trained(solver)
    net = Net(data=(2, 5))
    net.finish(net("gemm", "data", W, B))
    names = net.program.ops[0].inputs[1:]
    # The sum of two gradients has twice the norm of their mean.
    solver = replace(solver, clip_gradients=1.0, iter_size=2)
    trainer = trimtab.Trainer(trimtab.training(net.program, loss="euclidean", optimizer=solver))
    for i in range(2 * STEPS):
        half = slice(0, 2) if i % 2 == 0 else slice(2, 4)
        before = dict(trainer.parameters)
        trainer.step({"data": X[half], "label": T[half]})
        if i % 2 == 0:
            assert all(np.array_equal(before[name], trainer.values[name]) for name in names)
    assert (trainer.iteration, trainer.steps) == (STEPS, 2 * STEPS)
    for name, value in zip(names, whole, strict=True):
        np.testing.assert_allclose(trainer.values[name], value, rtol=1e-5, atol=1e-6)


def test_l1_adds_the_signs_of_the_weights() -> None:
    """Without errors, only the decay moves weights: by its share of their signs."""
    weights = np.array([[2.0, -3.0, 0.0]], np.float32)
    net = Net(data=(1, 3))
    net.finish(net("gemm", "data", weights))
    solver = trimtab.Solver(rate=0.5, momentum=0.0, weight_decay=0.25, regularization="L1")
    trainer = trimtab.Trainer(trimtab.training(net.program, loss="euclidean", optimizer=solver))
    trainer.step({"data": np.zeros((1, 3), np.float32), "label": np.zeros((1, 1), np.float32)})
    (moved,) = trainer.parameters.values()
    np.testing.assert_array_equal(moved, [[1.875, -2.875, 0.0]])
    with pytest.raises(UsageError, match="no regularization 'L3'"):
        trimtab.Solver(regularization="L3")
