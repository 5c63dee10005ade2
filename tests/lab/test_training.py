"""The measurement of training: bounds counted by hand, and the process of the peer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import trimtab
from lab.training import bounds, page
from lab.training.measure import TrainingRow, pytorch
from lab.training.networks import TRAININGS, Training
from tests.small_programs import Net, normal
from trimtab.errors import MissingRequirementError


def network() -> trimtab.Program:
    """Two fully connected layers, of 24 and 30 weights, for two examples."""
    net = Net(data=(2, 4))
    x = net("relu", net("gemm", "data", normal(6, 4), normal(6)))
    return net.finish(net("gemm", x, normal(5, 6), normal(5)))


def test_products_are_repeated_for_the_gradients_that_are_needed() -> None:
    first, last = (op.inputs[1] for op in network().ops if op.type == "gemm")
    expected = {(last,): 24 + 2 * 30, (first,): 2 * 24 + 2 * 30, (): 2 * 24 + 3 * 30}
    for trainable, count in expected.items():
        built = trimtab.training(network(), trainable=trainable or None)
        assert bounds.extra_products(built) == pytest.approx(count / (24 + 30))


def test_the_bound_of_memory_counts_what_a_step_needs() -> None:
    built = trimtab.training(network(), optimizer=trimtab.Solver("sgd", momentum=0.9))
    values = 2 * (24 + 6 + 30 + 5)  # parameters and momentum
    data, hidden, result = 2 * 4, 2 * 6, 2 * 5
    backward = data + hidden + result + hidden + 30  # at the last layer
    assert bounds.memory_bytes(built) == 4 * (values + backward)
    last = network().ops[-1].inputs[1]
    built = trimtab.training(network(), trainable=[last], optimizer=trimtab.Solver("sgd"))
    constants, backward = 24 + 6 + 5, hidden + result + 30  # no gradient of an input
    assert bounds.memory_bytes(built) == 4 * (data + constants + 2 * 30 + backward)


def test_an_interpreter_without_pytorch_is_refused(tmp_path: Path) -> None:
    training = Training(network(), None, {"data": normal(2, 4)})
    with pytest.raises(MissingRequirementError, match="PyTorch does not run") as error:
        pytorch(sys.executable, training, tmp_path)
    assert "--python" in error.value.hint


def test_all_trainings_can_be_built() -> None:
    parameters = {name: len(make(1).built().parameters) for name, make in TRAININGS.items()}
    # Weights and biases; the last block adds four convolutions, scales and biases.
    assert list(parameters.values()) == [8, 2, 14]


def test_the_page_names_what_misses_a_bar() -> None:
    fast = TrainingRow("fast", 1, 1.0, 2.0, 1.0, 10.0, 9.0)
    slow = TrainingRow("slow", 8, 3.0, 2.0, 2.0, 10.0, 5.0)
    (verdict, *_) = [page.verdict([fast, slow], *bar) for bar in page.BARS]
    assert verdict.endswith("slow, batch 8 (1.50) exceed it.")
    assert "0.50" in TrainingRow.table([fast, slow]).text()
